"""LangChain and LangGraph: calls of tools that are permitted before and sealed after, for the middleware and for `seal_tools`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from .acts import Act
from .async_client import AsyncRunseal
from .breaker import Fail
from .client import Runseal
from .langchain import DOOR, sealed_already
from .sealed_call import Mode, call_later, call_now
from .sealing import Called, said_of


def is_tool(value: Any) -> bool:
    """Whether it is a tool of LangChain."""
    return isinstance(value, BaseTool)


def _reported(act: Act, result: Any) -> Any:
    act.result = result
    if isinstance(result, ToolMessage) and result.status == "error":
        act.failed()
    else:
        act.completed(**said_of(result))
    return result


@dataclass(frozen=True)
class ToolCalls:
    """How calls of tools are sealed; the members are those of `seal_tools`."""

    client: Runseal | AsyncRunseal
    agent: str
    mode: Mode
    fail: Fail

    def now(self, name: str, arguments: Any, call: Callable[[], Any]) -> Any:
        """What the call of a tool gives. Raises what `sealed` raises, and TypeError where the client is an AsyncRunseal."""
        called = Called(DOOR, self.agent, tool=name)
        with call_now(self.client, called, lambda: arguments, self.mode, self.fail) as act, sealed_already(name):
            return _reported(act, call())

    async def later(self, name: str, arguments: Any, call: Callable[[], Awaitable[Any]]) -> Any:
        """The same of a call that is awaited, which needs an AsyncRunseal."""
        called = Called(DOOR, self.agent, tool=name)
        async with call_later(self.client, called, lambda: arguments, self.mode, self.fail) as act:
            with sealed_already(name):
                return _reported(act, await call())


def sealed_tool(calls: ToolCalls, tool: BaseTool) -> BaseTool:
    """A copy of the tool, of which each call is sealed."""
    kind: Any = type(tool)

    def arguments(given: Any) -> Any:
        # What a graph adds to them, such as its state, is no argument of the model.
        return {name: value for name, value in given.items() if name in tool.args} if isinstance(given, dict) else given

    class Sealed(kind):  # type: ignore[misc]
        def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
            run = super().run
            return calls.now(tool.name, arguments(tool_input), lambda: run(tool_input, *args, **kwargs))

        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            # That of a tool without a coroutine function calls `invoke` in a thread.
            return await BaseTool.ainvoke(self, input, config, **kwargs)

        async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
            run = super().arun
            return await calls.later(tool.name, arguments(tool_input), lambda: run(tool_input, *args, **kwargs))

    copy = tool.model_copy()
    object.__setattr__(copy, "__class__", Sealed)
    return copy
