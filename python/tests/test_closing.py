"""A permit is closed whatever ends its act: cancels, a second cancel, signals, a closing loop, a service that does not answer."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from gate import Gate, gate, said
from places import NODE
from service import UNLIMITED, Service, running_service

from runseal_client import AsyncRunseal, CloseUnconfirmed, Runseal, RunsealError, breaker, sealed
from runseal_client.api.requests import OpenPermitRequest
from runseal_client.spool import Spool

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the service is not installed: npm ci")
HASH = "ab" * 32
OPENING: OpenPermitRequest = {
    "program_id": HASH,
    "route_id": "tests/closing",
    "registry_record_hash": HASH,
    "payload": "p",
    "audience": "a",
    "reserve_tokens": 0,
}
# Of each answer of the gate: longer than what cancels the act.
SLOW_SECONDS = 0.4


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("service"), *UNLIMITED) as running:
        yield running


@pytest.fixture
def slow(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    monkeypatch.setenv("RUNSEAL_SPOOL_DIR", str(tmp_path / "spool"))
    with gate(service.url) as server:
        server.seconds = SLOW_SECONDS
        yield server


class Done:
    """What acts did."""

    def __init__(self) -> None:
        self.permits: list[str] = []
        self.acting = asyncio.Event()
        self.ends = False

    async def act(self, client: AsyncRunseal) -> None:
        """An act that is done, and then goes on for long, unless it `ends`."""
        async with client.permit(OPENING) as act:
            self.permits.append(act.permit_id or "")
            act.completed("done")
            self.acting.set()
            if not self.ends:
                await asyncio.sleep(60)


def ended_as(service: Service, permit_id: str, seconds: float = 30) -> tuple[str, str]:
    """Outcome and code of a close, once there is one."""
    with Runseal(service.url) as client:
        end = time.monotonic() + seconds
        while client.get_permit(permit_id).state == "open" and time.monotonic() < end:
            time.sleep(0.2)
        run_id = client.get_permit(permit_id).run_id
        if run_id is None:
            return ("open", "")
        text = client.bundle(run_id).decode()
        code = "TIMED_OUT" if "TIMED_OUT" in text else "EXECUTOR_FAILED" if "EXECUTOR_FAILED" in text else ""
        return client.run(run_id).closing_outcome or "", code


async def nested_scopes(client: AsyncRunseal, done: Done) -> None:
    with anyio.CancelScope() as outer:
        with anyio.CancelScope() as inner:
            async with anyio.create_task_group() as group:
                group.start_soon(done.act, client)
                await done.acting.wait()
                inner.cancel()
                # While the close is under way.
                asyncio.get_running_loop().call_later(SLOW_SECONDS / 4, outer.cancel)


async def cancelled_scope(client: AsyncRunseal, done: Done) -> None:
    with anyio.CancelScope() as outer, anyio.CancelScope():
        async with anyio.create_task_group() as group:
            group.start_soon(done.act, client)
            await done.acting.wait()
            outer.cancel()


async def second_cancel(client: AsyncRunseal, done: Done) -> None:
    task = asyncio.create_task(done.act(client))
    await done.acting.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(SLOW_SECONDS / 4)
    with pytest.raises(asyncio.CancelledError):
        await task


async def timeout(client: AsyncRunseal, done: Done) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as bound:
            late = asyncio.create_task(done.acting.wait())
            late.add_done_callback(lambda _: bound.reschedule(asyncio.get_running_loop().time()))
            await done.act(client)


async def closing_loop(client: AsyncRunseal, done: Done) -> None:
    _TASKS.append(asyncio.create_task(done.act(client)))
    await done.acting.wait()


async def closing_loop_while_it_closes(client: AsyncRunseal, done: Done) -> None:
    _TASKS.append(asyncio.create_task(done.act(client)))
    await done.acting.wait()
    _TASKS[-1].cancel()
    await asyncio.sleep(SLOW_SECONDS / 4)


_TASKS: list[asyncio.Task[None]] = []
Stop = Callable[[AsyncRunseal, Done], Coroutine[Any, Any, None]]


@pytest.mark.parametrize(
    "stop", [nested_scopes, cancelled_scope, second_cancel, timeout, closing_loop, closing_loop_while_it_closes]
)
def test_an_act_that_is_stopped_is_closed_as_timed_out(service: Service, slow: Gate, stop: Stop) -> None:
    async def run() -> Done:
        done = Done()
        await stop(AsyncRunseal(slow.url), done)
        return done

    done = asyncio.run(run())
    assert [ended_as(service, permit, 0) for permit in done.permits] == [("failed", "TIMED_OUT")]


def test_a_cancel_while_a_good_act_closes_is_raised_after_it(service: Service, slow: Gate) -> None:
    async def run() -> Done:
        done = Done()
        done.ends = True
        task = asyncio.create_task(done.act(AsyncRunseal(slow.url)))
        await done.acting.wait()
        for _ in range(2):
            await asyncio.sleep(SLOW_SECONDS / 4)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return done

    (permit_id,) = asyncio.run(run()).permits
    assert ended_as(service, permit_id, 0) == ("completed", "")


def test_a_loop_that_is_thrown_away_leaves_the_close_in_the_spool(service: Service, slow: Gate) -> None:
    loop = asyncio.new_event_loop()
    done = Done()
    task = loop.create_task(done.act(AsyncRunseal(slow.url)))
    loop.run_until_complete(done.acting.wait())
    loop.close()
    coroutine: Any = task.get_coro()
    coroutine.close()
    assert ended_as(service, done.permits[0]) == ("failed", "TIMED_OUT")


@asynccontextmanager
async def lost(slow: Gate) -> AsyncIterator[AsyncRunseal]:
    """A service of which no close is answered."""
    slow.seconds, slow.retry_after = 0, "1"
    slow.answers["/close"] = said("unavailable", 503)
    async with AsyncRunseal(slow.url) as client:
        yield client


def test_an_act_that_was_made_and_not_confirmed_has_an_error_of_its_own(service: Service, slow: Gate) -> None:
    made: list[int] = []

    async def run() -> CloseUnconfirmed:
        async with lost(slow) as client:

            @sealed(client, "tests/closing")
            async def pay(amount: int) -> str:
                made.append(amount)
                return f"paid {amount}"

            with pytest.raises(CloseUnconfirmed) as caught:
                await pay(12)
            return caught.value

    error = asyncio.run(run())
    assert not isinstance(error, RunsealError)
    assert (error.result, error.reason, error.code) == ("paid 12", "unavailable", "close_unconfirmed")
    assert (error.stored, made) == (True, [12])
    slow.answers.clear()
    assert ended_as(service, error.permit_id) == ("completed", "")

    slow.answers["/close"] = said("unavailable", 503)
    with Runseal(slow.url) as client, pytest.raises(CloseUnconfirmed) as caught, client.permit(OPENING) as act:
        act.completed("sent")
    assert caught.value.result == "sent"
    with Runseal(slow.url) as client, pytest.raises(ZeroDivisionError) as failed, client.permit(OPENING) as act:
        raise ZeroDivisionError
    assert failed.value.__notes__ == [
        f"The permit {act.permit_id} could not be closed: unavailable. It is stored, and closed later."
    ]
    slow.answers.clear()
    assert ended_as(service, caught.value.permit_id) == ("completed", "")
    assert ended_as(service, act.permit_id or "") == ("failed", "EXECUTOR_FAILED")
    assert Spool().waiting() == 0


class ReadTimeoutError(Exception):
    """A timeout as libraries have it."""


@pytest.mark.parametrize("error", [TimeoutError, KeyboardInterrupt, SystemExit, ReadTimeoutError])
def test_what_nobody_knows_the_end_of_is_timed_out(service: Service, error: type[BaseException]) -> None:
    with Runseal(service.url) as client, pytest.raises(error), client.permit(OPENING) as act:
        raise error
    assert ended_as(service, act.permit_id or "", 0) == ("failed", "TIMED_OUT")


SYNC = """
import time
from runseal_client import Runseal, close_on_sigterm
close_on_sigterm()
with Runseal() as client, client.permit(OPENING) as act:
    act.completed("done")
    print(act.permit_id, flush=True)
    time.sleep(60)
