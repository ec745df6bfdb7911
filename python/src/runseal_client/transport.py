"""How a call is sent: timeouts, retries, errors. Both clients decide by these functions."""

from __future__ import annotations

import json
import math
import random
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

import httpx
from pydantic import ValidationError

from .calls import Call
from .errors import ActRefused, RunsealError
from .models import OpenedPermit, RunAnswer

T = TypeVar("T")

# The same as in the SDK for TypeScript: docs/sdk.md, "Time".
MAX_RETRIES = 3
FIRST_PAUSE_SECONDS = 0.5
TRANSIENT = (408, 429, 502, 503, 504)
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# Of a sentence of the service that an error repeats.
MAX_TEXT_CHARACTERS = 1_000
_SECONDS = re.compile(r"[0-9]{1,9}")
# IMF-fixdate. The two obsolete forms of RFC 9110, section 5.6.7, count as absent.
_HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT")


def retry_after_of(field: str) -> float | None:
    """Seconds from now that a Retry-After asks for, rounded up; None when it says nothing."""
    if _SECONDS.fullmatch(field):
        return float(field)
    try:
        at = parsedate_to_datetime(field).timestamp() if _HTTP_DATE.fullmatch(field) else None
    except ValueError:
        return None
    return None if at is None else float(max(0, math.ceil(at - time.time())))


class Reading:
    """An answer that is read within its bound. Raises RunsealError for one that is larger."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.retry_after = retry_after_of(response.headers.get("Retry-After", ""))
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


def request_of(client: httpx.Client | httpx.AsyncClient, call: Call[Any], within: float | None = None) -> httpx.Request:
    """The HTTP request of a call, whose waits are the client's and none longer than `within` seconds."""
    headers = {"Accept-Encoding": "gzip", **call.headers}
    if call.idempotency_key is not None:
        headers["Idempotency-Key"] = '"' + re.sub(r'(["\\])', r"\\\1", call.idempotency_key) + '"'
    waits: dict[str, float | None] = client.timeout.as_dict()
    if within is not None:
        waits = {name: within if wait is None else min(wait, within) for name, wait in waits.items()}
    return client.build_request(
        call.method, call.path, params=dict(call.query), json=call.body, headers=headers, timeout=httpx.Timeout(**waits)
    )


def _object(reading: Reading) -> dict[str, Any]:
    try:
        answer = json.loads(reading.content())
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def pause_after(
    call: Call[Any], attempt: int, reading: Reading | None, left: float, obeys: bool = True
) -> float | None:
    """Seconds to wait before the next attempt, or None when there is none.

    `attempt` counts from 1; `left` are the seconds until no attempt may begin any more. Without `obeys` an answer with a
    Retry-After is the last one: its caller does not wait for that long.
    """
    if not call.repeatable or attempt > MAX_RETRIES:
        return None
    pause: float = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * random.random()
    if reading is not None:
        # A 409 with Retry-After: the first request under the idempotency key is still under way.
        if reading.status not in TRANSIENT and (reading.status != 409 or reading.retry_after is None):
            return None
        if reading.retry_after is not None and not obeys:
            return None
        pause = pause if reading.retry_after is None else reading.retry_after
    return pause if pause < left else None


def no_answer(error: Exception) -> RunsealError:
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
