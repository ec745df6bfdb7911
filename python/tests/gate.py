"""A server that stands before the service and answers some requests in its place."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from runseal_client import AsyncRunseal
from runseal_client.spool import Spool

SEALED = {"ok": True, "run_id": 1, "duration_ms": 1}
ENDED = {
    "permit_id": "pmt-1",
    "state": "ended",
    "audience": "a",
    "route_id": "a",
    "program_id": "a",
    "reserve_tokens": 0,
    "opened_at": "",
    "expires_at": "",
    "close_by": "",
    "redeem_required": False,
}


class Gate(ThreadingHTTPServer):
    """Stands before a service, and answers in its place the paths that `answers` has; without a service all of them."""

    daemon_threads = True
    # Those that never got an answer are left alone.
    block_on_close = False

    def __init__(self, url: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Gate)
        self.service = url
        # By a part of the path; the first one decides.
        self.answers: dict[str, tuple[int, str]] = {}
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []
        # Paths of which the service answers, and the answer is lost.
        self.lost: list[str] = []
        # How long each answer takes, unless it is let go before.
        self.seconds = 0.0
        self.let_go = threading.Event()
        self.retry_after = "3600"


class _Gate(BaseHTTPRequestHandler):
    def log_message(self, format: str, *values: object) -> None:
        """Prints nothing."""

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        server, body = self.server, self.rfile.read(int(self.headers.get("Content-Length", 0)))
        assert isinstance(server, Gate)
        server.asked.append(self.path)
        if server.seconds > 0:
            server.let_go.wait(server.seconds)
        found = [answer for part, answer in server.answers.items() if part in self.path]
        status, text = found[0] if found else self._passed(server, body)
        if any(part in self.path for part in server.lost):
            status, text = 500, ""
        self.send_response(status)
        if status != 200:
            # Longer than a client waits, so that it does not retry.
            self.send_header("Retry-After", server.retry_after)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def _passed(self, server: Gate, body: bytes) -> tuple[int, str]:
        if server.service is None:
            return 503, ""
        names = ("Content-Type", "Idempotency-Key", "X-Service-Key")
        headers = {name: self.headers[name] for name in names if name in self.headers}
        answer = httpx.request(self.command, f"{server.service}{self.path}", content=body, headers=headers, timeout=60)
        return answer.status_code, answer.text


def said(code: str, status: int) -> tuple[int, str]:
    """A refusal of the service."""
    return status, json.dumps({"ok": False, "error": "Refused.", "code": code})


@contextmanager
def gate(url: str | None = None) -> Iterator[Gate]:
    """A gate, until the block ends."""
    with Gate(url) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.let_go.set()
            server.shutdown()


@contextmanager
def refusing(code: str, status: int) -> Iterator[Gate]:
    """A service that refuses every request in the same way."""
    with gate() as server:
        server.answers["/"] = said(code, status)
        yield server


def drained(kept: Spool, url: str, key: str | None = None) -> bool:
    """What `drain` says with a client of this address."""

    async def drain() -> bool:
        async with AsyncRunseal(url, key) as client:
            return await kept.drain(client)

    return asyncio.run(drain())
