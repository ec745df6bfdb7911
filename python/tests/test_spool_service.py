"""The spool against a real service: nothing is lost, and nothing is sealed twice."""

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gate import drained, gate, said
from places import NODE
from service import UNLIMITED, Service, running_service

from runseal_client import Runseal, spool
from runseal_client.api.requests import OpenPermitRequest
from runseal_client.spool import Spool

PROCESSES = 4
HASH = "ab" * 32
OPENING: OpenPermitRequest = {
    "program_id": HASH,
    "route_id": "tests/spool",
    "registry_record_hash": HASH,
    "payload": "p",
    "audience": "a",
    "reserve_tokens": 0,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    with running_service(folder, *UNLIMITED) as running:
        yield running


needs_service = pytest.mark.skipif(not NODE.exists(), reason="needs the service: npm ci")


def _gap_of(client: Runseal, run_id: int) -> dict[str, Any]:
    sections = json.loads(client.bundle(run_id))["sections"]
    gap: dict[str, Any] = sections["reproducibility_context"]["declared"]["gap"]
    return gap


@needs_service
@pytest.mark.parametrize(
    "answer", [said("internal_error", 500), said("not_found", 404), (502, "<html>"), (403, "<html>"), (500, "")]
)
def test_a_close_that_is_never_taken_holds_up_nothing(
    service: Service, tmp_path: Path, answer: tuple[int, str], caplog: pytest.LogCaptureFixture
) -> None:
    kept = Spool(str(tmp_path))
    with Runseal(service.url) as client, gate(service.url) as server:
        first, second = (client.open_permit(OPENING).permit_id for _ in range(2))
        server.answers[first] = answer
        for permit_id in (first, second):
            kept.put_close(permit_id, {"outcome": "completed"})
        kept.put_unsealed("route", "payload", "no_answer")
        # Also in a new process each time.
        passes = [drained(Spool(str(tmp_path)), server.url) for _ in range(2)]
        assert passes == [False, False]
        assert client.get_permit(second).state == "closed"
        assert client.runs(limit=1, route_id="python/gap").runs
        assert [json.loads(each.read_text())["permit_id"] for each in tmp_path.glob("*.json")] == [first]
        assert "a file of the spool was not sent" in caplog.text
        server.answers.clear()
        assert drained(kept, server.url)
        assert client.get_permit(first).state == "closed"


@needs_service
def test_a_close_that_was_sealed_before_is_no_gap(service: Service, tmp_path: Path) -> None:
    kept = Spool(str(tmp_path))
    with Runseal(service.url) as client:
        permit_id = client.open_permit(OPENING).permit_id
        # As after the day for which the service knows idempotency keys.
        client.close_permit(permit_id, {"outcome": "completed"}, "another key")
        before = client.runs().total
        kept.put_close(permit_id, {"outcome": "completed"})
        assert drained(kept, service.url)
        assert client.runs().total == before


@needs_service
def test_a_gap_is_one_run_whichever_door_sends_it(service: Service, tmp_path: Path) -> None:
    first, second = Spool(str(tmp_path), door="first"), Spool(str(tmp_path), door="second")
    first.put_unsealed("route", "payload", "no_answer")
    with Runseal(service.url) as client, gate(service.url) as server:
        server.lost.append("/execute")
        assert not drained(first, server.url)
        assert drained(second, service.url)
        second.put_unsealed("route", "payload", "no_answer")
        assert drained(first, service.url)
        runs = {door: client.runs(route_id=f"{door}/gap").runs for door in ("first", "second")}
        assert [len(each) for each in runs.values()] == [1, 1]
        gap = _gap_of(client, runs["first"][0].id)
        assert (gap["unsealed"], gap["not_kept"]) == (1, 0)


@needs_service
def test_one_pass_sends_all_acts(service: Service, tmp_path: Path) -> None:
    kept = Spool(str(tmp_path), door="many")
    for at in range(2 * spool.MAX_GAP_ENTRIES + 1):
        kept.put_unsealed("route", f"payload {at}", "no_answer")
    assert drained(kept, service.url)
    with Runseal(service.url) as client:
        gaps = [_gap_of(client, run.id)["unsealed"] for run in client.runs(route_id="many/gap").runs]
    assert sorted(gaps) == [1, spool.MAX_GAP_ENTRIES, spool.MAX_GAP_ENTRIES]


@needs_service
def test_a_close_of_another_key_waits_for_it(tmp_path: Path) -> None:
    kept = Spool(str(tmp_path / "spool"))
    with running_service(tmp_path) as service, Runseal(service.url) as client:
        admin = Runseal(service.url, client.make_key("ops", scope="admin", confirm_admin_scope=True).secret)
        own, other = (admin.make_key(name).secret for name in ("own", "other"))
        with Runseal(service.url, own) as opener:
            permit_id = opener.open_permit(OPENING).permit_id
            kept.put_close(permit_id, {"outcome": "completed"})
            assert not drained(kept, service.url, other)
            assert drained(kept, service.url, own)
            assert opener.get_permit(permit_id).state == "closed"


def _share(folder: str, url: str, permits: list[str]) -> None:
    kept = Spool(folder, door="shared")
    for permit_id in permits:
        kept.put_close(permit_id, {"outcome": "completed"})
        kept.put_unsealed("route", permit_id, "no_answer")
        drained(kept, url)


@needs_service
def test_processes_that_share_a_folder_seal_each_file_once(service: Service, tmp_path: Path) -> None:
    with Runseal(service.url) as client, ProcessPoolExecutor(PROCESSES) as pool:
        permits = [client.open_permit(OPENING).permit_id for _ in range(4 * PROCESSES)]
        shared = [pool.submit(_share, str(tmp_path), service.url, permits[at::PROCESSES]) for at in range(PROCESSES)]
        for each in shared:
            each.result()
        assert drained(Spool(str(tmp_path)), service.url)
        assert {client.get_permit(permit_id).state for permit_id in permits} == {"closed"}
        gaps = [_gap_of(client, run.id) for run in client.runs(limit=100, route_id="shared/gap").runs]
    assert sum(gap["unsealed"] for gap in gaps) == len(permits)
    assert len({gap["id"] for gap in gaps}) == len(gaps)


@needs_service
def test_the_largest_gap_is_a_run_that_the_service_takes(service: Service, tmp_path: Path) -> None:
    kept = Spool(str(tmp_path), door="large")
    for at in range(spool.MAX_GAP_ENTRIES):
        kept.put_unsealed("\U0001f600" * 512, f"payload {at}", "no_answer")
    assert drained(kept, service.url)
    assert service.count("/runs/search?route_id=large/gap") == 1


@needs_service
def test_each_door_counts_what_it_lost(service: Service, tmp_path: Path) -> None:
    for door, number in (("lost one", 3), ("lost-two", 4), ("lost-two", 1)):
        Spool(str(tmp_path), door=door).put_lost(number)
    assert drained(Spool(str(tmp_path), door="third"), service.url)
    found = {}
    for run in service.get("/runs?limit=100")["runs"]:
        bundle = service.get(f"/runs/{run['id']}/artifacts")
        gap = bundle["sections"]["reproducibility_context"].get("declared", {}).get("gap")
        if gap is not None:
            found[run["route_id"]] = gap["not_kept"]
    assert {door: found.get(f"{door}/gap") for door in ("lost one", "lost-two", "third")} == {
        "lost one": 3,
        "lost-two": 5,
        "third": None,
    }
