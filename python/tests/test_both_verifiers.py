"""Both verifiers, held against each other on changed documents, and under the changes of two trust documents.

A run of the tests takes every eighth change, some 8,000 documents; with RUNSEAL_TEST_WHOLE=1 it takes all, some 61,000.

Each document gets the same exit code, fails by the same check, and has the same notes on keys.
"""

import copy
import json
import os
import random
import subprocess
from collections import Counter
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import pytest
from places import NODE, REPOSITORY, VECTORS
from resealed import bare, changed, changed_approval, known_values
from verifiers import by_python, by_typescript, lines_of, mutations_of, said

from runseal_verify.documents import verify_text
from runseal_verify.json_text import Unreadable
from runseal_verify.trust import read_trust

IS_WHOLE = os.environ.get("RUNSEAL_TEST_WHOLE") == "1"
RESEALED = 1_500 if IS_WHOLE else 400
SWAPPED = 1_500 if IS_WHOLE else 400
APPROVALS = 3_000 if IS_WHOLE else 600
EVERY = 1 if IS_WHOLE else 8
SEED = 20261123
TRUST_FILE = VECTORS / "trust.json"
UNREADABLE = 2

# Exit code, verdict, first failing check and withheld sections of a document; of an unreadable one the code alone.
Said = tuple[int, str | None, str | None, tuple[str, ...]]

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the TypeScript verifier is not installed: npm ci")


def _valid() -> list[Any]:
    return [json.loads(each.read_text()) for each in sorted(VECTORS.glob("*/valid/*.json"))]


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, member in members for place in _places(member, (*path, key)))]


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _swapped(documents: list[Any], count: int) -> list[str]:
    """Documents with one to three parts that are, at the same place, those of another document."""
    chosen = random.Random(SEED)
    places = [set(_places(each)) - {()} for each in documents]
    made: list[str] = []
    while len(made) < count:
        first, second = chosen.sample(range(len(documents)), 2)
        shared = sorted(places[first] & places[second], key=str)
        if not shared:
            continue
        document = copy.deepcopy(documents[first])
        for path in chosen.sample(shared, min(len(shared), chosen.randint(1, 3))):
            try:
                _at(document, path[:-1])[path[-1]] = copy.deepcopy(_at(documents[second], path))
            except (KeyError, IndexError, TypeError):
                continue
        made.append(json.dumps(document, ensure_ascii=False))
    return made


def _resealed(documents: list[Any], count: int) -> list[str]:
    """Records with other values, every hash made again: only their meaning decides."""
    trust = read_trust(TRUST_FILE.read_bytes())
    bundles = [each for each in documents if each.get("kind") == "vfa.audit_bundle.v2"]
    bases = [each for each in map(bare, bundles) if each is not None and each["run"]["outcome_kind"] != "stage_error"]
    chosen, known = random.Random(SEED), known_values(bundles)
    made: list[str] = []
    while len(made) < count:
        document = changed(chosen, bases, known, trust)
        if document is not None:
            made.append(json.dumps(document, ensure_ascii=False))
    return made


def _approvals(documents: list[Any], count: int) -> list[str]:
    """Requests for an approval, and openings and refused runs that end them, with other decisions and rules, sealed again."""
    trust = read_trust(TRUST_FILE.read_bytes())
    decided = [each for each in documents if "policy_evaluation" in each.get("sections", {})]
    asked = [each for each in decided if "request_hash" in each or "approvals" in each["sections"]]
    unanchored = [each for each in asked if "opening_hash" in each or "request_hash" in each]
    ended = [each for each in map(bare, (each for each in asked if "run" in each)) if each is not None]
    chosen, known = random.Random(SEED), known_values([each for each in asked if "run" in each])
    made: list[str] = []
    while len(made) < count:
        by_record = chosen.random() < 0.5
        document = changed(chosen, ended, known, trust) if by_record else changed_approval(chosen, unanchored, known)
        if document is not None:
            made.append(json.dumps(document, ensure_ascii=False))
    return made


