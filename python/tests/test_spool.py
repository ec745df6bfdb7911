"""The spool: bounded, safe with several processes, and what it could not keep is counted."""

import json
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from gate import ENDED, SEALED, drained, gate, refusing, said

from runseal_client import spool
from runseal_client.spool import Spool

PROCESSES = 4
ACTS = 25


def _fill(folder: str) -> None:
    spool.MAX_FILES = 0
    kept = Spool(folder)
    for at in range(ACTS):
        kept.put_unsealed("route", f"payload {at}", "no_answer")


def _not_kept(folder: Path) -> int:
    return sum(json.loads(each.read_text())["not_kept"] for each in folder.glob("gap-*.json"))


def test_every_act_that_was_not_kept_is_counted(tmp_path: Path) -> None:
    with ProcessPoolExecutor(PROCESSES) as pool, refusing("unavailable", 503) as server:
        filled = [pool.submit(_fill, str(tmp_path)) for _ in range(PROCESSES)]
        while not all(each.done() for each in filled):
            assert not drained(Spool(str(tmp_path)), server.url)
        for each in filled:
            each.result()
        drained(Spool(str(tmp_path)), server.url)
    assert _not_kept(tmp_path) == PROCESSES * ACTS


@pytest.mark.parametrize(("code", "status"), [("outcome_unknown", 503), ("internal_error", 500), ("key_required", 401)])
def test_what_may_be_taken_later_stays(tmp_path: Path, code: str, status: int) -> None:
    kept = Spool(str(tmp_path))
    kept.put_close("pmt-1", {"outcome": "completed"})
    with refusing(code, status) as server:
        assert not drained(kept, server.url)
    assert len(list(tmp_path.glob("close-*.json"))) == 1


@pytest.mark.parametrize(("code", "status"), [("body_too_large", 413), ("invalid_body", 400), ("permit_not_open", 409)])
def test_what_is_refused_for_ever_is_part_of_a_gap(tmp_path: Path, code: str, status: int) -> None:
    kept = Spool(str(tmp_path))
    kept.put_close("pmt-1", {"outcome": "completed"})
    kept.put_close("pmt-2", {"outcome": "completed"})
    with gate() as server:
        server.answers = {"/close": said(code, status), "/permits": (200, json.dumps(ENDED)), "/": said(code, status)}
        # The service refuses the gap too: that stays.
        assert not drained(kept, server.url)
        assert not list(tmp_path.glob("close-*.json"))
        (gap,) = (json.loads(each.read_text()) for each in tmp_path.glob("gap-*.json"))
        assert [act["reason"] for act in gap["acts"]] == [f"close {code}"] * 2
        kept.put_unsealed("route", "payload", "no_answer")
        assert not drained(kept, server.url)
        assert not drained(kept, server.url)
    # One request in each pass, and each gap has its turn.
    assert server.asked.count("/execute") == 3
    assert len(list(tmp_path.glob("gap-*.json"))) == 2


