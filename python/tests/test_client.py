"""The client against a real service."""

import asyncio
import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import NODE
from service import UNLIMITED, Service, free_port, running_service

from runseal_client import ActRefused, AsyncRunseal, PermitInvalid, Runseal, RunsealError, sealed, verify_permit
from runseal_client.api.requests import ExecuteRequest, OpenPermitRequest
from runseal_verify import read_trust, verify_document, verify_text

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the service is not installed: npm ci")

EICAR = r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
HASH = "ab" * 32


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    with running_service(folder, *UNLIMITED) as running:
        yield running


@pytest.fixture
def client(service: Service) -> Iterator[Runseal]:
    with Runseal(service.url) as made:
        yield made


def request(payload: str = "pay 12") -> ExecuteRequest:
    return {"program_id": HASH, "route_id": "tests/client", "registry_record_hash": HASH, "payload": payload}


def opening(payload: str = "pay 12") -> OpenPermitRequest:
    return {
        "program_id": HASH,
        "route_id": "tests/client",
        "registry_record_hash": HASH,
        "payload": payload,
        "audience": "tests",
        "reserve_tokens": 10,
    }


def test_a_run_is_sealed_and_verified_offline(client: Runseal) -> None:
    trust = _trust(client)
    answer = client.execute(request())
    assert answer.ok
    outcome = verify_text(client.bundle(answer.run_id), [trust])
    assert outcome.verdict == "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"
    assert client.run(answer.run_id).status == "ok"
    assert client.runs(limit=1).runs[0].id == answer.run_id
    assert client.runs(status="ok").total >= 1
    assert client.report(answer.run_id, format="brief").startswith(b"%PDF")
    statement = client.statement(answer.run_id)
    assert verify_text(statement, [_trust(client)]).verdict == "RUN STATEMENT SIGNED, NOT ANCHORED"
    envelope = json.loads(statement)
    changed = base64.b64decode(envelope["payload"]).replace(b'"ok"', b'"ccv_halt"')
    forged = json.dumps({**envelope, "payload": base64.b64encode(changed).decode()}).encode()
    assert verify_text(forged, [_trust(client)]).first_failure == "shape"
    changed = base64.b64decode(envelope["payload"]).replace(b"tests/client", b"tests/clienu")
    forged = json.dumps({**envelope, "payload": base64.b64encode(changed).decode()}).encode()
    assert verify_text(forged, [_trust(client)]).first_failure == "signature"
    assert client.export().count(b"\n") >= 2


def test_a_refused_run_is_an_answer(client: Runseal) -> None:
    answer = client.execute(request(EICAR))
    assert not answer.ok
    assert answer.error_stage == "PEPG"
    outcome = verify_text(client.bundle(answer.run_id), [_trust(client)])
    statement = verify_text(client.statement(answer.run_id), [_trust(client)])
    assert (statement.run_id, statement.exit_code(), statement.exit_code(True)) == (answer.run_id, 1, 0)
    assert outcome.outcome_kind == "pepg_deny"
    assert outcome.verdict.startswith("VERIFIED")


def test_errors_have_code_and_status(client: Runseal) -> None:
    with pytest.raises(RunsealError) as caught:
        client.execute({**request(), "program_id": "short"})
    assert (caught.value.code, caught.value.status) == ("invalid_field", 400)
    with pytest.raises(RunsealError) as caught:
        client.run(999_999)
    assert (caught.value.code, caught.value.status) == ("not_found", 404)
    with Runseal(f"http://127.0.0.1:{free_port()}") as nobody, pytest.raises(RunsealError) as caught:
        nobody.runs()
    assert (caught.value.code, caught.value.status) == ("no_answer", 0)


def test_one_key_is_one_run(client: Runseal) -> None:
    first = client.execute(request(), idempotency_key="order-1")
    assert client.execute(request(), idempotency_key="order-1").run_id == first.run_id


def test_a_permit_is_always_closed(client: Runseal) -> None:
    with client.permit(opening()) as act:
        act.completed("Paid.", request_substance={"cost": {"total_tokens": 7}})
    assert act.answer is not None and act.answer.ok
    with pytest.raises(ZeroDivisionError), client.permit(opening()) as act:
        raise ZeroDivisionError
    state = client.get_permit(act.permit_id or "")
    assert state.state == "closed"
    assert client.runs(limit=1).runs[0].closing_outcome == "failed"
    assert client.permits(state="open").total == 0
    assert verify_document(state.opening, [_trust(client)]).verdict == "OPENING VERIFIED AND ANCHORED"


def test_an_act_that_fails_late_is_sealed_with_what_it_used(client: Runseal) -> None:
    with pytest.raises(ZeroDivisionError), client.permit(opening()) as act:
        act.completed("Paid.", request_substance={"cost": {"total_tokens": 7}})
        raise ZeroDivisionError
    assert act.answer is not None
    assert b'"total_tokens":7' in client.bundle(act.answer.run_id)
    assert client.runs(limit=1).runs[0].closing_outcome == "failed"


