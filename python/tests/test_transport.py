"""What a request carries, and what an error says, against a server that answers as it is told."""

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from runseal_client import AsyncRunseal, Runseal, RunsealError
from runseal_client.api import answers
from runseal_client.api.calls import execute

SECRET = "rsk_" + "5a0c71d2e93b46f8" * 4
REFUSAL = json.dumps({"ok": False, "error": "No\x1b[31m way" + "y" * 5_000, "code": "rate_limited"}).encode()


class Server(ThreadingHTTPServer):
    """Notes the headers of each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.seen: list[dict[str, str]] = []
        self.body = REFUSAL
        self.status = 429
        self.retry_after: str | None = "3600"


class _Answer(BaseHTTPRequestHandler):
    def log_message(self, format: str, *values: object) -> None:
        """Prints nothing."""

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        self.rfile.read(int(self.headers["Content-Length"]))
        server.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(server.status)
        if server.retry_after is not None:
            self.send_header("Retry-After", server.retry_after)
        self.send_header("X-Request-Id", "req-1")
        self.send_header("Content-Length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def _refused(client: Runseal, key: str | None = None) -> RunsealError:
    with pytest.raises(RunsealError) as raised:
        client.send(execute({}, key))
    return raised.value


def test_the_key_of_the_environment_goes_to_its_own_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNSEAL_API_KEY", SECRET)
    monkeypatch.setenv("RUNSEAL_URL", "https://runs.example.com")
    _refused(Runseal(server.url))
    _refused(Runseal(server.url, SECRET))
    monkeypatch.setenv("RUNSEAL_URL", f"{server.url}/")
    _refused(Runseal(server.url))
    _refused(Runseal())
    monkeypatch.delenv("RUNSEAL_URL")
    _refused(Runseal(server.url))
    _refused(Runseal(server.url, ""))
    assert [each.get("x-service-key") == SECRET for each in server.seen] == [False, True, True, True, True, False]


@pytest.mark.parametrize("key", [f"{SECRET}\n", "rsk_\xe9", "a b", "x" * 513])
def test_a_key_that_no_header_carries_is_refused_without_its_text(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII") as raised:
        Runseal("http://127.0.0.1:9", key)
    assert key not in str(raised.value)


def test_an_idempotency_key_is_sent_as_a_string_of_its_header(server: Server) -> None:
    _refused(Runseal(server.url), 'a"b\\c')
    assert server.seen[0]["idempotency-key"] == '"a\\"b\\\\c"'


def test_an_error_has_what_the_service_says_of_it(server: Server) -> None:
    error = _refused(Runseal(server.url))
    assert (error.code, error.status, error.request_id, error.retry_after) == ("rate_limited", 429, "req-1", 3600.0)
    assert str(error) == ("No [31m way" + "y" * 5_000)[:1_000]


@pytest.mark.parametrize(
    ("status", "retry_after", "waits"),
    [
        *[(status, None, [0.25, 0.5, 1.0]) for status in (408, 429, 502, 503, 504)],
        *[(status, "7", [7.0, 7.0, 7.0]) for status in (408, 409, 429, 502, 503, 504)],
        (503, "0", [0.0, 0.0, 0.0]),
        (503, "soon", [0.25, 0.5, 1.0]),
        (503, "Thu, 99 Jan 2026 12:00:30 GMT", [0.25, 0.5, 1.0]),
        (503, "Thu, 15 Jan 2026 12:00:30 GMT", [0.0, 0.0, 0.0]),
        # Longer than the deadline of a call.
        (503, "120", []),
        *[(status, None, []) for status in (400, 404, 409, 500, 501)],
        (500, "7", []),
    ],
)
def test_what_is_retried_and_after_how_long(
    server: Server, monkeypatch: pytest.MonkeyPatch, status: int, retry_after: str | None, waits: list[float]
) -> None:
    server.status, server.retry_after = status, retry_after
    # As behind a proxy: the status decides, not a code.
    server.body = b"<html>"
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    sleep, caller = time.sleep, threading.get_ident()

    def pause(seconds: float) -> None:
        # A spool of another test may still send in a thread of its own.
        if threading.get_ident() == caller:
            waited.append(seconds)
        else:
            sleep(seconds)

    monkeypatch.setattr(random, "random", lambda: 0.5)
    monkeypatch.setattr(time, "sleep", pause)
    _refused(Runseal(server.url))
    assert waited == waits
    monkeypatch.setattr(asyncio, "sleep", wait)

    async def later() -> None:
        async with AsyncRunseal(server.url) as client:
            with pytest.raises(RunsealError):
                await client.send(execute({}))
            with pytest.raises(RunsealError):
                # Never sent twice.
                await client.redeem_permit("pmt-1", "")

    asyncio.run(later())
    assert waited == waits * 2
    assert len(server.seen) == 2 * (len(waits) + 1) + 1


def test_no_retry_begins_after_the_deadline(server: Server) -> None:
    server.retry_after = "1"
    _refused(Runseal(server.url, deadline=1))
    assert len(server.seen) == 1


def test_a_retry_after_may_be_a_date(server: Server) -> None:
    server.retry_after = formatdate(time.time() + 3600, usegmt=True)
    wanted = _refused(Runseal(server.url)).retry_after
    assert wanted is not None and 3590 <= wanted <= 3600


def test_an_answer_that_is_nested_without_end_is_none(server: Server) -> None:
    server.body = b"[" * 1_000_000
    assert _refused(Runseal(server.url)).code == "bad_answer"


def test_no_secret_is_shown() -> None:
    destination = {"id": 1, "kind": "webhook", "url": "https://a.example", "name": "a", "format": "standard"}
    destination |= {"types": [], "outcomes": [], "key_ids": [], "active": True, "created_at": "", "created_by": 1}
    shown = [
        answers.MintedKey(id=1, name="a", secret=SECRET, tier="trial", hint=""),
        answers.RotatedKey(id=1, name="a", secret=SECRET, hint=""),
        answers.CreatedDestination.model_validate({"destination": destination, "secret": SECRET, "position": 0}),
        answers.RotatedDestination(id=1, secret=SECRET, previous_until=""),
        answers.OpenPermitAnswer(permit_id="pmt-1", permit=SECRET, opening={}, expires_at="", close_by=""),
        answers.SessionAnswer(key_id=1, name="a", scope="admin", csrf_token=SECRET),
        answers.MadeShare(share_id=1, run_id=1, token=SECRET, url=f"https://a.example/{SECRET}", expires_at=""),
    ]
    assert not [each for each in shown if SECRET in repr(each) or SECRET in str(each)]


def test_the_token_of_an_end_user_goes_with_what_is_decided_alone(server: Server) -> None:
    tokens = iter(["a.b.1", "a.b.2", None])
    client = Runseal(server.url, end_user_token=lambda: next(tokens))
    for _ in range(3):
        _refused(client)
    with pytest.raises(RunsealError):
        client.attest(digest="d1" * 32)
    _refused(Runseal(server.url, end_user_token="a.b.c"))
    assert [each.get("x-end-user-token") for each in server.seen] == ["a.b.1", "a.b.2", None, None, "a.b.c"]


@pytest.mark.parametrize("token", ["", "Bearer a.b.c", "a.b", "a.b." + "c" * 8192, "a.b.c\n"])
def test_what_is_no_token_is_refused_before_anything_is_sent(server: Server, token: str) -> None:
    with pytest.raises(ValueError, match="JWT of at most 8192"):
        Runseal(server.url, end_user_token=token).send(execute({}))
    assert server.seen == []
