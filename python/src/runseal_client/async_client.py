"""The asynchronous client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TypeVar

import httpx

from . import calls
from .acts import Act
from .breaker import Breaker, breaker_of
from .caller_calls import close_permit
from .calls import Body, Call
from .closing import CLOSING_SECONDS, not_closed, store_close, to_its_end, unconfirmed
from .errors import ActRefused, RunsealError
from .operations import AsyncOperations
from .transport import Reading, no_answer, pause_after, read_answer, request_of

T = TypeVar("T")
AsyncPermit = Act


class AsyncRunseal(AsyncOperations):
    """The public API of a Runseal service, for asyncio. Its methods are those of `Operations`.

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
        self._http = httpx.AsyncClient(base_url=self._address, headers=calls.credential(url, api_key), timeout=timeout)

    async def __aenter__(self) -> AsyncRunseal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    @property
    def breaker(self) -> Breaker:
        """What this process knows of the service's answers."""
        return breaker_of(self._address)

    async def send(self, call: Call[T], within: float | None = None) -> T:
        """Sends a call and gives its answer.

        `within` bounds the whole call in seconds, with its retries; an answer that asks for a pause is then raised at once.
        """
        if self._http.is_closed:
            # A door that is shut down counts its later calls, as it does without a service.
            raise RunsealError("The client is closed.", "no_answer", 0)
        try:
            async with asyncio.timeout(within):
                return await self._send(call, self._deadline if within is None else within, obeys=within is None)
        except TimeoutError as error:
            self.breaker.note(0)
            raise no_answer(error) from None

    async def _send(self, call: Call[T], seconds: float, obeys: bool) -> T:
        attempt = 0
        ends_at = time.monotonic() + seconds
        while True:
            attempt += 1
            try:
                reply = await self._once(call)
            except httpx.HTTPError as error:
                self.breaker.note(0)
                pause = pause_after(call, attempt, None, ends_at - time.monotonic())
                if pause is None:
                    raise no_answer(error) from None
            else:
                self.breaker.note(reply.status, reply.retry_after)
                pause = pause_after(call, attempt, reply, ends_at - time.monotonic(), obeys)
                if pause is None:
                    return read_answer(call, reply)
            await asyncio.sleep(pause)

    async def _once(self, call: Call[T]) -> Reading:
        response = await self._http.send(request_of(self._http, call), stream=True)
        try:
            reading = Reading(response)
            async for part in response.aiter_bytes():
                reading.add(part)
            return reading
        finally:
            await response.aclose()

    @asynccontextmanager
    async def permit(self, body: Body, idempotency_key: str | None = None) -> AsyncIterator[Act]:
        """Opens a permit for the block and always closes it: as failed when the block raises.

        Raises ActRefused before the block when a gate refuses the act, and after it when one refuses the close: then the
        output must not be used. Where that refusal is observed only, the block runs without a permit, and nothing is closed.
        Raises CloseUnconfirmed when the act was made and the service did not confirm its close, which is then stored.
        """
        act = Act()
        try:
            act.opened = await self.open_permit(body, idempotency_key)
        except ActRefused as refused:
            if not refused.observed:
                raise
            act.answer = refused.answer
            yield act
            return
        permit_id = act.opened.permit_id
        try:
            yield act
        except GeneratorExit as error:
            # Its loop is gone: nothing can be awaited.
            store_close(self._given, permit_id, act.closing(error))
            raise
        except BaseException as error:
            body = act.closing(error)
            sent = await to_its_end(lambda: self.send(close_permit(permit_id, body), within=CLOSING_SECONDS))
            act.answer = sent.answer
            if sent.problem is not None:
                # Also a report that JSON cannot carry: the error of the block is the one that is raised.
                not_closed(self._given, act, body, error, sent.problem)
            if sent.cancelled is not None and isinstance(error, Exception):
                raise sent.cancelled from error
            raise
        body = act.closing(None)
        try:
            sent = await to_its_end(lambda: self.close_permit(permit_id, body))
        except GeneratorExit:
            store_close(self._given, permit_id, body)
            raise
        act.answer = sent.answer
        if sent.cancelled is not None:
            if sent.problem is not None:
                not_closed(self._given, act, body, sent.cancelled, sent.problem)
            raise sent.cancelled
        if isinstance(sent.problem, RunsealError):
            unconfirmed(self._given, act, body, sent.problem)
        if act.answer is None:
            raise sent.problem or RuntimeError("A close has an answer or a problem.")
        if not act.answer.ok:
            raise ActRefused(act.answer, 422)
