"""LangChain and LangGraph: a callback that seals every tool call and model call of a run. It observes: it stops nothing.

`chain.invoke(…, config={"callbacks": [RunsealCallback()]})`. To enforce a tool, wrap its function with `sealed` besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from .acts import failure_code
from .background import Observing
from .client import Runseal
from .sealing import Called, completed, cost_of, opening_of, said_of
from .spool import Spool

DOOR = "agents/langchain"
# The tool whose call is sealed already, by the middleware or by `seal_tools`, until it starts: the callback leaves it out.
# Tools that it calls itself are others.
SEALED: ContextVar[list[str] | None] = ContextVar("runseal_sealed", default=None)


@contextmanager
def sealed_already(name: str) -> Iterator[None]:
    """The next tool of this name that starts in the block has its record."""
    token = SEALED.set([name])
    try:
        yield
    finally:
        # A coroutine that is thrown away ends in another context, whose variable was never set.
        with suppress(ValueError):
            SEALED.reset(token)


def _usage(response: Any) -> Any:
    """What the answers of a model say of its tokens: each of them, or all of them together."""
    answers = [answer for each in response.generations for answer in each]
    said = [cost_of(getattr(getattr(answer, "message", None), "usage_metadata", None)) for answer in answers]
    counted = [cost for cost in said if cost]
    if not counted:
        return (getattr(response, "llm_output", None) or {}).get("token_usage")
    return {name: sum(cost.get(name, 0) for cost in counted) for name in counted[0]}


class RunsealCallback(Observing, BaseCallbackHandler):  # type: ignore[misc]
    """Opens a permit when a tool or a model starts, and closes it with its result or its error. Both are sent by a thread:
    the chain never waits for the service.

    What the service did not take is counted in `unsealed`, stored in the spool and sealed later as a gap.
    """

    raise_error = False

    def __init__(self, client: Runseal | None = None, agent: str = "langchain", spool: Spool | None = None) -> None:
        Observing.__init__(self, "langchain", client, spool)
        BaseCallbackHandler.__init__(self)
        self._agent = agent

    def _start(self, run_id: UUID, arguments: Any, **called: str | None) -> None:
        call = Called(DOOR, self._agent, **called)
        self._observer.start((self, run_id), call.route_id, lambda: opening_of(call, arguments, observe=True))

    def _end(self, run_id: UUID, body: dict[str, Any]) -> None:
        self._observer.end((self, run_id), body)

    def _failed(self, run_id: UUID, error: BaseException) -> None:
        self._end(run_id, {"outcome": "failed", "code": failure_code(error)})

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **more: Any) -> None:
        """A tool begins."""
        name, sealed = str((serialized or {}).get("name", "tool")), SEALED.get()
        if sealed == [name]:
            sealed.clear()
            return
        self._start(run_id, more.get("inputs") or input_str, tool=name)

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        """A tool has ended; a message that says the tool failed is a failure."""
        if getattr(output, "status", None) == "error":
            self._end(run_id, {"outcome": "failed", "code": "EXECUTOR_FAILED"})
            return
        self._end(run_id, completed(said_of(output)))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        """A tool has raised."""
        self._failed(run_id, error)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **more: Any) -> None:
        """A chat model is asked."""
        self._start(run_id, messages, **self._model(more))

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **more: Any) -> None:
        """A model is asked."""
        self._start(run_id, prompts, **self._model(more))

    def on_llm_end(self, response: Any, *, run_id: UUID, **more: Any) -> None:
        """A model has answered."""
        self._end(run_id, completed(said_of(response.generations), _usage(response)))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        """A model has failed."""
        self._failed(run_id, error)

    def _model(self, more: Mapping[str, Any]) -> dict[str, str | None]:
        given, known = more.get("invocation_params") or {}, more.get("metadata") or {}
        model = known.get("ls_model_name") or given.get("model") or given.get("model_name") or "model"
        return {"model": str(model), "provider": known.get("ls_provider")}
