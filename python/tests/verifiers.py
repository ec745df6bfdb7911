"""Both verifiers as their commands answer, for comparisons."""

import contextlib
import io
import json
import subprocess
from collections.abc import Sequence
from multiprocessing import Pool
from typing import Any

from places import NODE, REPOSITORY

from runseal_verify.checks import LIMITATIONS
from runseal_verify.cli import main

# Exit code of a call, and what it printed.
Answer = tuple[int, str]


def lines_of(printed: str) -> list[str]:
    """As `splitlines`, which also splits at U+2028 within a document."""
    return printed.rstrip("\n").split("\n")


def mutations_of(*files: Any) -> list[tuple[str, str]]:
    """Every change of every value of these files, each with its name: once for each folder above theirs and kind."""
    program = REPOSITORY / "libs/core/test/mutation/write-mutations.ts"
    run = subprocess.run([NODE, program, *files], capture_output=True, text=True, check=True, timeout=300)
    return [(name, document) for name, _, document in (line.partition("\t") for line in lines_of(run.stdout))]


def by_typescript(calls: Sequence[Sequence[str]]) -> list[Answer]:
    """What `verifier` answers to each call."""
    program = REPOSITORY / "apps/verifier-cli/test/answer-each.ts"
    asked = "".join(f"{json.dumps(list(call))}\n" for call in calls)
    run = subprocess.run([NODE, program], input=asked, capture_output=True, text=True, check=True, timeout=900)
    pairs = [line.partition("\t") for line in lines_of(run.stdout)]
    return [(int(code), json.loads(printed)) for code, _, printed in pairs]


def _call(arguments: Sequence[str]) -> Answer:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        code = main(arguments)
    return code, printed.getvalue()


def by_python(calls: Sequence[Sequence[str]]) -> list[Answer]:
    """What `runseal-verify` answers to each call."""
    with Pool() as pool:
        return pool.map(_call, calls, chunksize=16)


def said(answer: Answer) -> tuple[int, list[Any]]:
    """What both say in the same words: the exit code, and of each document what `_facts` lists."""
    code, printed = answer
    documents: list[Any] = []
    while printed := printed.lstrip():
        document, end = json.JSONDecoder().raw_decode(printed)
        documents.append(document)
        printed = printed[end:]
    return code, [_facts(each) for each in documents if "verdict" in each]


def _facts(answer: Any) -> list[Any]:
    known = [answer.get(name) for name in ("exit_code", "verdict", "first_failure")]
    if answer["verdict"] == "FAILED":
        return known
    notes = [note["sentence"] for note in answer.get("key_notes", [])]
    codes = sorted(each["code"] for each in answer["limitations"] if each["code"] in LIMITATIONS)
    witnessed = [each.get("message") for each in answer.get("checks", []) if each["id"] == "witnessed"]
    counted = [answer.get("note_count"), answer.get("unreported_acts")]
    return [*known, answer["service"], notes, codes, witnessed, counted]
