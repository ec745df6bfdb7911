"""Complete exports: the published vectors, and changed ones on which both verifiers must agree."""

import json
import random
import re
import subprocess
from pathlib import Path

import pytest
from places import NODE, REPOSITORY, VECTORS
from verifiers import by_python, by_typescript, mutations_of, said

from runseal_verify.cli import main
from runseal_verify.complete_export import verify_export
from runseal_verify.json_text import Unreadable
from runseal_verify.trust import read_trust

TRUST_FILE = VECTORS / "trust.json"
TRUST = [read_trust(TRUST_FILE.read_bytes())]
_ROW = re.compile(r"\| \[(exports/(?:valid|invalid)/[\w.-]+\.ndjson)\]\(.*?\) \| (.*?) \|")
_ROWS = _ROW.findall((VECTORS / "README.md").read_text())
SEED = 20261124
SHUFFLED = 30
CHANGES_OF_A_VALUE = 1
# Together they have a document of each kind.
CHANGED_EXPORTS = ("observed-openings", "permits", "since-the-year-0")


def _verdict(lines: list[bytes]) -> str:
    try:
        return verify_export(lines, TRUST).verdict
    except Unreadable:
        return "unreadable"


def _lines(name: str) -> list[bytes]:
    return [line for line in (VECTORS / name).read_bytes().split(b"\n") if line]


@pytest.mark.parametrize(("name", "verdict"), _ROWS)
def test_exports(name: str, verdict: str) -> None:
    assert _verdict(_lines(name)) == verdict


def test_all_exports_are_listed() -> None:
    files = {str(each.relative_to(VECTORS)) for each in VECTORS.glob("exports/*/*.ndjson")}
    assert files == {name for name, _ in _ROWS}


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    name = str(VECTORS / "exports/valid/permits.ndjson")
    assert main([name, "--complete", "--trust", str(TRUST_FILE)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "COMPLETE CHAIN VERIFIED AND ANCHORED"
    assert any(line.startswith("Window") for line in printed)
    name = str(VECTORS / "exports/invalid/first-dropped.ndjson")
    assert main([name, "--complete", "--json", "--trust", str(TRUST_FILE)]) == 1


def test_a_line_that_is_no_document_fails_the_export() -> None:
    statement, *documents = _lines("exports/valid/everything.ndjson")
    for line in (b"{", b"{}", documents[0] + documents[0], documents[0].replace(b'"kind"', b'"kinds"')):
        assert _verdict([statement, line, *documents[1:]]) == "FAILED"
    newer = documents[0].replace(b"vfa.derivation.v2", b"vfa.derivation.v9")
    assert _verdict([statement, newer, *documents[1:]]) == "unreadable"


def _changed(chosen: random.Random, exports: list[list[bytes]]) -> list[bytes]:
    """Lines of one export with some left out, doubled, moved, or put in from another."""
    lines = list(chosen.choice(exports))
    for _ in range(chosen.randint(1, 2)):
        at = chosen.randrange(len(lines))
        match chosen.randrange(5):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(chosen.randrange(len(lines) + 1), lines[at])
            case 2:
                lines.insert(chosen.randrange(len(lines)), lines.pop(at))
            case 3:
                lines[at] = chosen.choice([b"{", b"{}", lines[at] + lines[at], lines[at][:-9]])
            case _:
                lines.insert(chosen.randrange(1, len(lines) + 1), chosen.choice(chosen.choice(exports)))
    return lines


def _notes_by_typescript(file: Path) -> tuple[str, list[str]]:
    program = REPOSITORY / "apps/verifier-cli/src/main.ts"
    command = [str(each) for each in (NODE, program, file, "--complete", "--json", "--trust", TRUST_FILE)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if run.stdout == "":
        return "unreadable", []
    said = json.loads(run.stdout)
    return said["verdict"], [f"line {each['line']}: {each['sentence']}" for each in said["notes"]]


@pytest.mark.skipif(not NODE.exists(), reason="the TypeScript verifier is not installed: npm ci")
@pytest.mark.parametrize("file", sorted(VECTORS.glob("exports/valid/*.ndjson")), ids=lambda each: each.stem)
def test_both_note_the_same(file: Path) -> None:
    mine = verify_export(_lines(str(file)), TRUST)
    assert (mine.verdict, mine.notes) == _notes_by_typescript(file)
    assert (mine.note_count == 0) == (file.stem != "settings-changed")


@pytest.mark.skipif(not NODE.exists(), reason="the TypeScript verifier is not installed: npm ci")
def test_both_say_the_same(tmp_path: Path) -> None:
    chosen = random.Random(SEED)
    exports = [_lines(str(each)) for each in sorted(VECTORS.glob("exports/*/*.ndjson"))]
    exports = [each for each in exports if len(each) > 1]
    for number in range(SHUFFLED):
        lines = _changed(chosen, exports)
        file = tmp_path / f"{number}.ndjson"
        file.write_bytes(b"\n".join(lines) + b"\n")
        assert (number, _verdict(lines)) == (number, _notes_by_typescript(file)[0])


def _changed_values(folder: Path, file: Path) -> list[tuple[str, str]]:
    """The export with one value of one line changed: each value of it in some ways, each with its name."""
    chosen, lines = random.Random(SEED), file.read_text().splitlines()
    parts = [folder / file.stem / "valid" / f"{at}.json" for at in range(len(lines))]
    parts[0].parent.mkdir(parents=True)
    for part, line in zip(parts, lines, strict=True):
        part.write_text(line)
    changes: dict[tuple[str, str], list[str]] = {}
    for name, line in mutations_of(*parts):
        part_name, pointer, _ = json.loads(name).split(" ", 2)
        changes.setdefault((part_name, pointer), []).append(line)
    made: list[tuple[str, str]] = []
    for (part_name, pointer), found in changes.items():
        at = int(Path(part_name).stem)
        for line in chosen.sample(found, min(len(found), CHANGES_OF_A_VALUE)):
            made.append((f"{file.stem} {at} {pointer}", "\n".join([*lines[:at], line, *lines[at + 1 :]])))
    return made


@pytest.mark.skipif(not NODE.exists(), reason="the TypeScript verifier is not installed: npm ci")
def test_both_say_the_same_whatever_value_of_an_export_is_changed(tmp_path: Path) -> None:
    exports = [VECTORS / "exports/valid" / f"{name}.ndjson" for name in CHANGED_EXPORTS]
    named = [each for export in exports for each in _changed_values(tmp_path, export)]
    calls: list[list[str]] = []
    for number, (_, text) in enumerate(named):
        file = tmp_path / f"{number}.ndjson"
        file.write_text(f"{text}\n")
        calls.append([str(file), "--complete", "--json", "--trust", str(TRUST_FILE)])
    pairs = zip(named, map(said, by_typescript(calls)), map(said, by_python(calls)), strict=True)
    assert [(name, first, second) for (name, _), first, second in pairs if first != second] == []
