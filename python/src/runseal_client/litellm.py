"""LiteLLM proxy: every model call is permitted before and sealed after. `callbacks: ["runseal_client.litellm.handler"]`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from typing import Any

from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

from .async_client import AsyncRunseal
from .errors import ActRefused, RunsealError
from .sealing import opening_of, output_of, text_of
from .spool import Spool

TIMEOUT_SECONDS = 15.0
DRAIN_SECONDS = 2.0
MAX_OPEN = 10_000
DEFAULT_OUTPUT_TOKENS = 1_024
CHARACTERS_OF_A_TOKEN = 3
MARK = "runseal_permit_id"
_LOG = logging.getLogger("runseal_client")
_ARGUMENTS = (
    *("messages", "prompt", "input", "instructions", "tools", "tool_choice", "response_format", "temperature", "top_p"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens", "n", "stream", "stop", "seed"),
)


def _choice(name: str, allowed: tuple[str, ...]) -> str:
    value = os.environ.get(name, allowed[0])
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}.")
    return value


def _metadata(data: dict[str, Any]) -> dict[str, Any]:
    name = "litellm_metadata" if isinstance(data.get("litellm_metadata"), dict) else "metadata"
    held = data.setdefault(name, {})
    return held if isinstance(held, dict) else {}


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", exclude_none=True) if hasattr(value, "model_dump") else value


def _tokens(value: Any) -> int | None:
    usage = _plain(value).get("usage") if isinstance(_plain(value), dict) else None
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None


class RunsealHandler(CustomLogger):  # type: ignore[misc]
    """Opens a permit for each request of the proxy, and closes it with what became of it.

    One worker keeps a permit only while its request lasts: workers share nothing but the folder of the spool. When a worker
    is killed, its open permits end by themselves, and the service seals that they ended.
    """

    def __init__(self) -> None:
        super().__init__()
        self._observe = _choice("RUNSEAL_MODE", ("enforce", "observe")) == "observe"
        self._fail_open = _choice("RUNSEAL_FAIL", ("closed", "open")) == "open"
        self._spool: Spool | None = None
        self._client: AsyncRunseal | None = None
        self._drainer: asyncio.Task[None] | None = None
        self._open: dict[str, str] = {}

    def _service(self) -> AsyncRunseal:
        # Made in the worker, not before its fork.
        if self._client is None:
            self._client = AsyncRunseal(timeout=TIMEOUT_SECONDS)
        if self._drainer is None or self._drainer.done():
            self._drainer = asyncio.get_running_loop().create_task(self._drain())
        return self._client

    def _later(self) -> Spool:
        if self._spool is None:
            self._spool = Spool(door="litellm")
        return self._spool

    async def _drain(self) -> None:
        while True:
            try:
                await self._later().drain(self._service())
            except Exception:
                _LOG.warning("runseal: the spool could not be sent; it is tried again")
            await asyncio.sleep(DRAIN_SECONDS)

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """Asks for a permit. A refusal ends the request with 403; no answer with 503, unless RUNSEAL_FAIL=open."""
        metadata = _metadata(data)
        metadata.pop(MARK, None)
        model = str(data.get("model", ""))
        arguments = {name: data[name] for name in _ARGUMENTS if name in data}
        payload = {"tool": model, "arguments": arguments, "call_type": str(call_type)}
        output = next(
            (data[name] for name in _ARGUMENTS if name.startswith("max_") and isinstance(data.get(name), int)), 0
        )
        reserve = (output or DEFAULT_OUTPUT_TOKENS) + len(text_of(arguments)) // CHARACTERS_OF_A_TOKEN
        program = {"door": "litellm", "agent": os.environ.get("RUNSEAL_AGENT", "litellm-proxy")}
        body = opening_of(f"litellm/{model}", program, payload, f"litellm/{model}", reserve, self._observe)
        body["attested_context"] = {"model_name": model[:256]} if model else {}
        body["close_within_seconds"] = 3_600
        try:
            if len(self._open) >= MAX_OPEN:
                raise RunsealError("Too many requests are under way.", "overloaded", 503)
            opened = await self._service().open_permit(body)
        except ActRefused as refused:
            if refused.observed:
                _LOG.warning("runseal: run %d was refused and only observed", refused.answer.run_id)
                return data
            detail = {"error": f"Refused by policy: {refused.answer.error}", "run_id": refused.answer.run_id}
            raise HTTPException(status_code=403, detail=detail) from None
        except RunsealError as error:
            if not (self._fail_open or self._observe):
                raise HTTPException(status_code=503, detail={"error": f"No permit: {error.code}."}) from None
            self._later().put_unsealed(body["route_id"], body["payload"], error.code)
            return data
        self._open[opened.permit_id] = model
        metadata[MARK] = opened.permit_id
        return data

    async def _close(self, data: dict[str, Any], body: dict[str, Any]) -> None:
        """Closes the permit of a request once; raises when the output must not be given out."""
        permit_id = str(_metadata(data).get(MARK, ""))
        if self._open.pop(permit_id, None) is None:
            return
        try:
            answer = await self._service().close_permit(permit_id, body)
        except RunsealError as error:
            self._later().put_close(permit_id, body)
            if self._fail_open or self._observe or body["outcome"] == "failed":
                return
            raise HTTPException(status_code=503, detail={"error": f"Not sealed: {error.code}."}) from None
        if not answer.ok and body["outcome"] == "completed" and not self._observe:
            detail = {"error": f"The output was refused: {answer.error}", "run_id": answer.run_id}
            raise HTTPException(status_code=403, detail=detail)

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Seals the answer before it is given out."""
        await self._close(data, _completed(text_of(_plain(response)), _tokens(response)))
        return response

    async def async_post_call_failure_hook(
        self,
        request_data: dict[str, Any],
        original_exception: Exception,
        user_api_key_dict: Any,
        traceback_str: Any = None,
    ) -> None:
        """Seals a call that failed."""
        late = "timeout" in type(original_exception).__name__.lower()
        await self._close(request_data, {"outcome": "failed", "code": "TIMED_OUT" if late else "EXECUTOR_FAILED"})

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Seals a stream at its end, also one that breaks off or that its reader leaves."""
        parts: list[str] = []
        tokens: int | None = None
        body: dict[str, Any] = {"outcome": "failed", "code": "EXECUTOR_FAILED"}
        try:
            async for chunk in response:
                parts.append(text_of(_plain(chunk)))
                tokens = _tokens(chunk) or tokens
                yield chunk
            body = _completed(f"[{','.join(parts)}]", tokens)
        finally:
            # Not ended when the reader leaves: the close is sent all the same.
            await asyncio.shield(self._close(request_data, body))


def _completed(text: str, tokens: int | None) -> dict[str, Any]:
    said = output_of(text)
    if tokens is not None:
        said["request_substance"] = {**said.get("request_substance", {}), "cost": {"total_tokens": tokens}}
    return {"outcome": "completed", **said}


handler = RunsealHandler()
