"""Doors that observe, in front of a service that answers late or never: their hosts do not wait for it."""

import asyncio
import importlib.util
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from gate import Gate, drained, gate
from model_server import ModelServer
from places import NODE
from service import Service
from ticker import ticking

from runseal_client import Runseal, breaker
from runseal_client.spool import Spool

NAMES = ("langchain_core", "langchain_openai", "agents")
pytestmark = pytest.mark.skipif(
    not NODE.exists() or any(importlib.util.find_spec(name) is None for name in NAMES),
    reason="needs the service (npm ci), langchain-openai and openai-agents",
)
LATE_SECONDS = 11.0
# Longer than any client waits.
NEVER_SECONDS = 600.0
# Of a host that does not wait; a busy machine needs some of it.
AT_ONCE_SECONDS = 3.0
ACTS = int(os.environ.get("RUNSEAL_TEST_ACTS", "20000"))
MEMORY_MIB = 64


@pytest.fixture
def slow(service: Service) -> Iterator[Gate]:
    with gate(service.url) as server:
        server.seconds = LATE_SECONDS
        yield server


def in_gaps(service: Service, door: str) -> int:
    """How many calls the sealed gaps of a door count."""
    found, at = 0, 0
    with Runseal(service.url) as client:
        while runs := client.runs(route_id=f"{door}/gap", limit=100, offset=at).runs:
            at += len(runs)
            bundles = [json.loads(client.bundle(run.id)) for run in runs]
            found += sum(each["sections"]["reproducibility_context"]["declared"]["gap"]["unsealed"] for each in bundles)
    return found


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_chain_does_not_wait_for_a_late_service(
    service: Service, slow: Gate, model: ModelServer, tmp_path: Path, asynchronous: bool
) -> None:
    from langchain_openai import ChatOpenAI

    from runseal_client.langchain import RunsealCallback

    callback = RunsealCallback(Runseal(slow.url), spool=Spool(str(tmp_path)))
    chat = ChatOpenAI(model="m-late", base_url=model.url, api_key="none")
    chat.invoke("hello")
    config: Any = {"callbacks": [callback]}
    before = service.count("/runs/search?route_id=agents/langchain/model/m-late")

    async def ask() -> float:
        async with ticking() as ticker:
            await chat.ainvoke("hello", config=config)
        return ticker.longest

    began = time.monotonic()
    if asynchronous:
        assert asyncio.run(ask()) < AT_ONCE_SECONDS
    else:
        chat.invoke("hello", config=config)
    assert time.monotonic() - began < AT_ONCE_SECONDS
    # Late is not never: both are sealed.
    assert callback.flush(60)
    assert callback.unsealed == 0, [each.read_text() for each in tmp_path.iterdir()]
    assert service.count("/runs/search?route_id=agents/langchain/model/m-late") == before + 1


@pytest.mark.parametrize("seconds", [LATE_SECONDS, NEVER_SECONDS], ids=["late", "never"])
def test_a_trace_does_not_hold_up_its_event_loop(
    service: Service, slow: Gate, model: ModelServer, tmp_path: Path, seconds: float
) -> None:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_trace_processors
    from openai import AsyncOpenAI

    from runseal_client.openai_agents import RunsealProcessor

    slow.seconds = seconds
    processor = RunsealProcessor(Runseal(slow.url), spool=Spool(str(tmp_path), door="traced"))
    set_trace_processors([processor])

    async def ask() -> float:
        openai = AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0)
        agent = Agent(name="a", model=OpenAIChatCompletionsModel("m-1", openai))
        async with ticking() as ticker:
            assert (await Runner.run(agent, "hello")).final_output == "Done."
        return ticker.longest

    began = time.monotonic()
    assert asyncio.run(ask()) < AT_ONCE_SECONDS
    assert time.monotonic() - began < AT_ONCE_SECONDS
    set_trace_processors([])
    processor.shutdown(1)
    # The act is in the spool, and the next process seals it as a gap.
    assert processor.unsealed == 1
    before = in_gaps(service, "traced")
    slow.seconds = 0
    assert drained(Spool(str(tmp_path)), slow.url)
    assert in_gaps(service, "traced") == before + 1


def test_many_acts_against_a_silent_service_take_no_memory_and_are_counted(
    service: Service, slow: Gate, tmp_path: Path
) -> None:
    """With RUNSEAL_TEST_ACTS=1000000 a million of them."""
    from langchain_core.outputs import Generation, LLMResult

    from runseal_client.langchain import RunsealCallback

    slow.seconds = NEVER_SECONDS
    callback = RunsealCallback(Runseal(slow.url), spool=Spool(str(tmp_path), door="many-acts"))
    answer = LLMResult(generations=[[Generation(text="x" * 500)]])
    before, early = in_gaps(service, "many-acts"), 0
    for at in range(ACTS):
        run_id = uuid4()
        callback.on_llm_start({}, ["y" * 2_000], run_id=run_id)
        callback.on_llm_end(answer, run_id=run_id)
        if at == 3_000:
            early = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - early) / 1024
    print(f"{ACTS} acts: {grown:.1f} MiB more")
    assert grown < MEMORY_MIB
    callback.shutdown(1)
    assert callback.unsealed == ACTS
    end = time.monotonic() + 120
    while not drained(Spool(str(tmp_path), door="many-acts"), service.url) and time.monotonic() < end:
        time.sleep(1)
    assert in_gaps(service, "many-acts") - before == ACTS


HOST = """
import sys
from langchain_core.tools import tool
from runseal_client.langchain import RunsealCallback

@tool
def double(number: int) -> int:
    "Doubles a number."
    return 2 * number

for number in range(5):
    double.invoke({"number": number}, config={"callbacks": [RunsealCallback()]})
"""


@pytest.mark.parametrize("seconds", [0.0, NEVER_SECONDS], ids=["there", "silent"])
def test_the_end_of_a_process_loses_no_call(service: Service, slow: Gate, tmp_path: Path, seconds: float) -> None:
    slow.seconds = seconds
    route = "agents/langchain/double"
    before, gaps = service.count(f"/runs/search?route_id={route}"), in_gaps(service, "langchain")
    began = time.monotonic()
    environment = {**os.environ, "RUNSEAL_URL": slow.url, "RUNSEAL_SPOOL_DIR": str(tmp_path)}
    source = str(Path(breaker.__file__).parent.parent)
    subprocess.run([sys.executable, "-c", HOST], env={**environment, "PYTHONPATH": source}, check=True, timeout=120)
    assert time.monotonic() - began < 30
    slow.seconds = 0
    assert drained(Spool(str(tmp_path)), service.url)
    sealed = service.count(f"/runs/search?route_id={route}") - before
    assert sealed == (5 if seconds == 0 else 0)
    assert in_gaps(service, "langchain") - gaps == 5 - sealed


def test_the_children_of_a_fork_seal_their_own_calls(service: Service, tmp_path: Path) -> None:
    from runseal_client.langchain import RunsealCallback

    callback = RunsealCallback(Runseal(service.url), spool=Spool(str(tmp_path)))
    route = "/runs/search?route_id=agents/langchain/forked"
    before = service.count(route)

    def call() -> None:
        run_id = uuid4()
        callback.on_tool_start({"name": "forked"}, "1", run_id=run_id)
        callback.on_tool_end("2", run_id=run_id)

    call()
    # What multiprocessing starts ends without the exit of Python.
    process = multiprocessing.get_context("fork").Process(target=call)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            call()
            code = 0 if callback.flush(30) else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert callback.flush(30)
    assert service.count(route) == before + 3