DAMAGE = [b"", b"{", b"[]", b"{}", b"\xff", b'{"permit_id": 1, "body": {}}', b"[" * 100_000]
# No request can carry these.
DAMAGE += [b'{"permit_id": "pmt-0", "body": {"a": NaN}}', b'{"permit_id": "pmt-0", "body": {"a": "\\ud800"}}']
DAMAGE += [
    b'{"door": "a", "files": [1], "acts": [], "not_kept": 0}',
    b'{"door": "a", "files": [], "acts": [1], "not_kept": 0}',
]
DAMAGE += [b'{"door": "a", "files": ["../act-1.json"], "acts": [], "not_kept": 0}']


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_holds_up_nothing_and_is_counted(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Spool(str(tmp_path))
    # The name of a gap says how many are in it.
    for name in ("close-1.json", "act-1.json", f"gap-{'a' * 32}-7.json", "lost.python.count"):
        (tmp_path / name).write_bytes(damage)
    kept.put_close("pmt-1", {"outcome": "completed"})
    kept.put_unsealed("route", "payload", "no_answer")
    with gate() as server:
        server.answers = {
            "/close": said("permit_not_open", 409),
            "/permits": (200, json.dumps(ENDED)),
            "/execute": said("unavailable", 503),
        }
        for _ in range(3):
            assert not drained(kept, server.url)
        assert server.asked.count("/permits/pmt-1/close") == 1
    gaps = [json.loads(each.read_text()) for each in tmp_path.glob("gap-*.json")]
    assert sorted(act["route_id"] for gap in gaps for act in gap["acts"]) == ["close", "route"]
    assert sum(gap["not_kept"] for gap in gaps) == 10
    assert len(list(tmp_path.glob("*.damaged"))) == 3
    assert sum("is damaged" in each.getMessage() for each in caplog.records) == 4


def test_a_file_that_cannot_be_read_now_is_not_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = Spool(str(tmp_path))
    (tmp_path / "close-1.json").mkdir()
    kept.put_close("pmt-1", {"outcome": "completed"})
    with gate() as server:
        server.answers = {"/close": (200, json.dumps(SEALED))}
        assert not drained(kept, server.url)
    assert kept.waiting() == 1
    assert "close-1.json of the spool cannot be read" in caplog.text


def test_a_full_folder_counts_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(spool, "MAX_FILES", 1)
    kept = Spool(str(tmp_path))
    kept.put_unsealed("route", "payload", "no_answer")
    kept.put_close("pmt-1", {"outcome": "completed"})
    assert f"the spool {tmp_path} takes no more (it holds 1 files): one close is lost and counted" in caplog.text
    assert json.loads((tmp_path / "lost.python.count").read_text())["count"] == 1


def _full_disk(folder: str) -> int:
    kept = Spool(folder)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    kept.put_unsealed("route", "payload", "no_answer")
    kept.put_close("pmt-1", {"outcome": "completed"})
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    files = len(list(Path(folder).glob("*.tmp"))) + kept.waiting()
    with refusing("unavailable", 503) as server:
        drained(kept, server.url)
    return files


def test_a_full_disk_ends_no_call_and_is_counted_once_there_is_room(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(_full_disk, str(tmp_path)).result() == 0
    assert _not_kept(tmp_path) == 2


def test_files_of_a_clock_that_was_wrong_hold_up_nothing(tmp_path: Path) -> None:
    kept = Spool(str(tmp_path))
    with gate() as server:
        server.answers = {"/pmt-0/": said("internal_error", 500), "/close": (200, json.dumps(SEALED))}
        for year in (0, 1, 100):
            file = tmp_path / f"close-{year}.json"
            file.write_text(json.dumps({"permit_id": "pmt-0", "body": {}}))
            os.utime(file, (year * 31_536_000, year * 31_536_000))
        kept.put_close("pmt-1", {"outcome": "completed"})
        for _ in range(4):
            assert not drained(kept, server.url)
        assert "/permits/pmt-1/close" in server.asked
        # Each of them has had its turn, too.
        assert len(server.asked) == 5
    assert kept.waiting() == 3


def test_a_file_that_never_failed_is_sent_before_all_that_did(tmp_path: Path) -> None:
    kept = Spool(str(tmp_path))
    with gate() as server:
        server.answers = {"/pmt-0/": said("internal_error", 500), "/close": (200, json.dumps(SEALED))}
        for _ in range(5):
            kept.put_close("pmt-0", {"outcome": "completed"})
        for _ in range(7):
            assert not drained(kept, server.url)
        # A day later.
        file, date = tmp_path / "close-1.json", time.time() + 86_400
        file.write_text(json.dumps({"permit_id": "pmt-1", "body": {}}))
        os.utime(file, (date, date))
        assert not drained(kept, server.url)
        assert server.asked[-2:] == ["/permits/pmt-1/close", "/permits/pmt-0/close"]
