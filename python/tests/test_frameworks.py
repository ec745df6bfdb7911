"""LangChain, LangGraph and OpenAI Agents end to end, against a local model server and a real service."""

import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from model_server import ModelServer
from places import NODE
from service import Service

from runseal_client import AsyncRunseal, Runseal
from runseal_client.spool import Spool

NAMES = ("langchain", "langchain_openai", "langgraph", "agents")
pytestmark = pytest.mark.skipif(
    not NODE.exists() or any(importlib.util.find_spec(name) is None for name in NAMES),
    reason="needs the service (npm ci), langchain, langchain-openai, langgraph and openai-agents",
)


def routes(service: Service) -> list[tuple[str, str]]:
    runs: list[dict[str, Any]] = service.get("/runs?limit=500")["runs"]
    return [(run["route_id"], run.get("closing_outcome", run["status"])) for run in reversed(runs)]


def test_langgraph_agent(service: Service, model: ModelServer, tmp_path: Path) -> None:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    from runseal_client.langchain import RunsealCallback

    @tool
    def double(number: int) -> int:
        """Doubles a number."""
        return 2 * number

    @tool
    def broken(number: int) -> int:
        """Is broken."""
        raise ValueError("broken")

    class Degrees(float):
        """A number that shows itself in another way, as those of numerical libraries do."""

        def __repr__(self) -> str:
            return f"Degrees({float(self)})"

    @tool
    def measure(number: int) -> float:
        """Measures."""
        return Degrees(number)

    class Unreadable(dict[str, int]):
        """What cannot be said as JSON."""

        def items(self) -> Any:
            raise RuntimeError

    before = len(routes(service))
    callback = RunsealCallback(Runseal(service.url), spool=Spool(str(tmp_path)))
    chat = ChatOpenAI(model="m-1", base_url=model.url, api_key="none", max_retries=0)
    config: Any = {"callbacks": [callback]}
    agent = create_agent(chat, tools=[double])
    answer = agent.invoke({"messages": [{"role": "user", "content": "Double 4."}]}, config=config)
    assert answer["messages"][-1].content == "Done."
    with pytest.raises(ValueError, match="broken"):
        broken.invoke({"number": 1}, config=config)
    with pytest.raises(Exception, match="broken"):
        chat.invoke("break", config=config)
    assert callback.flush(60)
    assert sorted(routes(service)[before:]) == [
        ("agents/langchain/broken", "failed"),
        ("agents/langchain/double", "completed"),
        ("agents/langchain/model/m-1", "completed"),
        ("agents/langchain/model/m-1", "completed"),
        ("agents/langchain/model/m-1", "failed"),
    ]
    assert callback.unsealed == 0
    assert len(model.calls) == 3
    measure.invoke({"number": 1}, config=config)
    assert callback.flush(60)
    assert routes(service)[-1] == ("agents/langchain/measure", "completed")
    callback.on_tool_start({"name": "odd"}, "", run_id=uuid4(), inputs=Unreadable(a=1))
    assert callback.flush(60)
    assert callback.unsealed == 1
    assert [json.loads(each.read_text())["reason"] for each in tmp_path.glob("act-*.json")] == ["unreadable"]


def test_what_is_not_sealed_is_counted(service: Service, model: ModelServer, tmp_path: Path) -> None:
    from langchain_openai import ChatOpenAI

    from runseal_client.langchain import RunsealCallback

    spool = Spool(str(tmp_path), door="langchain")
    callback = RunsealCallback(Runseal("http://127.0.0.1:9", timeout=1), spool=spool)
    chat = ChatOpenAI(model="m-1", base_url=model.url, api_key="none")
    assert chat.invoke("hello", config={"callbacks": [callback]}).content == "Done."
    assert callback.flush(60)
    assert callback.unsealed == spool.waiting() == 1

    async def drain() -> bool:
        async with AsyncRunseal(service.url) as client:
            return await spool.drain(client)

    assert asyncio.run(drain())
    assert spool.waiting() == 0
    assert routes(service)[-1] == ("langchain/gap", "ok")


def test_openai_agents(service: Service, model: ModelServer, tmp_path: Path) -> None:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, generation_span, set_trace_processors, trace
    from openai import AsyncOpenAI

    from runseal_client.openai_agents import RunsealProcessor, sealed_tool

    before, done = len(routes(service)), []
    kept = Spool(str(tmp_path))
    processor = RunsealProcessor(Runseal(service.url), spool=kept)
    set_trace_processors([processor])

    async def act(text: str, fails: bool) -> str:
        async with AsyncRunseal(service.url) as client:

            @sealed_tool(client)
            def double(number: int) -> int:
                """Doubles a number."""
                done.append(number)
                if fails:
                    raise ValueError("broken")
                return 2 * number

            openai = AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0)
            agent = Agent(name="a", model=OpenAIChatCompletionsModel("m-1", openai), tools=[double])
            return str((await Runner.run(agent, text)).final_output)

    assert asyncio.run(act("Double 4.", False)) == "Done."
    assert asyncio.run(act("Double 4.", True)) == "Done."
    with pytest.raises(Exception, match="broken"):
        asyncio.run(act("break", False))
    assert done == [4, 4]
    asked, tool = "agents/openai-agents/model/m-1", "agents/openai-agents/double"
    once = [(asked, "completed"), (tool, "completed"), (asked, "completed")]
    again = [(asked, "completed"), (tool, "failed"), (asked, "completed"), (asked, "failed")]
    processor.force_flush()
    assert sorted(routes(service)[before:]) == sorted([*once, *again])
    assert processor.unsealed == 0
    # A span that ends after the shutdown is counted, too.
    processor.shutdown()
    with trace("late"), generation_span(model="m-1", input=[{"role": "user"}]):
        pass
    assert processor.unsealed == kept.waiting() == 1
