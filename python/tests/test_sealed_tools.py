"""`seal_tools` and the middleware of LangChain, with agents of LangChain and LangGraph and a real service."""

import asyncio
import importlib.util
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from gate import gate, said
from model_server import ModelServer
from places import NODE
from service import UNLIMITED, Service, running_service

from runseal_client import ActRefused, AsyncRunseal, Runseal, RunsealError, seal_tools

NAMES = ("langchain", "langchain_openai", "langgraph")
pytestmark = pytest.mark.skipif(
    not NODE.exists() or any(importlib.util.find_spec(name) is None for name in NAMES),
    reason="needs the service (npm ci), langchain, langchain-openai and langgraph",
)
POLICY = {
    "policy_id": "tools",
    "policy_name": "Tools",
    "required_attested_fields": [],
    "rules": [
        {"id": "permit", "effect": "allow"},
        {"id": "no-alarm", "effect": "deny", "when": 'context.bound.route_id == "agents/langchain/alarm"'},
        {"id": "no-alarm-here", "effect": "deny", "when": 'context.bound.route_id == "agents/python/alarm"'},
    ],
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "policy.json").write_text(json.dumps(POLICY))
    with running_service(folder, *UNLIMITED, "--policy", str(folder / "policy.json")) as running:
        yield running


class Records:
    """The runs that are sealed from now on."""

    def __init__(self, service: Service) -> None:
        self._service, self._before = service, service.count("/runs")

    def __call__(self) -> list[tuple[str, str]]:
        runs: list[dict[str, Any]] = self._service.get("/runs?limit=500")["runs"]
        fresh = runs[: len(runs) - self._before]
        return [(run["route_id"], run.get("closing_outcome", run["status"])) for run in reversed(fresh)]


def tools_of(done: list[int]) -> dict[str, Any]:
    from langchain_core.tools import InjectedToolArg, tool

    @tool
    def double(number: int, state: Annotated[str, InjectedToolArg] = "") -> int:
        """Doubles a number."""
        done.append(number)
        return 2 * number

    @tool
    def alarm(number: int) -> int:
        """Alarms everybody."""
        done.append(number)
        return number

    @tool
    def broken(number: int) -> int:
        """Is broken."""
        done.append(number)
        raise ValueError("broken")

    return {"double": double, "alarm": alarm, "broken": broken}


def answers(agent: Any, awaited: bool) -> list[Any]:
    """The messages of an agent that was asked once."""
    asked = {"messages": [{"role": "user", "content": "Do it with 4."}]}
    state = asyncio.run(agent.ainvoke(asked)) if awaited else agent.invoke(asked)
    messages: list[Any] = state["messages"]
    return messages


def chat(model: ModelServer) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="m-1", base_url=model.url, api_key="none", max_retries=0)


