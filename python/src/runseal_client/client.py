"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

import httpx

from . import calls
from .acts import Act
from .breaker import Breaker, breaker_of
from .caller_calls import close_permit
from .calls import Body, Call
from .closing import CLOSING_SECONDS, not_closed, unconfirmed
from .errors import ActRefused, RunsealError
from .operations import Operations, Sender
from .transport import Reading, no_answer, pause_after, read_answer, request_of

T = TypeVar("T")
Permit = Act


class Runseal(Operations, Sender):
    """The public API of a Runseal service. Its methods are those of `Operations`.

    `url` and `api_key` come from RUNSEAL_URL and RUNSEAL_API_KEY when they are not given; the key of the environment goes
    to no other address than its own. `timeout` bounds each wait for the service, in seconds. What can be sent twice
    without a second effect is retried at most three times; no retry begins `deadline` seconds after the call. Raises
    RunsealError.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        timeout: float = calls.TIMEOUT_SECONDS,
        deadline: float = calls.DEADLINE_SECONDS,
    ) -> None:
        self._deadline = deadline
        self._given = (url, api_key)
        self._address = calls.address(url)
        self._http = httpx.Client(base_url=self._address, headers=calls.credential(url, api_key), timeout=timeout)

    def __enter__(self) -> Runseal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    @property
    def breaker(self) -> Breaker:
        """What this process knows of the service's answers."""
        return breaker_of(self._address)

    def send(self, call: Call[T], within: float | None = None) -> T:
        """Sends a call and gives its answer.

        `within` bounds the whole call in seconds, with its retries; an answer that asks for a pause is then raised at once.
        """
        if self._http.is_closed:
            # A door that is shut down counts its later calls, as it does without a service.
            raise RunsealError("The client is closed.", "no_answer", 0)
        attempt = 0
        ends_at = time.monotonic() + (self._deadline if within is None else within)
        while True:
            attempt += 1
            try:
                reply = self._once(call, None if within is None else ends_at)
            except httpx.HTTPError as error:
                self.breaker.note(0)
                pause = pause_after(call, attempt, None, ends_at - time.monotonic())
                if pause is None:
                    raise no_answer(error) from None
            else:
                self.breaker.note(reply.status, reply.retry_after)
                pause = pause_after(call, attempt, reply, ends_at - time.monotonic(), obeys=within is None)
                if pause is None:
                    return read_answer(call, reply)
            time.sleep(pause)

    def _once(self, call: Call[T], ends_at: float | None) -> Reading:
        within = None if ends_at is None else max(0.001, ends_at - time.monotonic())
        response = self._http.send(request_of(self._http, call, within), stream=True)
        try:
            reading = Reading(response)
            for part in response.iter_bytes():
                reading.add(part)
                if ends_at is not None and time.monotonic() > ends_at:
                    raise httpx.ReadTimeout("The answer is longer than its time.")
            return reading
        finally:
            response.close()

    @contextmanager
    def permit(self, body: Body, idempotency_key: str | None = None) -> Iterator[Act]:
        """Opens a permit for the block and always closes it: as failed when the block raises.

        Raises ActRefused before the block when a gate refuses the act, and after it when one refuses the close: then the
        output must not be used. Where that refusal is observed only, the block runs without a permit, and nothing is closed.
        Raises CloseUnconfirmed when the act was made and the service did not confirm its close, which is then stored.
        """
        act = Act()
        try:
            act.opened = self.open_permit(body, idempotency_key)
        except ActRefused as refused:
            if not refused.observed:
                raise
            act.answer = refused.answer
            yield act
            return
        permit_id = act.opened.permit_id
        try:
            yield act
        except BaseException as error:
            body = act.closing(error)
            try:
                act.answer = self.send(close_permit(permit_id, body), within=CLOSING_SECONDS)
            except BaseException as problem:
                not_closed(self._given, act, body, error, problem)
            raise
        body = act.closing(None)
        try:
            act.answer = self.close_permit(permit_id, body)
        except RunsealError as problem:
            unconfirmed(self._given, act, body, problem)
        except BaseException as problem:
            # Stopped while it closed.
            not_closed(self._given, act, body, problem, problem)
            raise
        if not act.answer.ok:
            raise ActRefused(act.answer, 422)