def _read_by_typescript(file: Path) -> list[Said]:
    program = REPOSITORY / "apps/verifier-cli/src/main.ts"
    command = [str(each) for each in (NODE, program, file, "--json", "--trust", TRUST_FILE)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    return [
        (each["exit_code"], each.get("verdict"), each.get("first_failure"), tuple(each.get("withheld", ())))
        for each in map(json.loads, lines_of(run.stdout))
        if "line" in each
    ]


def _by_python(line: str) -> Said:
    try:
        outcome = verify_text(line.encode(), [read_trust(TRUST_FILE.read_bytes())])
    except Unreadable:
        return UNREADABLE, None, None, ()
    return outcome.exit_code(), outcome.verdict, outcome.first_failure, outcome.withheld


def test_both_say_the_same(tmp_path: Path) -> None:
    valid = _valid()
    named = [("as it is", json.dumps(each, ensure_ascii=False)) for each in valid] + mutations_of(
        *sorted(VECTORS.glob("*/valid/*.json"))
    )[::EVERY]
    named += [("sealed again", each) for each in _resealed(valid, RESEALED)]
    named += [("decided by others", each) for each in _approvals(valid, APPROVALS)]
    named += [("with parts of another", each) for each in _swapped(valid, SWAPPED)]
    lines = [line for _, line in named]
    file = tmp_path / "documents.ndjson"
    file.write_text("\n".join(lines) + "\n")
    typescript = _read_by_typescript(file)
    with Pool() as pool:
        python = pool.map(_by_python, lines, chunksize=100)
    assert len(typescript) == len(python) == len(lines)
    print(Counter(code for code, *_ in python))
    pairs = zip(named, typescript, python, strict=True)
    differing = [(name, first, second) for (name, _), first, second in pairs if first != second]
    assert differing == [], f"{len(differing)} differ"


# One of each kind; of what witnesses signed, and of what was redeemed.
_HELD = (
    "bundles/valid/ok-witnessed.json",
    "bundles/valid/close-redeemed.json",
    "receipts/valid/deny-mcd.json",
    "attestations/valid/with-subject.json",
    "ends/valid/redeemed.json",
    "requests/valid/request.json",
    "openings/valid/opening.json",
    "events/valid/command.json",
    "statements/valid/ok-full.json",
)


def _with_every_member(trust: Any) -> Any:
    """The trust document with ends of its keys, and with an authority for timestamps."""
    (log,) = trust["trusted_root"]["tlogs"]
    log["publicKey"]["validFor"]["end"] = "2026-12-01T00:00:00Z"
    trust["service_keys"][0].update(valid_to="2026-12-01T00:00:00Z", revoked_from="2026-11-01T00:00:00Z")
    trust["leaf_v7_from"] = "2026-11-01T00:00:00Z"
    authority = {
        "uri": "https://stamps.example",
        "certChain": {"certificates": [{"rawBytes": log["publicKey"]["rawBytes"]}]},
        "validFor": {"start": "2026-01-01T00:00:00Z", "end": None},
    }
    trust["trusted_root"]["timestampAuthorities"] = [authority]
    return trust


def test_both_read_the_same_trust_documents(tmp_path: Path) -> None:
    plain = json.loads(TRUST_FILE.read_text())
    bases: list[Path] = []
    for name, base in (("plain", plain), ("full", _with_every_member(copy.deepcopy(plain)))):
        bases.append(tmp_path / name / "valid" / f"{name}.json")
        bases[-1].parent.mkdir(parents=True)
        bases[-1].write_text(json.dumps(base))
    documents = tmp_path / "documents.ndjson"
    documents.write_text("".join(f"{json.dumps(json.loads((VECTORS / name).read_text()))}\n" for name in _HELD))
    named = [*((each.stem, each.read_text()) for each in bases), *mutations_of(*bases)[::EVERY]]
    calls: list[list[str]] = []
    for number, (_, text) in enumerate(named):
        file = tmp_path / f"{number}.json"
        file.write_text(text)
        calls.append([str(documents), "--json", "--trust", str(file)])
    typescript, python = map(said, by_typescript(calls)), list(map(said, by_python(calls)))
    print(Counter(code for code, _ in python))
    pairs = zip(named, typescript, python, strict=True)
    assert [(name, first, second) for (name, _), first, second in pairs if first != second] == []
    # Of a run statement nothing dates the signature, and its key was revoked.
    code, (*facts, statement) = python[1]
    assert (code, statement[1]) == (1, "FAILED")
    assert [len(each[4]) for each in facts] == [2] * len(facts)
