"""The breaker: what a client's answers make of it, and how long a decision may take."""

import json
import time

import pytest
from gate import SEALED, gate, said

from runseal_client import Runseal, RunsealError, breaker
from runseal_client.api.answers import RunAnswer
from runseal_client.api.calls import execute
from runseal_client.breaker import BROKEN_SECONDS, Breaker, Fail, decision_seconds
from runseal_client.calls import Call

# Without an idempotency key it is not retried: each call is one failure.
ONCE = Call("POST", "/execute", RunAnswer, {})


def waits(asked: Breaker, fail: Fail) -> float | None:
    """How long a decision may take; None where the service is not asked."""
    try:
        return asked.wait_seconds(fail)
    except RunsealError as error:
        assert error.code == "not_asked"
        return None


def _fail(client: Runseal, times: int) -> None:
    for _ in range(times):
        with pytest.raises(RunsealError):
            client.send(ONCE, within=5)


def test_it_opens_after_three_failures_and_an_answer_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "PROBE_SECONDS", 2.0)
    with gate() as server, Runseal(server.url) as client:
        server.answers["/execute"] = said("unavailable", 503)
        server.retry_after = ""
        _fail(client, 2)
        assert client.breaker.may_ask()
        _fail(client, 1)
        assert not client.breaker.may_ask()
        assert waits(client.breaker, "open") is None
        assert waits(client.breaker, "closed") == BROKEN_SECONDS
        time.sleep(2.1)
        # One of them asks, with all of its time.
        assert [waits(client.breaker, "open") for _ in range(3)] == [2, None, None]
        server.answers["/execute"] = (200, json.dumps(SEALED))
        client.send(execute({}))
        assert client.breaker.may_ask()
        assert waits(client.breaker, "open") == 2


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500])
def test_a_refusal_is_an_answer(status: int) -> None:
    with gate() as server, Runseal(server.url) as client:
        server.answers["/execute"] = said("any", status)
        _fail(client, 4)
        assert client.breaker.may_ask()


def test_it_waits_as_long_as_the_service_asks_and_no_call_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with gate() as server, Runseal(server.url) as client:
        server.answers["/execute"] = said("rate_limited", 429)
        server.retry_after = "3"
        with pytest.raises(RunsealError):
            # It may be retried, and is not.
            client.send(execute({}), within=60)
        assert len(server.asked) == 1
        assert not client.breaker.may_ask()
        time.sleep(3.1)
        assert client.breaker.may_ask()
    monkeypatch.setattr(breaker, "MAX_RETRY_AFTER_SECONDS", 0.1)
    bounded = Breaker()
    bounded.note(429, 86_400)
    assert not bounded.may_ask()
    time.sleep(0.2)
    assert bounded.may_ask()


@pytest.mark.parametrize(("code", "status"), [("end_user_unavailable", 503), ("too_many_approvals", 429)])
def test_a_provider_that_is_away_and_acts_that_wait_for_people_are_no_outage_of_the_service(
    code: str, status: int
) -> None:
    with gate() as server, Runseal(server.url) as client:
        server.answers["/execute"] = said(code, status)
        server.retry_after = "60"
        for _ in range(4):
            with pytest.raises(RunsealError):
                client.send(execute({}), within=60)
            assert client.breaker.may_ask()


def test_a_silent_service_takes_no_more_than_the_time_of_a_call() -> None:
    with gate() as server, Runseal(server.url) as client:
        server.seconds = 600
        began = time.monotonic()
        with pytest.raises(RunsealError) as caught:
            client.send(execute({}), within=0.5)
        assert (caught.value.code, caught.value.status) == ("no_answer", 0)
        assert time.monotonic() - began < 3


def test_the_time_of_a_decision_is_two_seconds_or_ten_or_what_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNSEAL_TIMEOUT", raising=False)
    assert (decision_seconds(True), decision_seconds(False)) == (2, 10)
    monkeypatch.setenv("RUNSEAL_TIMEOUT", "4.5")
    assert (decision_seconds(True), decision_seconds(False)) == (4.5, 4.5)
    for wrong in ("soon", "0", "-1", "nan", "inf", "301"):
        monkeypatch.setenv("RUNSEAL_TIMEOUT", wrong)
        with pytest.raises(ValueError, match="RUNSEAL_TIMEOUT is a number"):
            decision_seconds(True)


def test_calls_that_wait_shortly_put_off_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    breaker = Breaker()
    for _ in range(3):
        breaker.failed()
    waited = []
    for _ in range(6):
        now[0] += 1.0
        waited.append(breaker.wait_seconds("closed"))
        breaker.failed()
    assert waited == [1.0, 1.0, 1.0, 1.0, 10.0, 1.0]
