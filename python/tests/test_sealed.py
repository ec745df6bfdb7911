"""`sealed` while the service is away: how long its calls wait, and what is counted."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gate import Gate, gate
from ticker import ticking

from runseal_client import AsyncRunseal, CloseUnconfirmed, Runseal, RunsealError, sealed
from runseal_client.background import observer_for

WAIT = 0.4
# Of a call that waits for nothing; a busy machine needs some of it.
AT_ONCE_SECONDS = 0.3


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    monkeypatch.setenv("RUNSEAL_SPOOL_DIR", str(tmp_path))
    monkeypatch.setenv("RUNSEAL_TIMEOUT", str(WAIT))
    with gate() as server:
        server.seconds = 600
        yield server


def stored(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(each.read_text()) for each in folder.glob(f"{kind}-*.json")]


def counted(folder: Path) -> int:
    return len(stored(folder, "act")) + sum(len(gap["acts"]) for gap in stored(folder, "gap"))


def test_fail_closed_makes_no_call_and_waits_no_longer_than_a_decision(silent: Gate, tmp_path: Path) -> None:
    made: list[int] = []
    with Runseal(silent.url) as client:
        act = sealed(client, "a/b")(made.append)
        for at in range(5):
            began = time.monotonic()
            with pytest.raises(RunsealError):
                act(at)
            assert time.monotonic() - began < WAIT + 1
    # The breaker refuses nothing by itself.
    assert (made, silent.asked.count("/permits"), counted(tmp_path)) == ([], 5, 0)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_fail_open_makes_each_call_and_counts_it(silent: Gate, tmp_path: Path, asynchronous: bool) -> None:
    def double(number: int) -> int:
        return 2 * number

    async def double_later(number: int) -> int:
        return 2 * number

    async def all_later() -> list[int]:
        async with AsyncRunseal(silent.url) as client:
            act = sealed(client, "a/b", fail="open")(double_later)
            return [await act(at) for at in range(20)]

    began = time.monotonic()
    if asynchronous:
        made = asyncio.run(all_later())
    else:
        with Runseal(silent.url) as client:
            made = [sealed(client, "a/b", fail="open")(double)(at) for at in range(20)]
    assert made == [2 * at for at in range(20)]
    # Three wait, and then one each five seconds.
    assert time.monotonic() - began < 3 * WAIT + 2
    assert silent.asked.count("/permits") <= 4
    assert counted(tmp_path) == 20


def test_a_call_that_the_service_does_not_take_is_no_outage(silent: Gate, tmp_path: Path) -> None:
    silent.seconds = 0
    silent.answers["/permits"] = (413, json.dumps({"ok": False, "error": "Too large.", "code": "payload_too_large"}))
    made: list[int] = []
    with Runseal(silent.url) as client, pytest.raises(RunsealError):
        sealed(client, "a/b", fail="open")(made.append)(1)
    assert (made, counted(tmp_path)) == ([], 0)


@pytest.mark.parametrize("fail", ["open", "closed"])
def test_a_close_without_an_answer_is_stored(silent: Gate, tmp_path: Path, fail: Any) -> None:
    silent.seconds = 0
    opened = {"permit_id": "pmt-1", "permit": "a.b.c", "opening": {}, "expires_at": "", "close_by": ""}
    silent.answers["/close"] = (503, json.dumps({"ok": False, "error": "Away.", "code": "unavailable"}))
    silent.answers["/permits"] = (201, json.dumps({"ok": True, **opened}))
    with Runseal(silent.url) as client:
        act = sealed(client, "a/b", fail=fail)(abs)
        if fail == "open":
            assert act(-2) == 2
        else:
            with pytest.raises(CloseUnconfirmed) as caught:
                act(-2)
            assert caught.value.result == 2
    assert [each["permit_id"] for each in stored(tmp_path, "close")] == ["pmt-1"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_observed_call_waits_for_nothing(silent: Gate, tmp_path: Path, asynchronous: bool) -> None:
    async def later(number: int) -> int:
        return 2 * number

    async def all_later() -> float:
        async with AsyncRunseal(silent.url) as client:
            act = sealed(client, "a/b", mode="observe")(later)
            async with ticking() as ticker:
                assert [await act(at) for at in range(20)] == [2 * at for at in range(20)]
                await asyncio.sleep(0.1)
            return ticker.longest

    began = time.monotonic()
    if asynchronous:
        assert asyncio.run(all_later()) < AT_ONCE_SECONDS
    else:
        with Runseal(silent.url) as client:
            act = sealed(client, "a/b", mode="observe")(abs)
            assert [act(-at) for at in range(20)] == list(range(20))
    assert time.monotonic() - began < AT_ONCE_SECONDS + 1
    observer_for((silent.url, None)).shutdown(0.1)
    assert counted(tmp_path) == 20
