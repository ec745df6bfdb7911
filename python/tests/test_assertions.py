"""Answers of an authenticator of others, and such as none gives: docs/formats.md, section 2.8, "Passkeys". The file is read by the tests of both verifiers."""

import base64
import json
from typing import Any

import pytest
from places import REPOSITORY

from runseal_verify.approval_shapes import PASSKEY
from runseal_verify.forms import fits
from runseal_verify.passkeys import assertion_problem

_FILE = json.loads((REPOSITORY / "libs/core/test/fixtures/assertions.json").read_text())
MADE: list[dict[str, Any]] = [*_FILE["emulated"], *_FILE["otherwise"]]
_PARTS = ("public_key", "authenticator_data", "client_data_json", "signature")


@pytest.mark.parametrize("made", MADE, ids=[each["says"] for each in MADE])
def test_what_was_signed(made: dict[str, Any]) -> None:
    assert fits(PASSKEY, made["passkey"])
    assert (assertion_problem(made["passkey"], made["challenge"]) is None) == made["holds"]


def test_no_bit_of_what_holds_can_be_another() -> None:
    holding = [each for each in MADE if each["holds"] and len(each["passkey"]["client_data_json"]) < 300]
    assert len(holding) > 10
    for made in holding:
        for part in _PARTS:
            data = base64.b64decode(made["passkey"][part])
            for at in range(len(data)):
                other = bytearray(data)
                other[at] ^= 1 << at % 8
                passkey = {**made["passkey"], part: base64.b64encode(other).decode()}
                assert assertion_problem(passkey, made["challenge"]) is not None, (part, at)
