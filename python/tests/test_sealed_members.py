"""docs/doors/README.md, "What each door seals": records of a real service, after a real framework ran, against that table."""

import asyncio
import hashlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from door_table import COST, assert_sealed
from model_server import ModelServer
from places import NODE
from service import Service
from test_litellm import running_proxy, settled

from runseal_client import AsyncRunseal, Runseal, sealed
from runseal_client.sealing import text_of
from runseal_client.spool import Spool

NAMES = ("langchain", "langchain_openai", "agents", "litellm")
pytestmark = pytest.mark.skipif(
    not NODE.exists() or any(importlib.util.find_spec(name) is None for name in NAMES),
    reason="needs the service (npm ci), langchain, langchain-openai, openai-agents and litellm",
)
TOOL = {"tool": "double"}
MODEL = {"model": "m-1"}
FACTS: dict[str, Any] = {"model_name": "m-1", "model_provider": "openai", "cost": COST}


def found(service: Service, query: str) -> list[int]:
    """Ids of runs that a search finds, oldest first."""
    return [run["id"] for run in reversed(service.get(f"/runs/search?{query}&limit=100")["runs"])]


def test_langchain(service: Service, model: ModelServer, tmp_path: Path) -> None:
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    from runseal_client.langchain import RunsealCallback

    @tool
    def double(number: int) -> int:
        """Doubles a number."""
        return 2 * number

    callback = RunsealCallback(Runseal(service.url), agent="chain-agent", spool=Spool(str(tmp_path)))
    config: Any = {"callbacks": [callback]}
    chat = ChatOpenAI(model="m-1", base_url=model.url, api_key="none", stream_usage=True)
    double.invoke({"number": 4}, config=config)
    assert callback.flush(60)
    chat.invoke("hello", config=config)
    assert callback.flush(60)
    assert "".join(str(part.content) for part in chat.stream("hello", config=config)) == "Done."
    assert callback.flush(60)
    tool_run, model_run, stream_run = found(service, "actor_id=chain-agent")
    assert found(service, "actor_id=chain-agent&model_name=m-1") == [model_run, stream_run]
    facts = {**FACTS, "actor_id": "chain-agent"}
    assert_sealed(service, tool_run, "a tool", "LangChain", TOOL, **facts)
    assert_sealed(service, model_run, "a model", "LangChain", MODEL, **facts)
    assert_sealed(service, stream_run, "a stream of a model", "LangChain", MODEL, **facts)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_openai_agents(service: Service, model: ModelServer, tmp_path: Path, api: str) -> None:
    from agents import (
        Agent,
        ModelSettings,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        set_trace_processors,
    )
    from openai import AsyncOpenAI

    from runseal_client.openai_agents import RunsealProcessor, sealed_tool

    name = f"agent-of-{api}"
    processor = RunsealProcessor(Runseal(service.url), agent=name, spool=Spool(str(tmp_path)), provider="openai")
    set_trace_processors([processor])

    async def act() -> None:
        async with AsyncRunseal(service.url) as client:

            @sealed_tool(client, agent=name)
            def double(number: int) -> int:
                """Doubles a number."""
                return 2 * number

            openai = AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0)
            kind = OpenAIChatCompletionsModel if api == "chat" else OpenAIResponsesModel
            agent = Agent(name="a", model=kind("m-1", openai), tools=[double] if api == "chat" else [])
            await Runner.run(agent, "Double 4.")
            processor.force_flush()
            streaming = Agent(name="a", model=kind("m-1", openai), model_settings=ModelSettings(include_usage=True))
            async for _ in Runner.run_streamed(streaming, "hello").stream_events():
                pass

    asyncio.run(act())
    processor.force_flush()
    facts = {**FACTS, "actor_id": name}
    models = found(service, f"actor_id={name}&model_name=m-1")
    assert_sealed(service, models[0], "a model", "OpenAI Agents", MODEL, **facts)
    assert_sealed(service, models[-1], "a stream of a model", "OpenAI Agents", MODEL, **facts)
    if api == "chat":
        (tool_run,) = set(found(service, f"actor_id={name}")) - set(models)
        assert_sealed(service, tool_run, "a tool", "OpenAI Agents", TOOL, **facts)


def test_a_sealed_function(service: Service) -> None:
    with Runseal(service.url) as client:

        @sealed(client, "claims/double", agent="claims-agent")
        def double(number: int) -> int:
            return 2 * number

        assert double(4) == 8
    (run_id,) = found(service, "actor_id=claims-agent")
    assert_sealed(service, run_id, "a tool", "`@sealed`", TOOL, actor_id="claims-agent")


def test_litellm(service: Service, model: ModelServer, tmp_path: Path) -> None:
    with running_proxy(tmp_path, service.url, model, 1, RUNSEAL_AGENT="proxy-agent") as proxy:
        assert (answer := proxy.ask("hello")) is not None and answer.status_code == 200
        (model_run,) = found(service, "actor_id=proxy-agent")
        streamed = proxy.ask("hello", stream=True)
        assert settled(service, "/runs/search?actor_id=proxy-agent", 2) == 2
        asked = proxy.ask("hello", stream=True, stream_options={"include_usage": True})
        assert settled(service, "/runs/search?actor_id=proxy-agent", 3) == 3
    # The payload is what the caller sent, whatever the proxy adds to it.
    sent = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
    payloads = [
        text_of({"tool": "model/m-1", "arguments": given})
        for given in ({"messages": sent["messages"]}, sent, {**sent, "stream_options": {"include_usage": True}})
    ]
    sections = [service.get(f"/runs/{run}/artifacts")["sections"] for run in found(service, "actor_id=proxy-agent")]
    assert [each["payload"]["payload_hash"] for each in sections] == [
        hashlib.sha256(payload.encode()).hexdigest() for payload in payloads
    ]
    # The tokens are asked for, and given to the caller only where the caller asked for them.
    assert streamed is not None and "[DONE]" in streamed.text and '"usage":{' not in streamed.text
    assert asked is not None and '"usage":{' in asked.text
    facts = {**FACTS, "actor_id": "proxy-agent"}
    assert_sealed(service, model_run, "a model", "LiteLLM", MODEL, **facts)
    for stream_run in found(service, "actor_id=proxy-agent")[1:]:
        assert_sealed(service, stream_run, "a stream of a model", "LiteLLM", MODEL, **facts)
