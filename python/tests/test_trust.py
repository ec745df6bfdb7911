"""Which trust documents are read: docs/formats.md, section 15."""

import base64
import copy
import json
from typing import Any

import pytest
from places import VECTORS

from runseal_client.verifier.json_text import Unreadable
from runseal_client.verifier.trust import read_trust

TRUST: dict[str, Any] = json.loads((VECTORS / "trust.json").read_text())


def changed(change: Any) -> bytes:
    document = copy.deepcopy(TRUST)
    change(document)
    return json.dumps(document).encode()


def _key_of_another_kind(document: dict[str, Any]) -> None:
    key = document["trusted_root"]["tlogs"][0]["publicKey"]
    spki = bytearray(base64.b64decode(key["rawBytes"]))
    spki[9] = 0xDD
    key["rawBytes"] = base64.b64encode(spki).decode()


REFUSED: dict[str, Any] = {
    "a service key twice": lambda document: document["service_keys"].append(document["service_keys"][0]),
    "a checkpoint key twice": lambda document: document["checkpoint_keys"].append(document["checkpoint_keys"][0]),
    "another media type": lambda document: document["trusted_root"].update(mediaType="text/plain"),
    "a key of an unknown algorithm": _key_of_another_kind,
    "a member that has no place": lambda document: document.update(other=1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(Unreadable):
        read_trust(changed(REFUSED[name]))


def test_members_of_other_tools_are_passed_over() -> None:
    def change(document: dict[str, Any]) -> None:
        root = document["trusted_root"]
        del root["ctlogs"]
        for holder in (root, root["tlogs"][0], root["tlogs"][0]["publicKey"], root["tlogs"][0]["logId"]):
            holder["other"] = 1

    assert read_trust(changed(change)) == read_trust(json.dumps(TRUST).encode())


def test_where_no_base_url_has_the_host_every_log_is_the_own_one() -> None:
    def change(document: dict[str, Any]) -> None:
        document["trusted_root"]["tlogs"][0]["baseUrl"] = "https://other.example/log"

    assert read_trust(changed(change)) == read_trust(json.dumps(TRUST).encode())
