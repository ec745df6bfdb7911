"""Tools of an agent, each call of them permitted before and sealed after."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeVar

from .async_client import AsyncRunseal
from .breaker import Fail
from .client import Runseal
from .sealed_call import Mode, seal
from .sealing import Called

T = TypeVar("T")
DOOR = "agents/python"


def seal_tools(
    client: Runseal | AsyncRunseal,
    tools: Iterable[T],
    agent: str = "python",
    mode: Mode = "enforce",
    fail: Fail = "closed",
) -> list[T]:
    """The same tools, each call of them sealed as `sealed` does it: functions, and tools of LangChain.

    The route of a function is `agents/python/<name>`, that of a tool of LangChain `agents/langchain/<name>`. With an
    AsyncRunseal a function becomes a coroutine function, and tools of LangChain are called by `ainvoke`. `agent` names who
    acts. Raises TypeError for what is neither.
    """

    def sealed_one(tool: Any) -> Any:
        # Who has no LangChain has no tool of it.
        if "langchain_core.tools" in sys.modules:
            from .langchain_tools import ToolCalls, is_tool, sealed_tool

            if is_tool(tool):
                return sealed_tool(ToolCalls(client, agent, mode, fail), tool)
        name = getattr(tool, "__name__", None)
        if not callable(tool) or not isinstance(name, str):
            raise TypeError("seal_tools takes functions and tools of LangChain; wrap anything else in a function.")
        return seal(client, Called(DOOR, agent, tool=name), tool, mode, fail)

    return [sealed_one(tool) for tool in tools]
