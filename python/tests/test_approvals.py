"""Acts that people decide on, with a real service and a person who has a key. docs/python.md, "Acts that people approve"."""

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from approving import Place, running_place
from gate import gate
from places import NODE

from runseal_client import (
    ActRefused,
    ApprovalPending,
    AsyncRunseal,
    PermitUsed,
    Runseal,
    RunsealError,
    sealed,
)
from runseal_client.api.requests import OpenPermitRequest
from runseal_client.approvals import wait_seconds

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="needs the service (npm ci)")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with running_place(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def client(place: Place) -> Iterator[Runseal]:
    with Runseal(place.url, place.key) as made:
        yield made
    for each in place.waiting():
        place.decide(each, "reject")


orders = itertools.count()


def order() -> OpenPermitRequest:
    return {
        "program_id": "3f" * 32,
        "route_id": "payments/transfer",
        "registry_record_hash": "a9" * 32,
        "payload": json.dumps({"order": next(orders)}),
        "audience": "payments",
        "reserve_tokens": 0,
    }


def pending(client: Runseal, request: OpenPermitRequest, approval_wait: float | None = None) -> ApprovalPending:
    with pytest.raises(ApprovalPending) as raised, client.permit(request, fail="open", approval_wait=approval_wait):
        raise AssertionError("It was done.")
    return raised.value


def test_an_act_that_people_decide_on_is_not_done_and_the_same_act_again_is_permitted(
    client: Runseal, place: Place
) -> None:
    request = order()
    first = pending(client, request)
    assert str(first) == f"People decide on this call, until {first.expires_at}: {first.address}"
    assert first.address == f"{place.url}/console/approval?id={first.approval_id}"
    assert place.waiting() == [first.approval_id]
    assert pending(client, request).approval_id == first.approval_id
    place.decide(first.approval_id, "approve")
    with client.permit(request, redeems=True) as act:
        act.completed("paid")
    assert act.answer is not None and act.answer.ok
    permit = client.get_permit(str(act.permit_id))
    assert (permit.state, permit.redeem_required, permit.redeemed_at is None) == ("closed", True, False)
    assert client.collect_permit(first.approval_id).permit_id == act.permit_id


def test_a_wait_ends_with_the_permit_or_the_refusal(client: Runseal, place: Place) -> None:
    place.decide_soon("approve")
    with client.permit(order(), fail="open", approval_wait=60) as act:
        assert act.token is not None
    place.decide_soon("reject")
    with pytest.raises(ActRefused, match="rejected"), client.permit(order(), fail="open", approval_wait=60):
        raise AssertionError("It was done.")


def test_a_wait_is_no_longer_than_it_may_be(client: Runseal) -> None:
    began = time.monotonic()
    pending(client, order(), approval_wait=1)
    assert 1 <= time.monotonic() - began < 5


def test_an_outage_after_people_were_asked_is_no_reason_to_act(place: Place) -> None:
    with gate(place.url) as server, Runseal(server.url, place.key, max_retries=0) as client:
        server.answers["/approvals/"] = (503, "{}")
        server.retry_after = ""
        found = pending(client, order(), approval_wait=1)
        assert isinstance(found.__cause__, RunsealError) and found.__cause__.status == 503


def test_a_sealed_function_redeems_its_permit_and_is_not_called_under_one_that_was_used(
    client: Runseal, place: Place
) -> None:
    made: list[int] = []
    act = sealed(client, "tools/transfer", agent="payer", fail="open")(made.append)
    with pytest.raises(ApprovalPending) as raised:
        act(1)
    place.decide(raised.value.approval_id, "approve")
    act(1)
    with pytest.raises(ApprovalPending) as raised:
        act(1)
    assert made == [1]
    place.decide(raised.value.approval_id, "approve")
    opened = client.collect_permit(raised.value.approval_id)
    client.redeem_permit(opened.permit_id, str(opened.permit))
    # Under the same idempotency key, that permit is given again.
    with pytest.raises(PermitUsed):
        client._redeem(opened.permit_id, str(opened.permit))
    assert client.get_permit(opened.permit_id).state == "open"


def test_the_asynchronous_client_does_the_same(place: Place) -> None:
    async def work() -> None:
        async with AsyncRunseal(place.url, place.key) as client:
            made: list[int] = []

            @sealed(client, "tools/transfer", agent="later", fail="open")
            async def act(number: int) -> None:
                made.append(number)

            with pytest.raises(ApprovalPending) as raised:
                await act(1)
            place.decide(raised.value.approval_id, "approve")
            await act(1)
            assert made == [1]
            place.decide_soon("approve")
            async with client.permit(order(), fail="open", approval_wait=60) as done:
                assert done.token is not None
            with pytest.raises(ApprovalPending):
                async with client.permit(order(), fail="open", approval_wait=1):
                    raise AssertionError("It was done.")

    asyncio.run(work())
    for each in place.waiting():
        place.decide(each, "reject")


def test_the_same_payload_under_other_terms_is_refused_also_under_fail_open(client: Runseal) -> None:
    request = order()
    pending(client, request)
    with pytest.raises(RunsealError) as raised, client.permit({**request, "audience": "another"}, fail="open"):
        raise AssertionError("It was done.")
    assert raised.value.code == "approval_waiting"


def test_a_wait_is_a_number_of_seconds_up_to_a_day(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (wait_seconds(None), wait_seconds(2.5)) == (0, 2.5)
    monkeypatch.setenv("RUNSEAL_APPROVAL_WAIT", "60")
    assert wait_seconds(None) == 60
    for text in ("a", "-1", "86401", "nan"):
        monkeypatch.setenv("RUNSEAL_APPROVAL_WAIT", text)
        with pytest.raises(ValueError):
            wait_seconds(None)
