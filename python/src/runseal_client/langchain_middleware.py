"""LangChain: a middleware of an agent that permits each call of a tool before it is made, and seals it after.

`create_agent(model, tools, middleware=[RunsealMiddleware(client)])`. It enforces: a call that a gate refuses is not made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage

from .async_client import AsyncRunseal
from .breaker import Fail
from .client import Runseal
from .errors import ActRefused, ApprovalPending, CloseUnconfirmed, PermitUsed
from .langchain_tools import ToolCalls
from .sealed_call import Mode

# What the model is informed of.
_DECISIONS = (ActRefused, ApprovalPending, PermitUsed, CloseUnconfirmed)


class RunsealMiddleware(AgentMiddleware):  # type: ignore[misc]
    """Puts each call of a tool under a permit. A refusal, also one that people decide on the call, is for the model an error of the tool, and the agent goes on.

    `invoke` and `stream` of the agent need a Runseal, `ainvoke` and `astream` an AsyncRunseal. `agent` names who acts;
    `mode` and `fail` are those of `sealed`. A decision that does not come raises RunsealError: the call is not made.
    """

    def __init__(
        self,
        client: Runseal | AsyncRunseal,
        agent: str = "langchain",
        mode: Mode = "enforce",
        fail: Fail = "closed",
    ) -> None:
        super().__init__()
        self._calls = ToolCalls(client, agent, mode, fail)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """One call of a tool by `invoke` or `stream`."""
        call = request.tool_call
        try:
            return self._calls.now(call["name"], call["args"], lambda: handler(request))
        except _DECISIONS as error:
            return _message(call, error)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """One call of a tool by `ainvoke` or `astream`."""
        call = request.tool_call
        try:
            return await self._calls.later(call["name"], call["args"], lambda: handler(request))
        except _DECISIONS as error:
            return _message(call, error)


def _message(call: Any, error: Exception) -> ToolMessage:
    return ToolMessage(content=str(error), name=call["name"], tool_call_id=call["id"], status="error")
