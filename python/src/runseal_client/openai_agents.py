"""OpenAI Agents: tools that are permitted before and sealed after, and a trace processor that seals every model call.

`sealed_tool(client)` stands in place of `function_tool` and enforces; `add_trace_processor(RunsealProcessor())` observes.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any

from agents import FunctionTool, TracingProcessor, function_tool

from .async_client import AsyncRunseal
from .client import Runseal
from .errors import ActRefused, RunsealError
from .sealing import opening_of, said_of, sealed
from .spool import Spool


def sealed_tool(client: AsyncRunseal) -> Callable[[Callable[..., Any]], FunctionTool]:
    """A function tool of which each call is permitted before it runs: a refused call is not made, and the model is told."""

    def decorate(function: Callable[..., Any]) -> FunctionTool:
        async def act(*args: Any, **kwargs: Any) -> Any:
            if inspect.iscoroutinefunction(function):
                return await function(*args, **kwargs)
            return await asyncio.to_thread(function, *args, **kwargs)

        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
            setattr(act, name, getattr(function, name))
        act.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return function_tool(sealed(client, f"agents/openai-agents/{function.__name__}")(act))

    return decorate


class RunsealProcessor(TracingProcessor):  # type: ignore[misc]
    """Seals each model call of a trace when its span ends. It observes: the call is over by then.

    What the service did not take is counted in `unsealed`, kept in the spool and sealed later as a gap.
    """

    def __init__(self, client: Runseal | None = None, agent: str = "openai-agents", spool: Spool | None = None) -> None:
        self._client = client or Runseal()
        self._agent = agent
        self._spool = spool or Spool(door="openai-agents")
        self._lock = threading.Lock()
        self.unsealed = 0

    def on_trace_start(self, trace: Any) -> None:
        """Nothing to seal yet."""

    def on_trace_end(self, trace: Any) -> None:
        """Each span has been sealed."""

    def on_span_start(self, span: Any) -> None:
        """Nothing to seal yet."""

    def on_span_end(self, span: Any) -> None:
        """A model has answered, or failed."""
        data = span.span_data
        if data.type not in ("generation", "response"):
            return
        facts = data.export() or {}
        response = getattr(data, "response", None)
        model = str(facts.get("model") or getattr(response, "model", None) or "model")
        asked = facts.get("input") or getattr(data, "input", None)
        answered = facts.get("output") or (response.model_dump(mode="json") if response is not None else None)
        program = {"door": "agents", "agent": self._agent}
        payload = {"tool": model, "arguments": asked}
        route = f"agents/openai-agents/{model}"
        try:
            body = opening_of(route, program, payload, f"openai-agents/{model}", observe=True)
        except Exception:  # Whatever a caller's object raises: the call was made, and is counted.
            self._count()
            self._spool.put_unsealed(route, "", "unreadable")
            return
        try:
            permit_id = self._client.open_permit(body).permit_id
        except ActRefused:
            # Sealed, with the mark that it stopped nothing; the answer is in no record.
            return
        except RunsealError as error:
            self._count()
            self._spool.put_unsealed(body["route_id"], body["payload"], error.code)
            return
        if span.error:
            closing: dict[str, Any] = {"outcome": "failed", "code": "EXECUTOR_FAILED"}
        else:
            closing = {"outcome": "completed", **said_of(answered)}
        try:
            self._client.close_permit(permit_id, closing)
        except RunsealError:
            self._count()
            self._spool.put_close(permit_id, closing)

    def _count(self) -> None:
        with self._lock:
            self.unsealed += 1

    def force_flush(self) -> None:
        """Nothing waits: each span is sealed when it ends."""

    def shutdown(self) -> None:
        """Closes the connections."""
        self._client.close()
