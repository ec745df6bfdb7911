"""Keys, sessions, claims, policies, events and the log through the client, against a real service."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from places import NODE
from service import running_service

from runseal_client import ActRefused, AsyncRunseal, Runseal, RunsealError
from runseal_client.api.requests import ExecuteRequest, OpenPermitRequest
from runseal_verify.documents import verify_text
from runseal_verify.trust import read_trust

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the service is not installed: npm ci")

HASH = "ab" * 32
EICAR = r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
RUN: ExecuteRequest = {"program_id": HASH, "route_id": "tests/admin", "registry_record_hash": HASH, "payload": "pay 12"}
ACT: OpenPermitRequest = {
    "program_id": HASH,
    "route_id": "tests/admin",
    "registry_record_hash": HASH,
    "payload": "pay 12",
    "audience": "tests",
    "reserve_tokens": 1,
}


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runseal]:
    with running_service(tmp_path_factory.mktemp("service")) as service:
        with Runseal(service.url) as anybody:
            anybody.execute(RUN)
            secret = anybody.make_key("ops", scope="admin", confirm_admin_scope=True, observe=True).secret
        with Runseal(service.url, secret) as client:
            yield client


def _url(client: Runseal) -> str:
    return client._service.address


def test_a_key_is_changed_and_rotated(admin: Runseal) -> None:
    made = admin.make_key("desk", notes="front", rate_limit=500)
    assert admin.change_key(made.id, notes=None).notes is None
    rotated = admin.rotate_key(made.id)
    assert rotated.secret != made.secret
    with Runseal(_url(admin), made.secret) as old, pytest.raises(RunsealError) as caught:
        old.runs()
    assert caught.value.status == 401
    with Runseal(_url(admin), rotated.secret) as desk:
        assert desk.runs().total == 0
    assert [each.rate_limit for each in admin.keys().keys] == [None, 500]


def test_what_has_an_idempotency_key_is_done_once(admin: Runseal) -> None:
    made = admin.make_key("once", idempotency_key="make once")
    admin.rotate_key(made.id, idempotency_key="rotate once")
    for again in (
        lambda: admin.make_key("once", idempotency_key="make once"),
        lambda: admin.rotate_key(made.id, idempotency_key="rotate once"),
    ):
        with pytest.raises(RunsealError) as caught:
            again()
        assert (caught.value.code, caught.value.status) == ("already_done", 409)
    assert [each.name for each in admin.keys().keys].count("customer:once") == 1
    admin.revoke_key(made.id, idempotency_key="end once")


def test_runs_of_open_mode_are_claimed(admin: Runseal) -> None:
    claim = admin.claim_runs(1)
    assert (claim.key_id, claim.runs) == (1, 1)
    assert admin.all_runs(route_id="tests/admin").runs[-1].key_id == 0
    assert admin.run(1).route_id == admin.any_run(1).route_id == "tests/admin"
    assert admin.any_bundle(1) == admin.bundle(1)
    assert admin.verify_by_service(json.loads(admin.bundle(1))).verified
    assert admin.check_run(1).verified
    assert admin.artifact(1, "allow-token")
    assert admin.usage().keys[0].runs >= 1
    assert sum(step.runs for step in admin.overview(range="24h").steps) >= 1


def test_a_session_is_opened_and_closed(admin: Runseal) -> None:
    with Runseal(_url(admin)) as browser:
        opened = browser.open_session(admin._service.headers["X-Service-Key"])
        assert opened.scope == "admin" and opened.csrf_token is not None
        assert browser.session().key_id == 1
        assert browser.keys().keys
        browser.close_session(opened.csrf_token)
        with pytest.raises(RunsealError) as caught:
            browser.keys()
        assert caught.value.status == 401


def test_destinations(admin: Runseal) -> None:
    made = admin.make_destination("https://receiver.example/hook", name="r")
    number = made.destination.id
    assert admin.change_destination(number, active=False).destination.active is False
    assert admin.rotate_destination(number).secret != made.secret
    assert admin.resume_destination(number, 1).position == 1
    assert admin.test_destination(number).delivered is False
    assert [each.id for each in admin.deliveries().deliveries] == [number]
    admin.delete_destination(number)
    assert admin.destinations().destinations == []
    assert admin.events(limit=1).count(b"\n") == 1


def test_policies(admin: Runseal) -> None:
    members = ("policy_id", "profile_tag", "required_attested_fields", "rules")
    policy: Any = {name: value for name, value in admin.policy().policy.items() if name in members}
    policy["policy_name"] = "another"
    assert admin.try_policy(policy).changed == 0
    assert admin.load_policy(policy).changed
    assert admin.policies().policies[0].policy_name == "another"


def test_what_administrators_did_is_sealed(admin: Runseal) -> None:
    trust = [read_trust(admin.trust_document())]
    page = admin.admin_events()
    sealed = next(each for each in page.events if each.sealed is not None)
    assert verify_text(admin.admin_event(sealed.ordinal), trust).verdict == "ADMIN EVENT VERIFIED AND ANCHORED"


def test_the_log(admin: Runseal) -> None:
    assert admin.genesis().leaf["leaf_version"] == "vfa.genesis.v1"
    size = admin.about().log.size
    assert admin.log_entry(0).log_index == 0
    assert len(admin.partial_tile(0, "000", 1)) == 32
    assert admin.partial_tile("entries", "000", 1)
    assert admin.consistency(1, size).second == size
    assert admin.checkpoint() and admin.trusted_root() and admin.service_key()
    assert not admin.key_changes().changes and not admin.outside_logs().logs
    assert admin.ready().ready and admin.health().service and admin.version().version
    with pytest.raises(RunsealError) as caught:
        admin.witnessed_checkpoint()
    assert caught.value.status == 404


def test_an_observed_refusal_stops_nothing(admin: Runseal) -> None:
    act_of: OpenPermitRequest = {**ACT, "payload": EICAR}
    done: list[int] = []
    assert admin.keys().keys[0].observe
    plain = Runseal(_url(admin), admin.make_key("plain", tier="production").secret)
    with pytest.raises(RunsealError) as unallowed:
        plain.open_permit({**act_of, "enforcement": "observe"})
    assert (unallowed.value.status, unallowed.value.code) == (403, "observe_not_allowed")
    with admin.permit({**act_of, "enforcement": "observe"}) as act:
        done.append(1)
    assert done and act.permit_id is None
    assert act.answer is not None and act.answer.outcome_kind == "pepg_deny"
    with pytest.raises(ActRefused) as caught:
        admin.open_permit({**act_of, "enforcement": "observe"})
    assert caught.value.observed

    async def later() -> bool:
        async with AsyncRunseal(_url(admin), admin._service.headers["X-Service-Key"]) as client:
            async with client.permit({**act_of, "enforcement": "observe"}) as other:
                pass
            rehearsed = await client.verify_determinism(RUN)
            return other.answer is not None and other.answer.ok and rehearsed.deterministic

    assert asyncio.run(later())


def test_a_published_run_is_read_without_a_key(admin: Runseal) -> None:
    run = admin.execute(RUN)
    token = admin.publish(run.run_id).token
    with Runseal(_url(admin)) as anybody:
        assert anybody.public_bundle(token) == admin.bundle(run.run_id)
        assert anybody.public_statement(token)
    assert admin.published_runs().published[0].token == token
    admin.unpublish(run.run_id)


def test_a_shared_run_is_read_without_a_key_until_its_link_is_revoked(admin: Runseal) -> None:
    run = admin.execute(RUN)
    link = admin.share(run.run_id, expires_in_seconds=60)
    with Runseal(_url(admin)) as anybody:
        assert anybody.shared_bundle(link.token) == admin.bundle(run.run_id)
        assert anybody.shared_report(link.token, format="brief", with_="witnessed").startswith(b"%PDF")
        assert [share.share_id for share in admin.shares(run=run.run_id).shares] == [link.share_id]
        admin.revoke_share(link.share_id)
        with pytest.raises(RunsealError) as caught:
            anybody.shared_bundle(link.token)
    assert caught.value.code == "not_shared"


def test_an_answer_that_is_too_large_is_not_kept(admin: Runseal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runseal_client.transport.MAX_ANSWER_BYTES", 100)
    with pytest.raises(RunsealError) as caught:
        admin.openapi()
    assert caught.value.code == "bad_answer"


def test_everything_of_all_keys(admin: Runseal) -> None:
    opened = admin.open_permit(ACT)
    assert admin.all_permits(state="open").permits[0].permit_id == opened.permit_id
    assert admin.any_permit(opened.permit_id).key_id == 1
    admin.close_permit(opened.permit_id, {"outcome": "completed"})
    assert admin.export_of_key(1).count(b"\n") >= 2
    assert admin.export_admin_events().count(b"\n") >= 2
    assert admin.any_statement(1) == admin.statement(1)
    assert admin.any_report(1, format="brief").startswith(b"%PDF")
