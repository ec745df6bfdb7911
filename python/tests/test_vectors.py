"""The published vectors, read with nothing but what docs/formats.md says."""

import json
import re

import pytest
from places import REPOSITORY, VECTORS

from runseal_verify.acts import act_problem
from runseal_verify.documents import verify_text
from runseal_verify.json_text import Unreadable, canonical, digest, parse, sha256
from runseal_verify.shipped_severities import LIBRARY_HASH, SEVERITIES
from runseal_verify.trust import read_trust

TRUST = [read_trust((VECTORS / "trust.json").read_bytes())]
_ROW = re.compile(r"\| \[(\w+/(?:valid|invalid)/[\w.-]+\.json)\]\(.*?\) \| (.*?) \| (.*?) \|")
_ROWS = _ROW.findall((VECTORS / "README.md").read_text())


@pytest.mark.parametrize(("name", "verdict", "first"), _ROWS)
def test_documents(name: str, verdict: str, first: str) -> None:
    try:
        outcome = verify_text((VECTORS / name).read_bytes(), TRUST)
    except Unreadable:
        assert verdict == "unreadable"
        return
    assert outcome.verdict == verdict
    assert (outcome.first_failure or "\u2013") == first


def test_all_documents_are_listed() -> None:
    files = {str(each.relative_to(VECTORS)) for each in VECTORS.glob("*/*valid/*.json")}
    assert files == {name for name, _, _ in _ROWS}


@pytest.mark.parametrize("path", sorted([*VECTORS.glob("formulas/*.json"), *VECTORS.glob("leaves/*.json")]))
def test_preimages(path: object) -> None:
    from pathlib import Path

    vector = parse(Path(str(path)).read_bytes())
    assert canonical(vector["preimage"]) == vector["canonical"]
    assert sha256(vector["canonical"].encode()) == vector["hash"]


def test_what_is_read_of_a_payload_is_an_act() -> None:
    for reading in json.loads((VECTORS / "acts.json").read_text())["readings"]:
        assert act_problem(reading) is None, reading["says"]


def test_every_derived_section_is_built() -> None:
    from runseal_verify.bundle import BundleVerification
    from runseal_verify.bundle_shape import read_bundle

    frozen = json.loads((VECTORS / "derivation-v2.json").read_text())
    for name, hashes in frozen.items():
        verification = BundleVerification(read_bundle(parse((VECTORS / name).read_bytes())), TRUST[0])
        verification.outcome()
        built = {section: verification.made.hash_of(section) for section in hashes["sections"]}
        assert built == hashes["sections"], name


def test_the_severities_are_those_of_the_shipped_library() -> None:
    library = json.loads((REPOSITORY / "apps/server/src/policy/signature-library.json").read_text())
    assert digest(library) == LIBRARY_HASH
    assert {each["id"]: each["severity"] for each in library["signatures"]} == SEVERITIES
    page = (REPOSITORY / "docs/formats.md").read_text()
    assert LIBRARY_HASH in page
    rows = dict(re.findall(r"^\| `(critical|high|medium|low)` \| (.*) \|$", page, re.MULTILINE))
    named = {
        f"MCD-{category.split()[0]}-{number}": severity
        for severity, row in rows.items()
        for category in row.split("; ")
        for number in category.split()[1:]
    }
    assert named == SEVERITIES


def test_what_witnesses_signed_is_said_and_a_signature_of_a_trusted_one_that_is_wrong_fails() -> None:
    witnessed = (VECTORS / "bundles/valid/ok-witnessed.json").read_text()
    said = verify_text(witnessed.encode(), TRUST).checks.results["witnessed"]
    signed = "witness.example at 2026-01-15T18:00:00Z, post-quantum.example at 2026-01-15T18:00:00Z"
    others = "signatures of keys that you do not trust, not checked: 1"
    assert said == ("pass", f"its entries are among the first 5 of the log; cosigned by {signed}; {others}")
    for name in ("witness.example ", "post-quantum.example "):
        signature = witnessed.index(name) + 60
        changed = witnessed[:signature] + ("A" if witnessed[signature] != "A" else "B") + witnessed[signature + 1 :]
        assert verify_text(changed.encode(), TRUST).first_failure == "witnessed"
