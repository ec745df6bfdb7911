"""Calls under way: bounded, and never so full for ever."""

import time

import pytest

from runseal_client import RunsealError
from runseal_client.open_permits import OpenPermits


def test_each_permit_is_taken_once() -> None:
    held: OpenPermits[str] = OpenPermits()
    held.put("call", "pmt-1")
    assert (held.take("call"), held.take("call"), held.take("other")) == ("pmt-1", None, None)


def test_a_call_that_nobody_ends_gives_its_place_up() -> None:
    held: OpenPermits[str] = OpenPermits(most=2, kept_seconds=0.2)
    for call in ("one", "two"):
        held.require_room()
        held.put(call, f"pmt-{call}")
    with pytest.raises(RunsealError) as caught:
        held.require_room()
    assert (caught.value.code, caught.value.status) == ("overloaded", 503)
    time.sleep(0.3)
    held.require_room()
    assert held.take("one") is None
