"""How a call is sent: timeouts, retries, errors. Both clients decide by these functions."""

from __future__ import annotations

import json
import random
from typing import Any, TypeVar, cast

import httpx
from pydantic import ValidationError

from .calls import Call
from .errors import ActRefused, RunsealError
from .models import RunAnswer

T = TypeVar("T")

MAX_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.25
MAX_PAUSE_SECONDS = 30.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
_AGAIN = {"rate_limited", "unavailable", "overloaded", "outcome_unknown", "entry_pending", "request_in_progress"}


def request_of(client: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    """The HTTP request of a call."""
    headers = {"Accept-Encoding": "gzip"}
    if call.idempotency_key is not None:
        headers["Idempotency-Key"] = f'"{call.idempotency_key}"'
    return client.build_request(call.method, call.path, params=dict(call.query), json=call.body, headers=headers)


def _refusal(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def pause_after(call: Call[Any], attempt: int, response: httpx.Response | None) -> float | None:
    """Seconds to wait before the next attempt, or None when there is none. `attempt` counts from 1."""
    if not call.repeatable or attempt >= MAX_ATTEMPTS:
        return None
    pause: float = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
    if response is None:
        return pause
    if response.status_code not in (409, 429, 503) or _refusal(response).get("code") not in _AGAIN:
        return None
    asked = response.headers.get("Retry-After", "")
    wanted = float(asked) if asked.isdecimal() else pause
    return max(wanted, pause) if wanted <= MAX_PAUSE_SECONDS else None


def no_answer(error: httpx.HTTPError) -> RunsealError:
    """What a request without an answer raises; the library's text may hold an address and is left out."""
    return RunsealError(f"The service gave no answer ({type(error).__name__}).", "no_answer", 0)


def read_answer(call: Call[T], response: httpx.Response) -> T:
    """The answer of a call; raises RunsealError for a refused request, ActRefused for a permit that a gate refused."""
    if len(response.content) > MAX_ANSWER_BYTES:
        raise RunsealError("The answer is too large.", "bad_answer", response.status_code)
    sealed_run = response.status_code in (422, 500) and "run_id" in _refusal(response)
    if not response.is_success and not sealed_run:
        refusal = _refusal(response)
        sentence = refusal.get("error") or f"The service answered with status {response.status_code}."
        raise RunsealError(str(sentence), str(refusal.get("code") or "bad_answer"), response.status_code)
    model: Any = call.answer
    try:
        if model is bytes:
            return cast(T, response.content)
        if sealed_run and model is not RunAnswer:
            raise ActRefused(RunAnswer.model_validate_json(response.content), response.status_code)
        return cast(T, model.model_validate_json(response.content))
    except (ValidationError, json.JSONDecodeError):
        raise RunsealError("The answer is none of this service.", "bad_answer", response.status_code) from None
