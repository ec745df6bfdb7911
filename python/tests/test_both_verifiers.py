"""Both verifiers, held against each other on 10,000 documents: neither accepts what the other refuses."""

import copy
import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from places import NODE, REPOSITORY, VECTORS
from resealed import bare, changed, known_values

from runseal_client.verifier.documents import verify_text
from runseal_client.verifier.json_text import Unreadable
from runseal_client.verifier.trust import read_trust

DOCUMENTS = 10_000
MUTATED = 7_000
RESEALED = 1_500
SEED = 20261123
TRUST_FILE = VECTORS / "trust.json"
REFUSED = ("FAILED", "unreadable")
# A wrong document is FAILED for the one and unreadable for the other where only one knows the form of a value.
MOST_REFUSED_DIFFERENTLY = 0.04

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the TypeScript verifier is not installed: npm ci")


def _valid() -> list[Any]:
    return [json.loads(each.read_text()) for each in sorted(VECTORS.glob("*/valid/*.json"))]


def _mutated() -> list[str]:
    program = REPOSITORY / "libs/core/test/mutation/write-mutations.ts"
    files = [str(each) for each in sorted(VECTORS.glob("*/valid/*.json"))]
    run = subprocess.run([NODE, program, str(MUTATED), *files], capture_output=True, text=True, check=True, timeout=300)
    return run.stdout.splitlines()


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


def _by_typescript(file: Path) -> dict[int, str]:
    program = REPOSITORY / "apps/verifier-cli/src/main.ts"
    command = [str(each) for each in (NODE, program, file, "--json", "--trust", TRUST_FILE)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line["line"]: line.get("verdict", "unreadable") for line in lines if "line" in line}


def _by_python(lines: list[str]) -> dict[int, str]:
    trust = [read_trust(TRUST_FILE.read_bytes())]
    verdicts: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        try:
            verdicts[number] = verify_text(line.encode(), trust).verdict
        except Unreadable:
            verdicts[number] = "unreadable"
    return verdicts


def test_both_say_the_same(tmp_path: Path) -> None:
    valid = _valid()
    lines = [json.dumps(each, ensure_ascii=False) for each in valid] + _mutated()
    lines += _resealed(valid, RESEALED)
    lines += _swapped(valid, max(0, DOCUMENTS - len(lines)))
    file = tmp_path / "documents.ndjson"
    file.write_text("\n".join(lines) + "\n")
    typescript, python = _by_typescript(file), _by_python(lines)
    assert len(typescript) == len(python) == len(lines) >= DOCUMENTS
    pairs = Counter((typescript[at], python[at]) for at in python)
    print("\n".join(f"{count} {pair}" for pair, count in pairs.most_common()))
    other = {pair: count for pair, count in pairs.items() if pair[0] != pair[1]}
    assert all(set(pair) <= set(REFUSED) for pair in other), other
    assert sum(other.values()) < MOST_REFUSED_DIFFERENTLY * len(lines)
