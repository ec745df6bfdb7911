"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TypeVar

import httpx

from . import calls, errors
from .acts import Act
from .api.answers import OpenPermitAnswer
from .api.calls import close_permit, collect_permit, open_permit, redeem_permit
from .api.operations import Operations
from .api.requests import OpenPermitRequest
from .approvals import NOT_STARTED, REQUEST_SECONDS, ApprovalWait, is_of_another, token_to_redeem, wait_seconds
from .breaker import Breaker, Fail, breaker_of
from .calls import Body, Call, whole
from .closing import CLOSING_SECONDS, not_closed, store_unsealed, unconfirmed
from .errors import ActRefused, ApprovalPending, PermitUsed, RunsealError, is_unfit
from .transport import MAX_RETRIES, Lines, Reading, Service, no_answer, pause_after, read_answer, request_of

T = TypeVar("T")
Permit = Act


class Runseal(Operations):
    """The public API of a Runseal service. Its methods are those of `Operations`.

    `url` and `api_key` come from RUNSEAL_URL and RUNSEAL_API_KEY when they are not given; the key of the environment goes
    to no other address than its own. `timeout` bounds each wait for the service, in seconds. What can be sent twice
    without a second effect is retried at most `max_retries` times; no retry begins `deadline` seconds after the call.
    `end_user_token` is the access token of the person for whom the agent acts, or a function that gives it for each request:
    it is sent with what is decided, and with nothing else. `http_client` sends the requests, with its proxies and certificates, and stays open when this client is closed.
    Raises RunsealError.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        timeout: float = calls.TIMEOUT_SECONDS,
        deadline: float = calls.DEADLINE_SECONDS,
        *,
        max_retries: int = MAX_RETRIES,
        end_user_token: calls.EndUserToken = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._deadline = deadline
        self.given = (url, api_key)
        self._max_retries = max_retries
        self._service = Service.of(url, api_key, timeout, end_user_token)
        self._owns_http = http_client is None
        self._http = httpx.Client() if http_client is None else http_client

    def __enter__(self) -> Runseal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            self._http.close()

    @property
    def breaker(self) -> Breaker:
        """What this process knows of the service's answers."""
        return breaker_of(self._service.address)

    def send(self, call: Call[T], within: float | None = None, timeout: float | None = None) -> T:
        """Sends a call and gives its answer.

        `within` bounds the whole call in seconds, with its retries; an answer that asks for a pause is then raised at once.
        `timeout` bounds each wait of this call.
        """
        return read_answer(call, self._tried(call, within, timeout, streamed=False))

    def lines(self, call: Call[bytes], timeout: float | None) -> Iterator[bytes]:
        """Sends a call and gives the lines of its answer as they arrive. A call whose lines have begun is not sent again."""
        reading, lines = self._tried(call, None, timeout, streamed=True), Lines()
        try:
            if not reading.streams:
                read_answer(call, reading)
            for part in reading.response.iter_bytes():
                yield from lines.add(part)
            lines.end()
        except httpx.HTTPError as error:
            raise no_answer(error) from error
        finally:
            reading.response.close()

    def _tried(self, call: Call[T], within: float | None, timeout: float | None, streamed: bool) -> Reading:
        if self._http.is_closed:
            # A door that is shut down counts its later calls, as it does without a service.
            raise errors.ConnectionError("The client is closed.", "no_answer", 0)
        attempt = 0
        ends_at = time.monotonic() + (self._deadline if within is None else within)
        while True:
            attempt += 1
            reply: Reading | None = None
            problem: httpx.HTTPError | None = None
            try:
                reply = self._once(call, None if within is None else ends_at, timeout, streamed)
                self.breaker.note(reply.status, reply.retry_after, reply.code)
            except httpx.HTTPError as error:
                problem = error
                self.breaker.note(0)
            left = ends_at - time.monotonic()
            pause = pause_after(call, attempt, reply, left, within is None, self._max_retries)
            if pause is None:
                if reply is None:
                    raise no_answer(problem) from problem
                return reply
            time.sleep(pause)

    def _once(self, call: Call[T], ends_at: float | None, timeout: float | None, streamed: bool) -> Reading:
        within = None if ends_at is None else max(0.001, ends_at - time.monotonic())
        response = self._http.send(request_of(self._http, self._service, call, within, timeout), stream=True)
        reading = Reading(response, streamed)
        if reading.streams:
            return reading
        try:
            for part in response.iter_bytes():
                reading.add(part)
                if ends_at is not None and time.monotonic() > ends_at:
                    raise httpx.ReadTimeout("The answer is longer than its time.")
            return reading
        finally:
            response.close()

    def decide(self, call: Call[T], fail: Fail) -> T:
        """Sends a call whose answer somebody waits for, within the time of a decision.

        Raises RunsealError also under `open` while the service is away: then it is not asked.
        """
        return self.send(call, within=self.breaker.wait_seconds(fail))

    def opened(
        self,
        opening: Call[OpenPermitAnswer],
        fail: Fail | None,
        approval_wait: float | None = None,
        redeems: bool = False,
    ) -> OpenPermitAnswer:
        """Sends a call that opens a permit, and waits for people who decide on it. The arguments are those of `permit`."""
        wait_for = wait_seconds(approval_wait)
        try:
            found = self.send(opening) if fail is None else self.decide(opening, fail)
        except ApprovalPending as pending:
            found = self._collected(ApprovalWait(pending, wait_for))
        token = token_to_redeem(found, redeems)
        if token is not None:
            self._redeem(found.permit_id, token)
        return found

    def _collected(self, wait: ApprovalWait) -> OpenPermitAnswer:
        while (pause := wait.pause()) is not None:
            time.sleep(pause)
            try:
                return self.send(collect_permit(wait.approval_id), within=REQUEST_SECONDS)
            except ActRefused:
                raise
            except RunsealError as problem:
                wait.note(problem)
        raise wait.pending

    def _redeem(self, permit_id: str, token: str) -> None:
        try:
            self.send(redeem_permit(permit_id, token), within=REQUEST_SECONDS)
        except RunsealError as problem:
            if not is_of_another(problem):
                with suppress(RunsealError):
                    self.send(close_permit(permit_id, NOT_STARTED), within=CLOSING_SECONDS)
            raise PermitUsed(permit_id) from problem

    @contextmanager
    def permit(
        self,
        request: OpenPermitRequest,
        idempotency_key: str | None = None,
        *,
        fail: Fail | None = None,
        approval_wait: float | None = None,
        redeems: bool = False,
        extra: Body | None = None,
    ) -> Iterator[Act]:
        """Opens a permit for the block and always closes it: as failed when the block raises.

        Raises ApprovalPending where people decide on the act and have not, after `approval_wait` seconds (RUNSEAL_APPROVAL_WAIT,
        else at once): the block does not run, whatever `fail` is. What they approved has to be redeemed by the party that acts.
        With `redeems` the block is that party: the permit is redeemed before it, or PermitUsed is raised.

        Raises ActRefused before the block when a gate refuses the act, and after it when one refuses the close: then the
        output must not be used. Where that refusal is observed only, the block runs without a permit, and nothing is closed.
        Raises CloseUnconfirmed when the act was made and the service did not confirm its close, which is then stored.

        With `fail` the decision is waited for as every door does: 10 seconds (`closed`) or 2 (`open`), or RUNSEAL_TIMEOUT, and
        shorter while the service is away. Under `open` the block then runs without a permit, and is counted in the spool; a
        close that got no answer is stored there too. Without `fail` the call has the times of the client.
        """
        act = Act()
        try:
            opening = open_permit(whole(request, OpenPermitRequest, extra), idempotency_key)
            act.opened = self.opened(opening, fail, approval_wait, redeems)
        except ActRefused as refused:
            if not refused.observed:
                raise
            act.answer = refused.answer
            yield act
            return
        except RunsealError as problem:
            if fail != "open" or is_unfit(problem):
                raise
            store_unsealed(self.given, request, problem.code)
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
                not_closed(self.given, act, body, error, problem)
            raise
        body = act.closing(None)
        closing = close_permit(permit_id, body)
        try:
            act.answer = self.decide(closing, fail) if fail == "open" else self.send(closing)
        except RunsealError as problem:
            unconfirmed(self.given, act, body, problem, fail)
            return
        except BaseException as problem:
            # Stopped while it closed.
            not_closed(self.given, act, body, problem, problem)
            raise
        if not act.answer.ok:
            raise ActRefused(act.answer, 422)
