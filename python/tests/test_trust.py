"""Which trust documents are read: docs/formats.md, section 15."""

import base64
import copy
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from places import VECTORS

from runseal_verify.documents import verify_text
from runseal_verify.json_text import Unreadable
from runseal_verify.trust import read_trust

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


def _other_log(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    log: dict[str, Any] = copy.deepcopy(document["trusted_root"]["tlogs"][0])
    log.update(changes)
    return log


def test_an_outside_log_is_not_the_own_one_of_a_port() -> None:
    private = ec.derive_private_key(7, ec.SECP256R1()).public_key()
    spki = private.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)

    def change(document: dict[str, Any]) -> None:
        own = document["trusted_root"]["tlogs"][0]
        own["baseUrl"] = own["baseUrl"].replace("/log", ":8443/log")
        key = {**own["publicKey"], "rawBytes": base64.b64encode(spki).decode()}
        log_id = {"keyId": base64.b64encode(hashlib.sha256(spki).digest()).decode()}
        rekor = _other_log(document, baseUrl="https://rekor.example", publicKey=key, logId=log_id)
        document["trusted_root"]["tlogs"].append(rekor)

    assert read_trust(changed(change)) == read_trust(json.dumps(TRUST).encode())


def test_a_log_key_may_be_listed_for_several_spans() -> None:
    def change(document: dict[str, Any]) -> None:
        for start, end in (("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z"), ("2040-01-01T00:00:00Z", None)):
            key = {**document["trusted_root"]["tlogs"][0]["publicKey"], "validFor": {"start": start, "end": end}}
            document["trusted_root"]["tlogs"].append(_other_log(document, publicKey=key))

    bundle = (VECTORS / "bundles/valid/ok-full.json").read_bytes()
    assert verify_text(bundle, [read_trust(changed(change))]).verdict.startswith("VERIFIED")


def test_fractions_of_a_second_are_dropped() -> None:
    def change(document: dict[str, Any]) -> None:
        document["service_keys"][0].update(valid_from="2026-01-01T00:00:00.9Z", revoked_from="2026-02-01T00:00:00.9Z")

    (key,) = read_trust(changed(change)).service_keys.values()
    assert (key.first, key.revoked) == (1_767_225_600, 1_769_904_000)


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00+00:00", "2026-01-01t00:00:00z", "2026-01-01T00:00:60Z", None])
def test_times_of_another_form_are_refused(time: str | None) -> None:
    with pytest.raises(Unreadable):
        read_trust(changed(lambda document: document["service_keys"][0].update(valid_from=time)))


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