def test_a_report_that_no_request_carries_hides_no_error(client: Runseal) -> None:
    with pytest.raises(ZeroDivisionError) as caught, client.permit(opening()) as act:
        act.failed(request_substance={"latency": float("nan")})
        raise ZeroDivisionError
    assert caught.value.__notes__ == [f"The permit {act.permit_id} could not be closed: ValueError."]


def _trust(client: Runseal) -> Any:
    return read_trust(client.trust_document())


def test_a_refused_act_is_not_done_and_a_refused_output_not_given(client: Runseal) -> None:
    done: list[int] = []
    with pytest.raises(ActRefused) as caught, client.permit(opening(EICAR)):
        done.append(1)
    assert not done
    assert caught.value.answer.run_id > 0
    with pytest.raises(ActRefused), client.permit(opening()) as act:
        act.completed(EICAR)


def test_a_permit_is_checked_offline(client: Runseal) -> None:
    opened = client.open_permit(opening("pay 12"))
    keys = client.jwks()
    act: dict[str, Any] = {
        "issuer": _trust(client).origin,
        "audience": "tests",
        "route_id": "tests/client",
        "program_id": HASH,
    }
    permit = opened.permit or ""
    verified = verify_permit(permit, keys, **act, payload=b"pay 12")
    assert verified.permit_id == opened.permit_id
    for audience, payload, now in (("others", b"pay 12", None), ("tests", b"pay 13", None), ("tests", b"pay 12", 9e9)):
        with pytest.raises(PermitInvalid):
            verify_permit(permit, keys, **{**act, "audience": audience}, payload=payload, now=now)
    head, claims, signature = permit.split(".")
    for forged in (f"{head}.{claims}.{signature[:-4]}AAAA", f"{head}.{claims[:-2]}.{signature}", "a.b.c", "x" * 20_000):
        with pytest.raises(PermitInvalid):
            verify_permit(forged, keys, **act, payload=b"pay 12")
    assert client.redeem_permit(opened.permit_id, permit).redeemed_at
    with pytest.raises(RunsealError) as caught:
        client.redeem_permit(opened.permit_id, permit)
    assert caught.value.code == "already_redeemed"
    client.close_permit(opened.permit_id, {"outcome": "failed", "code": "NOT_EXECUTED"})


def test_sealed_functions(client: Runseal, service: Service) -> None:
    @sealed(client, "tests/sealed")
    def double(number: int) -> int:
        return 2 * number

    @sealed(client, "tests/sealed")
    def broken() -> None:
        raise ValueError("no")

    before = client.runs(route_id="tests/sealed").total
    assert double(4) == 8
    with pytest.raises(ValueError, match="no"):
        broken()

    async def later() -> int:
        async with AsyncRunseal(service.url) as other:

            @sealed(other, "tests/sealed")
            async def triple(number: int) -> int:
                await asyncio.sleep(0)
                return 3 * number

            return await triple(4)

    assert asyncio.run(later()) == 12
    assert client.runs(route_id="tests/sealed").total == before + 3


class Degrees(float):
    """A number that shows itself in another way, as those of numerical libraries do."""

    def __repr__(self) -> str:
        return f"Degrees({float(self)})"


def test_a_sealed_function_may_give_back_anything(client: Runseal) -> None:
    circle: list[Any] = []
    circle.append(circle)
    results: list[Any] = [Degrees(1.5), circle, object()]

    @sealed(client, "tests/anything")
    def result(at: int) -> Any:
        return results[at]

    assert all(result(at) is results[at] for at in range(3))
    runs = client.runs(route_id="tests/anything").runs
    assert [run.closing_outcome for run in runs] == ["completed"] * 3


def test_what_is_done_later_is_not_sealed_as_done(client: Runseal) -> None:
    done: list[int] = []

    def steps() -> Iterator[int]:
        done.append(1)
        yield 1

    async def later() -> None:
        done.append(2)

    with pytest.raises(TypeError):
        sealed(client, "tests/later")(steps)
    for function in (lambda: steps(), lambda: later()):
        with pytest.raises(TypeError):
            sealed(client, "tests/later")(function)()
    runs = client.runs(route_id="tests/later").runs
    assert [run.closing_outcome for run in runs] == ["failed"] * 2
    assert not done


def test_attest(client: Runseal) -> None:
    answer = client.attest(hashlib.sha256(b"build").hexdigest(), subject_ref="build 12")
    assert client.attestations(limit=1).attestations[0].attestation_id == answer.attestation_id


def test_keys_lock_the_service(tmp_path: Path) -> None:
    with running_service(tmp_path) as service, Runseal(service.url) as client:
        key = client.make_key("ops", scope="admin", confirm_admin_scope=True)
        with pytest.raises(RunsealError) as caught:
            client.runs()
        assert (caught.value.code, caught.value.status) == ("key_required", 401)
        with Runseal(service.url, key.secret) as admin:
            run = admin.execute(request())
            assert admin.publish(run.run_id).token
            admin.unpublish(run.run_id)
            other = admin.make_key("desk")
            admin.revoke_key(other.id)
            assert len(admin.keys().keys) == 2


def test_nothing_heavy_is_imported_at_the_start() -> None:
    source = "import sys, runseal_client; print([n for n in ('httpx', 'pydantic', 'cryptography') if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"
