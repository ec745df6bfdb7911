"""How a call is sent: timeouts, retries, errors. Both clients decide by these functions."""

from __future__ import annotations

import json
import random
import re
from typing import Any, TypeVar, cast

import httpx
from pydantic import ValidationError

from .calls import Call
from .errors import ActRefused, RunsealError
from .models import OpenedPermit, RunAnswer

T = TypeVar("T")

MAX_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.25
MAX_PAUSE_SECONDS = 30.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# Of a sentence of the service that an error repeats.
MAX_TEXT_CHARACTERS = 1_000
_SECONDS = re.compile(r"[0-9]{1,9}")
_AGAIN = {"rate_limited", "unavailable", "overloaded", "outcome_unknown", "entry_pending", "request_in_progress"}


class Reading:
    """An answer that is read within its bound. Raises RunsealError for one that is larger."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        wanted = response.headers.get("Retry-After", "")
        self.retry_after = float(wanted) if _SECONDS.fullmatch(wanted) else None
        self.request_id: str | None = response.headers.get("X-Request-Id")
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        """The next part of its body."""
        self._size += len(part)
        if self._size > MAX_ANSWER_BYTES:
            raise RunsealError("The answer is too large.", "bad_answer", self.status)
        self._parts.append(part)

    def content(self) -> bytes:
        """Its body."""
        return b"".join(self._parts)


def request_of(client: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    """The HTTP request of a call."""
    headers = {"Accept-Encoding": "gzip", **call.headers}
    if call.idempotency_key is not None:
        headers["Idempotency-Key"] = '"' + re.sub(r'(["\\])', r"\\\1", call.idempotency_key) + '"'
    return client.build_request(call.method, call.path, params=dict(call.query), json=call.body, headers=headers)


def _object(reading: Reading) -> dict[str, Any]:
    try:
        answer = json.loads(reading.content())
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def pause_after(call: Call[Any], attempt: int, reading: Reading | None) -> float | None:
    """Seconds to wait before the next attempt, or None when there is none. `attempt` counts from 1."""
    if not call.repeatable or attempt >= MAX_ATTEMPTS:
        return None
    pause: float = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
    if reading is None:
        return pause
    if reading.status not in (409, 429, 503) or _object(reading).get("code") not in _AGAIN:
        return None
    wanted = reading.retry_after or 0
    return max(wanted, pause) if wanted <= MAX_PAUSE_SECONDS else None


def no_answer(error: httpx.HTTPError) -> RunsealError:
    """What a request without an answer raises; the library's text may hold an address and is left out."""
    return RunsealError(f"The service gave no answer ({type(error).__name__}).", "no_answer", 0)


def _line(text: object) -> str:
    """A text of the service as one line, within a bound: what it holds steers no terminal."""
    return "".join(each if each.isprintable() else " " for each in str(text)[:MAX_TEXT_CHARACTERS])


def read_answer(call: Call[T], reading: Reading) -> T:
    """The answer of a call; raises RunsealError for a refused request, ActRefused for a permit that a gate refused."""
    status, model = reading.status, cast(Any, call.answer)
    if model is bytes and 200 <= status < 300:
        return cast(T, reading.content())
    answer = _object(reading)
    sealed_run = status in (200, 422, 500) and "run_id" in answer and model in (RunAnswer, OpenedPermit)
    if not 200 <= status < 300 and not sealed_run:
        sentence = answer.get("error") or f"The service answered with status {status}."
        code = str(answer.get("code") or "bad_answer")
        raise RunsealError(_line(sentence), _line(code), status, reading.request_id, reading.retry_after)
    try:
        if sealed_run and model is OpenedPermit:
            raise ActRefused(RunAnswer.model_validate(answer), status)
        return cast(T, model.model_validate(answer))
    except ValidationError:
        raise RunsealError("The answer is none of this service.", "bad_answer", status) from None
