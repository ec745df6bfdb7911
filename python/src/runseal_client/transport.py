"""How a call is sent: timeouts, retries, errors. Both clients decide by these functions."""

from __future__ import annotations

import builtins
import functools
import json
import math
import platform
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar, cast

import httpx
from pydantic import ValidationError

from . import calls
from .api.answers import AskedApprovalAnswer, OpenPermitAnswer, RunAnswer
from .calls import Call
from .errors import ActRefused, ApprovalPending, ConnectionError, RunsealError, TimeoutError, error_of

T = TypeVar("T")

# What `User-Agent` says: this client, and the Python that runs it.
_PYTHON = ".".join(platform.python_version_tuple()[:2])
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


@dataclass(frozen=True)
class Service:
    """Where a client sends its calls, and how long it waits for each answer, in seconds."""

    address: str
    headers: Mapping[str, str] = field(repr=False)
    timeout: float
    end_user_token: calls.EndUserToken = field(default=None, repr=False)

    @classmethod
    def of(
        cls, url: str | None, api_key: str | None, timeout: float, end_user_token: calls.EndUserToken = None
    ) -> Service:
        """That of a client with these arguments. Raises ValueError for a key that no header can carry."""
        headers = {"User-Agent": f"runseal-python/{_version()} python/{_PYTHON}", **calls.credential(url, api_key)}
        return cls(calls.address(url), headers, timeout, end_user_token)


@functools.cache
def _version() -> str:
    try:
        return version("runseal-client")
    except PackageNotFoundError:  # It runs from its sources.
        return "0"


class Reading:
    """An answer that is read within its bound. Raises RunsealError for one that is larger."""

    def __init__(self, response: httpx.Response, streamed: bool = False) -> None:
        self.response = response
        # What is no refusal is read by the caller, part by part.
        self.streams = streamed and response.is_success
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

    @property
    def code(self) -> str | None:
        """The service's code of a refusal, as far as the body was read; None for any other answer."""
        code = None if self.response.is_success else _object(self).get("code")
        return code if isinstance(code, str) else None


class Lines:
    """An answer as lines, each within the bound of an answer."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> list[bytes]:
        """The lines that the next part ends."""
        head, *tails = part.split(b"\n")
        lines = []
        for tail in tails:
            lines.append(b"".join([*self._rest, head, b"\n"]))
            self._rest, self._size, head = [], 0, tail
        self._rest.append(head)
        self._size += len(head)
        if self._size > MAX_ANSWER_BYTES:
            raise RunsealError("A line of the answer is too large.", "bad_answer", 200)
        return lines

    def end(self) -> None:
        """Raises RunsealError for an answer that ends within a line: documents of it are missing."""
        if self._size > 0:
            raise RunsealError("The answer ends within a line.", "bad_answer", 200)


def request_of(
    client: httpx.Client | httpx.AsyncClient,
    service: Service,
    call: Call[Any],
    within: float | None = None,
    timeout: float | None = None,
) -> httpx.Request:
    """The HTTP request of a call. Each of its waits is bounded by `timeout`, else by that of the service, and by `within`."""
    headers = {"Accept-Encoding": "gzip", **service.headers, **call.headers}
    if call.end_user:
        headers.update(calls.end_user_of(service.end_user_token))
    if call.idempotency_key is not None:
        headers["Idempotency-Key"] = '"' + re.sub(r'(["\\])', r"\\\1", call.idempotency_key) + '"'
    wait = service.timeout if timeout is None else timeout
    return client.build_request(
        call.method,
        service.address + call.path,
        params=dict(call.query),
        json=call.body,
        headers=headers,
        timeout=wait if within is None else min(wait, within),
    )


def _object(reading: Reading) -> dict[str, Any]:
    try:
        answer = json.loads(reading.content())
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def pause_after(
    call: Call[Any],
    attempt: int,
    reading: Reading | None,
    left: float,
    obeys: bool = True,
    max_retries: int = MAX_RETRIES,
) -> float | None:
    """Seconds to wait before the next attempt, or None when there is none.

    `attempt` counts from 1; `left` are the seconds until no attempt may begin any more. Without `obeys` an answer with a
    Retry-After is the last one: its caller does not wait for that long.
    """
    if not call.repeatable or attempt > max_retries:
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


def no_answer(error: Exception | None) -> RunsealError:
    """What a request without an answer raises; the library's text may hold an address and is left out."""
    late = isinstance(error, (httpx.TimeoutException, builtins.TimeoutError))
    kind = TimeoutError if late else ConnectionError
    return kind(f"The service gave no answer ({type(error).__name__}).", "no_answer", 0)


def _line(text: object) -> str:
    """A text of the service as one line, within a bound: what it holds steers no terminal."""
    return "".join(each if each.isprintable() else " " for each in str(text)[:MAX_TEXT_CHARACTERS])


def read_answer(call: Call[T], reading: Reading) -> T:
    """The answer of a call; raises RunsealError for a refused request, ActRefused for a permit that a gate refused, and
    ApprovalPending for one that people decide on."""
    status, model = reading.status, cast(Any, call.answer)
    if model is bytes and 200 <= status < 300:
        return cast(T, reading.content())
    answer = _object(reading)
    sealed_run = status in (200, 422, 500) and "run_id" in answer and model in (RunAnswer, OpenPermitAnswer)
    if not 200 <= status < 300 and not sealed_run:
        sentence = answer.get("error") or f"The service answered with status {status}."
        code = str(answer.get("code") or "bad_answer")
        raise error_of(_line(sentence), _line(code), status, reading.request_id, reading.retry_after)
    try:
        if sealed_run and model is OpenPermitAnswer:
            raise ActRefused(RunAnswer.model_validate(answer), status, reading.request_id)
        if status == 202 and model is OpenPermitAnswer:
            raise ApprovalPending(AskedApprovalAnswer.model_validate(answer), reading.request_id, reading.retry_after)
        return cast(T, model.model_validate(answer))
    except ValidationError as error:
        message = "The answer is none of this service."
        raise RunsealError(message, "bad_answer", status, reading.request_id) from error
