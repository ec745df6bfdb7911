"""The spool: bounded, safe with several processes, and what it could not keep is counted."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from places import NODE
from service import running_service

from runseal_client import AsyncRunseal, spool
from runseal_client.spool import Spool

PROCESSES = 4
ACTS = 25


class Refusing(ThreadingHTTPServer):
    """A service that refuses every request in the same way."""

    daemon_threads = True

    def __init__(self, code: str, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Refusal)
        self.answer = (status, json.dumps({"ok": False, "error": "Refused.", "code": code}).encode())
        self.asked: list[str] = []


class _Refusal(BaseHTTPRequestHandler):
    def log_message(self, format: str, *values: object) -> None:
        """Prints nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        assert isinstance(server, Refusing)
        server.asked.append(self.path)
        status, body = server.answer
        self.send_response(status)
        # Longer than a client waits, so that it does not retry.
        self.send_header("Retry-After", "3600")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def refusing(code: str, status: int) -> Iterator[Refusing]:
    """Such a service, until the block ends."""
    with Refusing(code, status) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def drained(kept: Spool, server: Refusing) -> bool:
    """Whether the service could be asked for all that waits."""

    async def drain() -> bool:
        async with AsyncRunseal(f"http://127.0.0.1:{server.server_port}") as client:
            return await kept.drain(client)

    return asyncio.run(drain())


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
            assert not drained(Spool(str(tmp_path)), server)
        for each in filled:
            each.result()
        drained(Spool(str(tmp_path)), server)
    assert _not_kept(tmp_path) == PROCESSES * ACTS


@pytest.mark.parametrize(("code", "status"), [("outcome_unknown", 503), ("internal_error", 500), ("key_required", 401)])
def test_what_may_be_taken_later_stays(tmp_path: Path, code: str, status: int) -> None:
    kept = Spool(str(tmp_path))
    kept.put_close("pmt-1", {"outcome": "completed"})
    with refusing(code, status) as server:
        assert not drained(kept, server)
    assert len(list(tmp_path.glob("close-*.json"))) == 1


@pytest.mark.parametrize(("code", "status"), [("body_too_large", 413), ("invalid_body", 400), ("permit_not_open", 409)])
def test_what_is_refused_for_ever_holds_up_nothing(tmp_path: Path, code: str, status: int) -> None:
    kept = Spool(str(tmp_path))
    kept.put_close("pmt-1", {"outcome": "completed"})
    kept.put_close("pmt-2", {"outcome": "completed"})
    with refusing(code, status) as server:
        assert drained(kept, server)
        assert not list(tmp_path.glob("close-*.json"))
        # Both are in a gap, which is not dropped either.
        (gap,) = (json.loads(each.read_text()) for each in tmp_path.glob("gap-*.json"))
        assert [act["reason"] for act in gap["acts"]] == [f"close {code}"] * 2
        kept.put_unsealed("route", "payload", "no_answer")
        assert drained(kept, server)
    assert server.asked.count("/execute") == 3
    assert len(list(tmp_path.glob("gap-*.json"))) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b"\xff", b'{"permit_id": 1, "body": {}}', b"[" * 100_000])
def test_a_damaged_file_holds_up_nothing_and_is_counted(tmp_path: Path, damage: bytes) -> None:
    kept = Spool(str(tmp_path))
    for name in ("close-1.json", "act-1.json", "gap-1.json", "lost.count"):
        (tmp_path / name).write_bytes(damage)
    kept.put_close("pmt-1", {"outcome": "completed"})
    kept.put_unsealed("route", "payload", "no_answer")
    with refusing("permit_not_open", 409) as server:
        assert drained(kept, server)
        assert server.asked.count("/permits/pmt-1/close") == 1
        assert drained(kept, server)
    gaps = [json.loads(each.read_text()) for each in tmp_path.glob("gap-*.json")]
    assert sorted(act["route_id"] for gap in gaps for act in gap["acts"]) == ["close", "route"]
    assert sum(gap["not_kept"] for gap in gaps) == 4
    assert len(list(tmp_path.glob("*.damaged"))) == 3


@pytest.mark.skipif(not NODE.exists(), reason="needs the service: npm ci")
def test_the_largest_gap_is_a_run_that_the_service_takes(tmp_path: Path) -> None:
    kept = Spool(str(tmp_path / "spool"))
    for at in range(spool.MAX_GAP_ENTRIES):
        kept.put_unsealed("\U0001f600" * 512, f"payload {at}", "no_answer")
    with running_service(tmp_path) as service:

        async def send() -> bool:
            async with AsyncRunseal(service.url) as client:
                return await kept.drain(client)

        assert asyncio.run(send())
        assert kept.waiting() == 0
        assert service.count("/runs?limit=1") == 1
