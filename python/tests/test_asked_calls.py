"""Calls that people decide on, through the middleware of LangChain and the LiteLLM proxy. docs/doors/README.md, "When people decide"."""

import asyncio
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from approving import Place, running_place
from model_server import ModelServer
from places import NODE
from test_litellm import running_proxy

from runseal_client import AsyncRunseal, Runseal

NAMES = ("langchain", "langchain_openai", "litellm")
pytestmark = pytest.mark.skipif(
    not NODE.exists() or any(importlib.util.find_spec(name) is None for name in NAMES),
    reason="needs the service (npm ci), langchain, langchain-openai and litellm",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with running_place(tmp_path_factory.mktemp("service")) as running:
        yield running


def approval_in(text: str) -> str:
    found = re.search(r"People decide on this call, until \S+Z: http\S+/console/approval\?id=(apr-[0-9a-f]{32})", text)
    assert found is not None, text
    return found[1]


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_the_model_is_informed_where_people_decide_and_the_same_call_is_made_once(
    place: Place, model: ModelServer, awaited: bool
) -> None:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    from runseal_client.langchain_middleware import RunsealMiddleware

    done: list[int] = []

    @tool
    def double(number: int) -> int:
        """Doubles a number."""
        done.append(number)
        return 2 * number

    client = AsyncRunseal(place.url, place.key) if awaited else Runseal(place.url, place.key)
    chat = ChatOpenAI(model="m-1", base_url=model.url, api_key="none", max_retries=0)
    middleware = RunsealMiddleware(client, agent="claims", fail="open")
    agent: Any = create_agent(chat, tools=[double], middleware=[middleware])
    # Connections of an event loop end with it: all calls have one.
    runner = asyncio.Runner()

    def answered() -> Any:
        asked = {"messages": [{"role": "user", "content": "Do it with 4."}]}
        state = runner.run(agent.ainvoke(asked)) if awaited else agent.invoke(asked)
        return state["messages"][2]

    asked = answered()
    assert (asked.status, done) == ("error", [])
    place.decide(approval_in(asked.content), "approve")
    made = answered()
    assert (made.status, made.content, done) == ("success", "8", [4])
    # Approved was one call: for another one people are asked anew.
    Runseal(place.url, place.key).withdraw_approval(approval_in(answered().content))
    assert done == [4]
    runner.close()


def test_a_request_of_the_proxy_ends_with_the_address_and_the_same_request_is_sent_once(
    place: Place, model: ModelServer, tmp_path: Path
) -> None:
    settings = {"RUNSEAL_API_KEY": place.key, "RUNSEAL_FAIL": "open", "RUNSEAL_TIMEOUT": "10"}
    with running_proxy(tmp_path, place.url, model, 1, **settings) as proxy:
        asked = proxy.ask("question")
        assert asked is not None and asked.status_code == 403
        approval_id = approval_in(asked.text)
        assert model.calls == []
        place.decide(approval_id, "approve")
        made = proxy.ask("question")
        assert made is not None and made.status_code == 200
        assert len(model.calls) == 1
        other = proxy.ask("question")
        assert other is not None and approval_in(other.text) != approval_id
        place.decide(approval_in(other.text), "reject")
        refused = proxy.ask("question")
        assert refused is not None and refused.status_code == 403
        assert len(model.calls) == 1
