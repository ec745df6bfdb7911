"""LangChain and LangGraph: a callback that seals every tool call and model call of a run. It observes: it stops nothing.

`chain.invoke(…, config={"callbacks": [RunsealCallback()]})`. To enforce a tool, wrap its function with `sealed` besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from .acts import failure_code
from .background import EXIT_SECONDS, observer_of
from .client import Runseal
from .sealing import CLOSE_SECONDS, opening_of, said_of
from .spool import Spool


def _tokens(response: Any) -> int | None:
    usage = (getattr(response, "llm_output", None) or {}).get("token_usage") or {}
    total = usage.get("total_tokens")
    return total if isinstance(total, int) else None


class RunsealCallback(BaseCallbackHandler):  # type: ignore[misc]
    """Opens a permit when a tool or a model starts, and closes it with its result or its error. Both are sent by a thread:
    the chain never waits for the service.

    What the service did not take is counted in `unsealed`, stored in the spool and sealed later as a gap.
    """

    raise_error = False

    def __init__(self, client: Runseal | None = None, agent: str = "langchain", spool: Spool | None = None) -> None:
        super().__init__()
        self._agent = agent
        self._observer = observer_of("langchain", client, spool)

    @property
    def unsealed(self) -> int:
        """How many calls the service did not take in time; without client and spool, of all callbacks of the process."""
        return self._observer.unsealed

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Waits until each call so far is sealed or in the spool, at most `timeout` seconds; whether it is."""
        return self._observer.flush(timeout)

    def shutdown(self, timeout: float = EXIT_SECONDS) -> None:
        """Seals what it can within `timeout` seconds, and stores the rest in the spool, as the end of the process does."""
        self._observer.shutdown(timeout)

    def _start(self, run_id: UUID, name: str, arguments: Any) -> None:
        route = f"agents/langchain/{name}"

        def opening() -> dict[str, Any]:
            program = {"door": "agents", "agent": self._agent}
            payload = {"tool": name, "arguments": arguments}
            body = opening_of(route, program, payload, f"langchain/{name}", observe=True)
            return {**body, "close_within_seconds": CLOSE_SECONDS}

        self._observer.start((self, run_id), route, opening)

    def _end(self, run_id: UUID, body: dict[str, Any]) -> None:
        self._observer.end((self, run_id), body)

    def _failed(self, run_id: UUID, error: BaseException) -> None:
        self._end(run_id, {"outcome": "failed", "code": failure_code(error)})

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **more: Any) -> None:
        """A tool begins."""
        name = str((serialized or {}).get("name", "tool"))
        self._start(run_id, name, more.get("inputs") or input_str)

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        """A tool has ended; a message that says the tool failed is a failure."""
        if getattr(output, "status", None) == "error":
            self._end(run_id, {"outcome": "failed", "code": "EXECUTOR_FAILED"})
            return
        self._end(run_id, {"outcome": "completed", **said_of(output)})

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        """A tool has raised."""
        self._failed(run_id, error)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **more: Any) -> None:
        """A chat model is asked."""
        self._start(run_id, self._model(more), messages)

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **more: Any) -> None:
        """A model is asked."""
        self._start(run_id, self._model(more), prompts)

    def on_llm_end(self, response: Any, *, run_id: UUID, **more: Any) -> None:
        """A model has answered."""
        body = {"outcome": "completed", **said_of(response.generations)}
        tokens = _tokens(response)
        if tokens is not None:
            body["request_substance"] = {**body.get("request_substance", {}), "cost": {"total_tokens": tokens}}
        self._end(run_id, body)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        """A model has failed."""
        self._failed(run_id, error)

    def _model(self, more: Mapping[str, Any]) -> str:
        given = more.get("invocation_params") or {}
        return str(given.get("model") or given.get("model_name") or "model")
