"""LiteLLM proxy: every model call is permitted before and sealed after. `callbacks: ["runseal_client.litellm.handler"]`."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

from .acts import failure_code
from .api.calls import close_permit, open_permit
from .async_client import AsyncRunseal
from .background import Drainer, Observer
from .breaker import Fail, decision_seconds
from .calls import Call, new_key
from .client import Runseal
from .errors import ActRefused, CloseUnconfirmed, RunsealError, is_unfit
from .litellm_requests import (
    MARK,
    arguments_of,
    metadata_of,
    names_one_model,
    plain_answer,
    provider_of,
    reserve_of,
    usage_of,
)
from .open_permits import OpenPermits
from .sealing import CLOSE_SECONDS, Called, completed, opening_of, output_of, text_of
from .spool import Spool

T = TypeVar("T")


def _choice(name: str, allowed: tuple[str, ...]) -> str:
    value = os.environ.get(name, allowed[0])
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}.")
    return value


class RunsealHandler(CustomLogger):  # type: ignore[misc]
    """Opens a permit for each request of the proxy, and closes it with what became of it.

    One worker keeps a permit only while its request lasts: workers share nothing but the folder of the spool. When a worker
    is killed, its open permits end by themselves, and the service seals that they ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self._observe = _choice("RUNSEAL_MODE", ("enforce", "observe")) == "observe"
        self._fail: Fail = "open" if _choice("RUNSEAL_FAIL", ("closed", "open")) == "open" else "closed"
        # Raises for a wrong RUNSEAL_TIMEOUT when the proxy starts.
        decision_seconds(self._fail == "open")
        self._client: AsyncRunseal | None = None
        self._open: OpenPermits[str] = OpenPermits()
        self._spool: Spool | None = None
        self._drainer: Drainer | None = None
        self._observer: Observer | None = None

    def _later(self) -> tuple[Spool, Drainer]:
        # Made in the worker, not before its fork.
        if self._spool is None or self._drainer is None:
            self._spool = Spool(door="litellm")
            self._drainer = Drainer(self._spool, Runseal)
            self._drainer.wake()
        return self._spool, self._drainer

    def _observed(self) -> Observer:
        if self._observer is None:
            self._observer = Observer("litellm")
        return self._observer

    async def _ask(self, call: Call[T]) -> T:
        """Sends a call within the time of a decision; raises RunsealError also where the service is not asked."""
        self._later()
        if self._client is None:
            self._client = AsyncRunseal()
        return await self._client.decide(call, self._fail)

    async def _store(self, put: Callable[[Spool], None]) -> None:
        spool, drainer = self._later()
        await asyncio.to_thread(put, spool)
        drainer.wake()

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Asks for a permit. A refusal ends the request with 403; no answer with 503, unless RUNSEAL_FAIL=open."""
        kind = str(getattr(call_type, "value", call_type))
        if kind == "pass_through_endpoint":
            # The proxy sends this very object on, and reports no end of it.
            return data
        metadata = metadata_of(data)
        metadata.pop(MARK, None)
        model = str(data.get("model", ""))
        if not self._observe and not names_one_model(data):
            # The proxy would ask others too, and a permit is for one.
            raise HTTPException(status_code=400, detail={"error": "A request names one model."})
        arguments = arguments_of(data)
        agent = os.environ.get("RUNSEAL_AGENT", "litellm-proxy")
        called = Called("litellm", agent, model=model or None, provider=provider_of(model), route=f"litellm/{model}")

        def opening() -> dict[str, Any]:
            body = opening_of(called, arguments, reserve_of(data, arguments), self._observe)
            context = {"call_type": kind}
            return {**body, "reproducibility_context": context, "close_within_seconds": CLOSE_SECONDS}

        if self._observe:
            metadata[MARK] = new_key()
            self._observed().start(metadata[MARK], called.route_id, opening)
            return data
        body = opening()
        try:
            self._open.require_room()
            opened = await self._ask(open_permit(body))
        except ActRefused as refused:
            detail = {"error": f"Refused by policy: {refused.answer.error}", "run_id": refused.answer.run_id}
            raise HTTPException(status_code=403, detail=detail) from None
        except RunsealError as error:
            # A request that the service cannot take is the caller's doing, and no outage: it is not let through for that.
            if is_unfit(error) or self._fail == "closed":
                status = error.status if is_unfit(error) else 503
                raise _refusal(error, f"No permit: {error.code}.", status) from None
            reason = error.code
            await self._store(lambda spool: spool.put_unsealed(body["route_id"], body["payload"], reason))
            return data
        self._open.put(opened.permit_id, opened.permit_id)
        metadata[MARK] = opened.permit_id
        return data

    async def _close(self, data: dict[str, Any], body: dict[str, Any]) -> None:
        """Closes the permit of a request once; raises when the output must not be given out."""
        mark = str(metadata_of(data).get(MARK, ""))
        if self._observe:
            self._observed().end(mark, body)
            return
        permit_id = self._open.take(mark)
        if permit_id is None:
            return
        try:
            answer = await self._ask(close_permit(permit_id, body))
        except RunsealError as error:
            await self._store(lambda spool: spool.put_close(permit_id, body))
            if self._fail == "open" or body["outcome"] == "failed":
                return
            # No status that clients retry: the model was asked.
            sentence = f"The model was asked, and its record is not confirmed ({error.code})."
            unsure = {"error": sentence, "code": CloseUnconfirmed.code, "permit_id": permit_id}
            raise HTTPException(status_code=424, detail=unsure) from None
        if not answer.ok and body["outcome"] == "completed":
            detail = {"error": f"The output was refused: {answer.error}", "run_id": answer.run_id}
            raise HTTPException(status_code=403, detail=detail)

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Seals the answer before it is given out."""
        await self._close(data, completed(output_of(text_of(plain_answer(response))), usage_of(response)))
        return response

    async def async_post_call_failure_hook(
        self,
        request_data: dict[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: Any = None,
    ) -> None:
        """Seals a call that failed."""
        await self._close(request_data, {"outcome": "failed", "code": failure_code(original_exception)})

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Seals a stream at its end, also one that breaks off or that its reader leaves."""
        parts: list[str] = []
        usage = None
        body: dict[str, Any] = {"outcome": "failed", "code": "EXECUTOR_FAILED"}
        try:
            async for chunk in response:
                parts.append(text_of(plain_answer(chunk)))
                usage = usage_of(chunk) or usage
                yield chunk
            body = completed(output_of(f"[{','.join(parts)}]"), usage)
        finally:
            # Not ended when the reader leaves: the close is sent all the same.
            await asyncio.shield(self._close(request_data, body))


def _refusal(error: RunsealError, sentence: str, status: int) -> HTTPException:
    """What the caller gets: a service that is busy is 429, with the time after which it may be asked."""
    after = None if error.retry_after is None else {"Retry-After": str(math.ceil(error.retry_after))}
    return HTTPException(429 if error.status == 429 else status, detail={"error": sentence}, headers=after)


handler = RunsealHandler()