def client_of(url: str, awaited: bool) -> Any:
    return AsyncRunseal(url) if awaited else Runseal(url)


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
@pytest.mark.parametrize("name", ["double", "alarm", "broken"])
def test_the_middleware_enforces(service: Service, model: ModelServer, name: str, awaited: bool) -> None:
    from langchain.agents import create_agent

    from runseal_client.langchain_middleware import RunsealMiddleware

    done: list[int] = []
    records = Records(service)
    middleware = RunsealMiddleware(client_of(service.url, awaited), agent="claims")
    agent = create_agent(chat(model), tools=[tools_of(done)[name]], middleware=[middleware])
    if name == "broken":
        with pytest.raises(ValueError, match="broken"):
            answers(agent, awaited)
        assert (done, records()) == ([4], [("agents/langchain/broken", "failed")])
        return
    _, _, told, last = answers(agent, awaited)
    assert last.content == "Done."
    if name == "double":
        assert (done, told.content, told.status) == ([4], "8", "success")
        assert records() == [("agents/langchain/double", "completed")]
    else:
        assert (done, told.status) == ([], "error")
        assert "denied" in told.content
        assert records() == [("agents/langchain/alarm", "pepg_deny")]


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_an_act_whose_close_has_no_answer_is_not_made_once_more(
    service: Service, model: ModelServer, awaited: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain.agents import create_agent

    from runseal_client.langchain_middleware import RunsealMiddleware

    monkeypatch.setenv("RUNSEAL_SPOOL_DIR", str(tmp_path))
    done: list[int] = []
    with gate(service.url) as before:
        before.answers["/close"] = said("unavailable", 503)
        middleware = RunsealMiddleware(client_of(before.url, awaited))
        agent = create_agent(chat(model), tools=[tools_of(done)["double"]], middleware=[middleware])
        _, _, told, _ = answers(agent, awaited)
    assert (done, told.status) == ([4], "error")
    assert "do not make it once more" in told.content


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_without_a_service_no_tool_is_called(model: ModelServer, awaited: bool) -> None:
    from langchain.agents import create_agent

    from runseal_client.langchain_middleware import RunsealMiddleware

    done: list[int] = []
    with gate() as away:
        middleware = RunsealMiddleware(client_of(away.url, awaited))
        agent = create_agent(chat(model), tools=[tools_of(done)["double"]], middleware=[middleware])
        with pytest.raises(RunsealError):
            answers(agent, awaited)
    assert done == []


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_sealed_tools_of_langchain(service: Service, model: ModelServer, awaited: bool) -> None:
    from langchain.agents import create_agent

    done: list[int] = []
    records = Records(service)
    plain = tools_of(done)

    def sealed(name: str) -> Any:
        # A client of its own for each loop.
        (tool,) = seal_tools(client_of(service.url, awaited), [plain[name]], agent="claims")
        assert tool.name == name
        return tool

    assert answers(create_agent(chat(model), tools=[sealed("double")]), awaited)[2].content == "8"

    def called(tool: Any) -> Any:
        given = {"number": 4}
        return asyncio.run(tool.ainvoke(given)) if awaited else tool.invoke(given)

    with pytest.raises(ActRefused):
        called(sealed("alarm"))
    with pytest.raises(ValueError, match="broken"):
        called(sealed("broken"))
    assert done == [4, 4]
    assert records() == [
        ("agents/langchain/double", "completed"),
        ("agents/langchain/alarm", "pepg_deny"),
        ("agents/langchain/broken", "failed"),
    ]
    # The tools that were given are as they were.
    assert called(plain["alarm"]) == 4


def test_a_tool_whose_loop_is_thrown_away_leaves_the_close_in_the_spool(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runseal_client.langchain_tools import ToolCalls

    monkeypatch.setenv("RUNSEAL_SPOOL_DIR", str(tmp_path / "spool"))
    records, acting = Records(service), asyncio.Event()

    async def slow() -> None:
        acting.set()
        await asyncio.sleep(60)

    loop = asyncio.new_event_loop()
    calls = ToolCalls(AsyncRunseal(service.url), "claims", "enforce", "closed")
    task = loop.create_task(calls.later("slow", {}, slow))
    loop.run_until_complete(acting.wait())
    loop.close()
    coroutine: Any = task.get_coro()
    coroutine.close()
    end = time.monotonic() + 30
    while not records() and time.monotonic() < end:
        time.sleep(0.2)
    assert records() == [("agents/langchain/slow", "failed")]


def test_arguments_that_a_graph_adds_are_not_sealed(service: Service) -> None:
    from runseal_client.sealing import Called, opening_of

    double, *_ = seal_tools(Runseal(service.url), [tools_of([])["double"]])
    assert double.invoke({"number": 4, "state": "everything"}) == 8
    run = service.get("/runs?limit=1")["runs"][0]
    sections = service.get(f"/runs/{run['id']}/artifacts")["sections"]
    asked = opening_of(Called("agents/langchain", "python", tool="double"), {"number": 4})["payload"]
    assert sections["payload"]["payload_bytes"] == len(asked.encode())


def test_sealed_functions(service: Service) -> None:
    done: list[int] = []

    def double(number: int) -> int:
        done.append(number)
        return 2 * number

    async def later(number: int) -> int:
        done.append(number)
        return 2 * number

    def alarm() -> None:
        done.append(0)

    records = Records(service)
    both: list[Any] = [double, alarm]
    sealed_double, sealed_alarm = seal_tools(Runseal(service.url), both)
    assert sealed_double(4) == 8
    with pytest.raises(ActRefused):
        sealed_alarm()

    async def act() -> int:
        async with AsyncRunseal(service.url) as client:
            (sealed_later,) = seal_tools(client, [later])
            return await sealed_later(5)

    assert asyncio.run(act()) == 10
    assert done == [4, 5]
    assert records() == [
        ("agents/python/double", "completed"),
        ("agents/python/alarm", "pepg_deny"),
        ("agents/python/later", "completed"),
    ]
    with pytest.raises(TypeError, match="wrap anything else"):
        seal_tools(Runseal(service.url), [{"name": "search"}])


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
def test_a_middleware_that_observes_stops_nothing(service: Service, model: ModelServer, awaited: bool) -> None:
    from langchain.agents import create_agent

    from runseal_client.background import observer_for
    from runseal_client.langchain_middleware import RunsealMiddleware

    done: list[int] = []
    records = Records(service)
    client = client_of(service.url, awaited)
    agent = create_agent(
        chat(model), tools=[tools_of(done)["alarm"]], middleware=[RunsealMiddleware(client, mode="observe")]
    )
    assert answers(agent, awaited)[2].content == "4"
    assert observer_for(client.given).flush(60)
    assert (done, records()) == ([4], [("agents/langchain/alarm", "pepg_deny")])


@pytest.mark.parametrize("awaited", [False, True], ids=["invoke", "ainvoke"])
@pytest.mark.parametrize("by", ["middleware", "seal_tools"])
def test_a_callback_beside_it_seals_models_and_no_tool_twice(
    service: Service, model: ModelServer, by: str, awaited: bool
) -> None:
    from langchain.agents import create_agent

    from runseal_client.langchain import RunsealCallback
    from runseal_client.langchain_middleware import RunsealMiddleware

    done: list[int] = []
    records = Records(service)
    client = client_of(service.url, awaited)
    tools = [tools_of(done)["double"]]
    agent = (
        create_agent(chat(model), tools=tools, middleware=[RunsealMiddleware(client)])
        if by == "middleware"
        else create_agent(chat(model), tools=seal_tools(client, tools))
    )
    callback = RunsealCallback(Runseal(service.url))
    asked = {"messages": [{"role": "user", "content": "Do it with 4."}]}
    config: Any = {"callbacks": [callback]}
    if awaited:
        asyncio.run(agent.ainvoke(asked, config))
    else:
        agent.invoke(asked, config)
    assert callback.flush(30)
    assert done == [4]
    assert sorted(route for route, _ in records()) == ["agents/langchain/double", *["agents/langchain/model/m-1"] * 2]