"""
ASYNC = """
import asyncio
from runseal_client import AsyncRunseal, close_on_sigterm
close_on_sigterm()
async def act(client):
    async with client.permit(OPENING) as act:
        act.completed("done")
        print(act.permit_id, flush=True)
        await asyncio.sleep(60)
async def main():
    async with AsyncRunseal() as client:
        async with asyncio.TaskGroup() as group:
            group.create_task(act(client))
            group.create_task(act(client))
asyncio.run(main())
"""


@pytest.mark.parametrize(("host", "acts"), [(SYNC, 1), (ASYNC, 2)], ids=["sync", "async"])
def test_sigterm_closes_what_is_open(service: Service, slow: Gate, host: str, acts: int) -> None:
    source = f"OPENING = {OPENING!r}\n{host}"
    path = str(Path(breaker.__file__).parent.parent)
    environment = {**os.environ, "RUNSEAL_URL": slow.url, "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, "-c", source], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    permits = [process.stdout.readline().strip() for _ in range(acts)]
    process.send_signal(signal.SIGTERM)
    time.sleep(SLOW_SECONDS / 4)
    # A second one stops no close.
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 128 + signal.SIGTERM
    process.stdout.close()
    assert [ended_as(service, permit, 0) for permit in permits] == [("failed", "TIMED_OUT")] * acts
