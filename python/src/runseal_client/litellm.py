"""LiteLLM proxy: every model call is permitted before and sealed after. `callbacks: ["runseal_client.litellm.handler"]`."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

from .acts import failure_code
from .api.answers import OpenPermitAnswer
from .api.calls import close_permit, open_permit
from .approvals import wait_seconds
from .async_client import AsyncRunseal
from .background import Drainer, Observer
from .breaker import Fail, decision_seconds
from .calls import Call, new_key
from .client import Runseal
from .errors import ActRefused, ApprovalPending, CloseUnconfirmed, PermitUsed, RunsealError, is_unfit
from .litellm_requests import (
    MARK,
    alias_of,
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


@dataclass
class _Asked:
    """A request under way: the permit of the model that is asked now, and how another one is asked for."""

    model: str
    opening: Callable[[str], dict[str, Any]]
    # None without a permit, as after a refusal.
    permit: str | None = None
    # Whether the model was asked already.
    begun: bool = False
    refused: dict[str, HTTPException] = field(default_factory=dict)
    models: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.models = {self.model, alias_of(self.model)}


class RunsealHandler(CustomLogger):  # type: ignore[misc]
    """Opens a permit for each request of the proxy, and closes it with what became of it.

    The proxy reports the start and the end of a request to two hooks, so no block of `permit` can be around it.
    One worker keeps a permit only while its request lasts: workers share nothing but the folder of the spool. When a worker
    is killed, its open permits end by themselves, and the service seals that they ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self._observe = _choice("RUNSEAL_MODE", ("enforce", "observe")) == "observe"
        self._fail: Fail = "open" if _choice("RUNSEAL_FAIL", ("closed", "open")) == "open" else "closed"
        # Raises for a wrong RUNSEAL_TIMEOUT or RUNSEAL_APPROVAL_WAIT when the proxy starts.
        decision_seconds(self._fail == "open")
        wait_seconds(None)
        self._client: AsyncRunseal | None = None
        self._open: OpenPermits[_Asked] = OpenPermits()
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

    async def _opened(self, body: Mapping[str, Any]) -> OpenPermitAnswer:
        """A permit, redeemed where it has to be; waits for people for RUNSEAL_APPROVAL_WAIT seconds."""
        self._later()
        if self._client is None:
            self._client = AsyncRunseal()
        return await self._client.opened(open_permit(body), self._fail, redeems=True)

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
            # The proxy would ask models that no permit could name.
            raise HTTPException(status_code=400, detail={"error": "A request names one model."})
        arguments = arguments_of(data)
        agent = os.environ.get("RUNSEAL_AGENT", "litellm-proxy")

        def opening(model: str) -> dict[str, Any]:
            route = f"litellm/{model}"
            called = Called("litellm", agent, model=model or None, provider=provider_of(model), route=route)
            body = opening_of(called, arguments, reserve_of(data, arguments), self._observe)
            context = {"call_type": kind}
            return {**body, "reproducibility_context": context, "close_within_seconds": CLOSE_SECONDS}

        asked = _Asked(model, opening, await self._permit(model, opening))
        if self._open.has_room():
            metadata[MARK] = new_key()
            self._open.put(metadata[MARK], asked)
        return data

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Asks for a permit of its own when the proxy goes on to another model of the same request."""
        metadata = metadata_of(kwargs)
        asked = self._open.get(metadata.get(MARK, ""))
        model = metadata.get("model_group")
        if asked is None or not isinstance(model, str):
            return None
        if model in asked.models:
            asked.begun = True
            return None
        if model in asked.refused:
            raise asked.refused[model]
        before, asked.permit = asked.permit, None
        if before is not None:
            await self._end(before, {"outcome": "failed", "code": "EXECUTOR_FAILED" if asked.begun else "NOT_EXECUTED"})
        try:
            asked.permit = await self._permit(model, asked.opening)
        except HTTPException as refused:
            asked.refused[model] = refused
            raise
        asked.models, asked.begun = {model}, True
        return None

    async def _permit(self, model: str, opening: Callable[[str], dict[str, Any]]) -> str | None:
        """A permit, or the key of an observed call; None for a call that is made without one."""
        if self._observe:
            key = new_key()
            self._observed().start(key, f"litellm/{model}", lambda: opening(model))
            return key
        body = opening(model)
        try:
            self._open.require_room()
            return (await self._opened(body)).permit_id
        except ActRefused as refused:
            detail = {"error": f"Refused by policy: {refused.answer.error}", "run_id": refused.answer.run_id}
            raise HTTPException(status_code=403, detail=detail) from None
        except ApprovalPending as pending:
            waits = {"approval_id": pending.approval_id, "address": pending.address, "expires_at": pending.expires_at}
            raise HTTPException(
                status_code=403, detail={"error": str(pending), "code": pending.code, **waits}
            ) from None
        except PermitUsed as used:
            raise HTTPException(status_code=403, detail={"error": str(used), "code": used.code}) from None
        except RunsealError as error:
            # A request that the service cannot take is the caller's doing, and no outage: it is not let through for that.
            if is_unfit(error) or self._fail == "closed":
                status = error.status if is_unfit(error) else 503
                raise _refusal(error, f"No permit: {error.code}.", status) from None
            reason = error.code
            await self._store(lambda spool: spool.put_unsealed(body["route_id"], body["payload"], reason))
            return None

    async def _close(self, data: dict[str, Any], body: dict[str, Any]) -> None:
        """Closes the permit of a request once; raises when the output must not be given out."""
        asked = self._open.take(metadata_of(data).get(MARK, ""))
        if asked is not None and asked.permit is not None:
            await self._end(asked.permit, body)

    async def _end(self, permit_id: str, body: dict[str, Any]) -> None:
        if self._observe:
            self._observed().end(permit_id, body)
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
