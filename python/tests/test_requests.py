"""How both clients send a request, and what becomes of its answer, against a server that answers as it is said."""

import asyncio
import builtins
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from runseal_client import AsyncRunseal, Runseal, RunsealError, errors
from runseal_client.api.requests import ExecuteRequest

RUN = {
    "created_at": "",
    "program_id": "a",
    "route_id": "b",
    "manifest_hash": "",
    "duration_ms": 1,
    "status": "ok",
    "outcome_kind": "ok",
    "error_stage": "",
    "execution_region": "",
}
REQUEST: ExecuteRequest = {"program_id": "a", "route_id": "b", "registry_record_hash": "c", "payload": "d"}
SEALED = {"ok": True, "run_id": 7, "duration_ms": 1}
Answering = Callable[["Server", str, dict[str, str], Any], tuple[int, bytes]]


class Server(ThreadingHTTPServer):
    """Answers by a function, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answer: Answering = lambda *_: (200, json.dumps(SEALED).encode())
        self.headers: list[dict[str, str]] = []
        self.bodies: list[Any] = []
        # What the header promises beyond the body that is sent.
        self.missing = 0


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *values: object) -> None:
        """Prints nothing."""

    def _answer(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(sent) if sent else None
        server.headers.append({name.lower(): value for name, value in self.headers.items()})
        server.bodies.append(body)
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        status, answer = server.answer(server, parts.path, query, body)
        self.send_response(status)
        self.send_header("X-Request-Id", "req-1")
        self.send_header("Content-Length", str(len(answer) + server.missing))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PATCH = _answer


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def _refusal(status: int) -> Answering:
    return lambda *_: (status, json.dumps({"ok": False, "error": "No.", "code": "said", "request_id": "x"}).encode())


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RunsealError),
        (401, errors.AuthenticationError),
        (403, errors.PermissionDeniedError),
        (404, errors.NotFoundError),
        (409, errors.ConflictError),
        (429, errors.RateLimitError),
        (500, RunsealError),
    ],
)
def test_the_class_of_an_error_is_that_of_its_status(server: Server, status: int, kind: type[RunsealError]) -> None:
    server.answer = _refusal(status)

    async def later() -> RunsealError:
        async with AsyncRunseal(server.url, max_retries=0) as client:
            with pytest.raises(RunsealError) as caught:
                await client.version()
            return caught.value

    with Runseal(server.url, max_retries=0) as client, pytest.raises(RunsealError) as caught:
        client.version()
    for error in (caught.value, asyncio.run(later())):
        assert (type(error), error.status, error.code, error.request_id) == (kind, status, "said", "req-1")


def test_no_answer_has_its_cause_and_the_class_of_python(server: Server) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        late = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Runseal(late, max_retries=0) as client, pytest.raises(builtins.TimeoutError) as caught:
            client.version(timeout=0.2)
        assert isinstance(caught.value, errors.TimeoutError)
        assert isinstance(caught.value.__cause__, httpx.ReadTimeout)
    with Runseal(late, max_retries=0) as client, pytest.raises(builtins.ConnectionError) as refused:
        client.version()
    assert type(refused.value) is errors.ConnectionError
    assert isinstance(refused.value.__cause__, httpx.ConnectError)
    assert (refused.value.code, refused.value.status) == ("no_answer", 0)


def test_a_wrong_answer_shows_nothing_of_itself(server: Server) -> None:
    server.answer = lambda *_: (200, json.dumps({"secret": "rsk_secret", "id": "none"}).encode())
    with Runseal(server.url) as client, pytest.raises(RunsealError) as caught:
        client.rotate_key(1)
    assert caught.value.code == "bad_answer" and caught.value.request_id == "req-1"
    assert "rsk_secret" not in f"{caught.value} {caught.value.__cause__}"


def test_an_answer_of_a_later_service_is_read(server: Server) -> None:
    later = {**SEALED, "outcome_kind": "a_new_kind", "new_member": {"a": 1}}
    server.answer = lambda *_: (200, json.dumps(later).encode())
    with Runseal(server.url) as client:
        answer = client.execute(REQUEST)
    assert (answer.outcome_kind, answer.error, answer.findings) == ("a_new_kind", None, None)
    assert answer.model_extra == {"new_member": {"a": 1}}


@pytest.mark.parametrize(
    ("member", "hint"),
    [
        ({"paylod": "d"}, "ExecuteRequest has no member 'paylod'. Did you mean payload?"),
        ({"attested_context": {"actor": "e"}}, "AttestedContext has no member 'actor'. Did you mean actor_id?"),
        ({"7": 1}, "ExecuteRequest has no member '7'. Use extra="),
        (
            {"request_substance": {"cost": {"total_token": 9}}},
            "Cost has no member 'total_token'. Did you mean total_tokens?",
        ),
        (
            {"authorization_chain": {"approvers": [{}, {"actor": "e"}]}},
            "Approver has no member 'actor'. Did you mean actor_id?",
        ),
    ],
)
def test_an_unknown_member_is_refused_before_it_is_sent(server: Server, member: dict[str, Any], hint: str) -> None:
    wrong: Any = {**REQUEST, **member}

    async def later() -> None:
        async with AsyncRunseal(server.url) as client:
            await client.execute(wrong)

    with Runseal(server.url) as client, pytest.raises(TypeError) as caught:
        client.execute(wrong)
    assert str(caught.value).startswith(hint)
    with pytest.raises(TypeError):
        asyncio.run(later())
    assert server.bodies == []


def test_extra_sends_what_this_version_does_not_know(server: Server) -> None:
    request: ExecuteRequest = {**REQUEST, "attested_context": {"actor_id": "e"}}
    wrong: Any = {"policy_id": "a", "rules": [{"id": "a", "effect": "deny", "wen": "x"}]}
    with Runseal(server.url) as client:
        with pytest.raises(TypeError, match=r"PolicyRule has no member 'wen'\. Did you mean when"):
            client.load_policy(wrong)
        client.execute(request, extra={"new": 1, "attested_context": {"team": "f"}})
        with pytest.raises(RunsealError):
            client.make_key("a", rate_limit=5, extra={"new": None})
    assert server.bodies[0] == {**REQUEST, "new": 1, "attested_context": {"actor_id": "e", "team": "f"}}
    assert request["attested_context"] == {"actor_id": "e"}
    assert server.bodies[1] == {"name": "a", "rate_limit": 5, "new": None}


def test_absent_and_null_are_two_things(server: Server) -> None:
    with Runseal(server.url) as client, pytest.raises(RunsealError):
        client.change_key(1, notes=None, rate_limit=7)
    assert server.bodies == [{"notes": None, "rate_limit": 7}]


def _run_pages(changes: dict[int, list[int]]) -> Answering:
    """A list of runs, which becomes another one before a request."""
    lists = [list(range(9, 0, -1))]

    def answer(_server: Server, _path: str, query: dict[str, str], _body: Any) -> tuple[int, bytes]:
        runs = changes.get(len(lists) - 1, lists[-1])
        lists.append(runs)
        limit, offset = int(query["limit"]), int(query.get("offset", 0))
        page = [{**RUN, "id": each} for each in runs[offset : offset + limit]]
        return 200, json.dumps(
            {"ok": True, "total": len(runs), "limit": limit, "offset": offset, "runs": page}
        ).encode()

    return answer


@pytest.mark.parametrize(
    "changes",
    [{}, {1: list(range(12, 0, -1))}, {1: [8, 7, 6, 5, 4, 3, 2, 1]}],
    ids=["unchanged", "with newer ones", "without one"],
)
def test_a_list_is_read_to_its_end_and_nothing_twice(server: Server, changes: dict[int, list[int]]) -> None:
    server.answer = _run_pages(changes)
    with Runseal(server.url) as client:
        assert [run.id for run in client.iter_runs(limit=4)] == list(range(9, 0, -1))

    async def later() -> list[int]:
        async with AsyncRunseal(server.url) as client:
            return [run.id async for run in client.iter_runs(limit=4)]

    server.answer = _run_pages(changes)
    assert asyncio.run(later()) == list(range(9, 0, -1))


def test_a_list_is_read_by_the_place_of_its_next_page(server: Server) -> None:
    def answer(_server: Server, _path: str, query: dict[str, str], _body: Any) -> tuple[int, bytes]:
        first = int(query.get("before", 6)) - 1
        shares = [
            {
                "share_id": each,
                "run_id": 1,
                "key_id": 1,
                "outcome_kind": "ok",
                "made_by": 1,
                "made_at": "",
                "expires_at": "",
            }
            for each in (first, first - 1)
            if each > 0
        ]
        following = {"next": first - 1} if first > 2 else {}
        return 200, json.dumps({"ok": True, "limit": 2, "shares": shares, **following}).encode()

    server.answer = answer
    with Runseal(server.url) as client:
        assert [each.share_id for each in client.iter_shares(limit=2)] == [5, 4, 3, 2, 1]


LINES = [b'{"a":%d}\n' % at for at in range(1_000)]


async def _all(lines: AsyncIterator[bytes]) -> list[bytes]:
    return [line async for line in lines]


def test_an_export_is_streamed_by_lines(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than a whole answer may be.
    monkeypatch.setattr("runseal_client.transport.MAX_ANSWER_BYTES", 5_000)
    server.answer = lambda *_: (200, b"".join(LINES))

    async def later() -> list[bytes]:
        async with AsyncRunseal(server.url) as client:
            return await _all(client.iter_export())

    with Runseal(server.url) as client:
        assert list(client.iter_export(from_="2026-01-01")) == LINES
        assert asyncio.run(later()) == LINES
        with pytest.raises(RunsealError) as large:
            client.export()
        server.answer = lambda *_: (200, b"x" * 20_000)
        with pytest.raises(RunsealError) as long:
            list(client.iter_export())
    assert (large.value.code, long.value.code) == ("bad_answer", "bad_answer")


@pytest.mark.parametrize(
    ("body", "missing", "code"), [(b'{"a":1}\n{"b"', 0, "bad_answer"), (b'{"a":1}\n', 9, "no_answer")]
)
def test_an_export_that_ends_early_is_an_error(server: Server, body: bytes, missing: int, code: str) -> None:
    server.answer, server.missing = (lambda *_: (200, body)), missing
    found: list[bytes] = []
    with Runseal(server.url) as client, pytest.raises(RunsealError) as caught:
        found.extend(client.iter_export())
    assert caught.value.code == code
    server.answer, server.missing = _refusal(403), 0
    with Runseal(server.url) as client, pytest.raises(errors.PermissionDeniedError):
        list(client.iter_export())


def test_a_request_names_this_client_and_uses_the_given_one(server: Server) -> None:
    used: list[httpx.Request] = []
    own = httpx.Client(event_hooks={"request": [used.append]}, headers={"X-Own": "1"})
    with Runseal(server.url, "rsk_1", http_client=own) as client:
        client.execute(REQUEST)
    assert len(used) == 1 and not own.is_closed
    own.close()
    [headers] = server.headers
    assert headers["user-agent"].startswith("runseal-python/") and " python/3." in headers["user-agent"]
    assert (headers["x-own"], headers["x-service-key"]) == ("1", "rsk_1")


def test_max_retries(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.random", lambda: 0.0)
    server.answer = _refusal(503)
    for retries in (0, 2, 5):
        server.bodies.clear()
        with Runseal(server.url, max_retries=retries) as client, pytest.raises(RunsealError):
            client.execute(REQUEST)
        assert len(server.bodies) == retries + 1
