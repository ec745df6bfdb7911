"""OpenAI Agents: tools that are permitted before and sealed after, and a trace processor that seals every model call.

`sealed_tool(client)` stands in place of `function_tool` and enforces; `add_trace_processor(RunsealProcessor())` observes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agents import FunctionTool, TracingProcessor, function_tool

from .async_client import AsyncRunseal
from .background import Observing
from .breaker import Fail
from .client import Runseal
from .sealed_call import Mode, seal
from .sealing import Called, completed, opening_of, said_of
from .spool import Spool

DOOR = "agents/openai-agents"


def sealed_tool(
    client: AsyncRunseal, agent: str = "openai-agents", mode: Mode = "enforce", fail: Fail = "closed"
) -> Callable[[Callable[..., Any]], FunctionTool]:
    """A function tool of which each call is permitted before it runs: a refused call is not made, and the model is informed."""

    def decorate(function: Callable[..., Any]) -> FunctionTool:
        return function_tool(seal(client, Called(DOOR, agent, tool=function.__name__), function, mode, fail))

    return decorate


class _Answer:
    """What a span says of a call of a model."""

    model, asked, output, usage = "model", None, None, None

    def read(self, data: Any) -> None:
        """Reads it; raises what an object of the caller raises."""
        facts, response = data.export() or {}, getattr(data, "response", None)
        self.model = str(facts.get("model") or getattr(response, "model", None) or "model")
        self.asked = facts.get("input") or getattr(data, "input", None)
        self.output = facts.get("output") or (response.model_dump(mode="json") if response is not None else None)
        self.usage = facts.get("usage")


class RunsealProcessor(Observing, TracingProcessor):  # type: ignore[misc]
    """Seals each model call of a trace when its span ends. It observes: the call is over by then, and a thread sends it, so
    that neither the call nor its event loop waits for the service.

    What the service did not take is counted in `unsealed`, stored in the spool and sealed later as a gap. `provider` names
    who runs the models, which a trace does not say.
    """

    def __init__(
        self,
        client: Runseal | None = None,
        agent: str = "openai-agents",
        spool: Spool | None = None,
        provider: str | None = None,
    ) -> None:
        Observing.__init__(self, "openai-agents", client, spool)
        self._agent, self._provider = agent, provider

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
        call, answer = object(), _Answer()

        def opening() -> Mapping[str, Any]:
            answer.read(data)
            called = Called(DOOR, self._agent, model=answer.model, provider=self._provider)
            return opening_of(called, answer.asked, observe=True)

        self._observer.start(call, f"{DOOR}/model", opening)
        failed = {"outcome": "failed", "code": "EXECUTOR_FAILED"}
        self._observer.end(call, failed if span.error else completed(said_of(answer.output), answer.usage))

    def force_flush(self) -> None:
        """Waits some seconds until each span so far is sealed or in the spool."""
        self.flush()
