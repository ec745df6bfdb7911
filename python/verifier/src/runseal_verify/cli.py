"""The command `runseal-verify`: the second verifier, on documents in files or on standard input."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from .checks import FAILED, LIMITATIONS, Outcome
from .complete_export import ExportOutcome, verify_export
from .documents import verify_text
from .jobs import MAX_JOBS, Line, in_order
from .json_text import MAX_DOCUMENT_BYTES, Unreadable
from .trust import Trust, read_trust

_SIGNS = {"pass": "\u2713", "fail": "\u2717", "absent": "\u2013"}
NOT_CHECKED = (
    "That what the caller declared is true: it is sealed as declared.",
    "That the policy comes to the sealed decision: `verifier --decided-by` makes it again.",
    "That the log time is correct, and that everybody is shown the same log.",
    "That no later record of the tenant was left out: use `--complete` with an export of today.",
)

NOT_CHECKED_OF_EXPORTS = (
    "That nothing was sealed after the statement, and that the tenant has one chain alone.",
    "Of a piece by time: that no document outside of it was admitted in that time. The service states it.",
    *NOT_CHECKED[:3],
)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="runseal-verify",
        description="Verifies a sealed Runseal document without a connection to its service.",
        epilog="Reports in PDF and entries in other logs (Rekor) are for `verifier`; "
        "a document with one of them is refused with exit code 2.",
    )
    parser.add_argument("document", help="a file, or - for standard input")
    parser.add_argument(
        "--trust", action="append", required=True, metavar="FILE", help="trust document; may be repeated"
    )
    parser.add_argument("--allow-unanchored", action="store_true", help="exit 0 for a document without a log entry")
    parser.add_argument("--ai-output", metavar="FILE", help="fail for a record of another output than these bytes")
    parser.add_argument(
        "--strict",
        type=_codes,
        default=(),
        metavar="LIST",
        help=f"fail on these limitations, with commas: {', '.join(LIMITATIONS)}",
    )
    parser.add_argument("--quiet", action="store_true", help="print the verdict alone")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--complete", action="store_true", help="the input is an export: is it complete?")
    parser.add_argument("--ndjson", action="store_true", help="the input holds one document a line")
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=1,
        metavar="N",
        help=f"judge the documents of an export or of many lines in N processes, 1 to {MAX_JOBS}",
    )
    return parser.parse_args(arguments)


def _jobs(number: str) -> int:
    if number not in map(str, range(1, MAX_JOBS + 1)):
        raise argparse.ArgumentTypeError(f"it takes a number from 1 to {MAX_JOBS}")
    return int(number)


def _codes(names: str) -> tuple[str, ...]:
    codes = tuple(names.split(","))
    if not set(codes) <= set(LIMITATIONS):
        raise argparse.ArgumentTypeError(f"it takes {', '.join(LIMITATIONS)}; others are for `verifier`")
    return codes


_UTF_16 = (
    "The input is UTF-16 text, as > of Windows PowerShell writes it: save it as UTF-8, with Out-File -Encoding utf8."
)
_OTHERS = {
    b"%PDF-": "The input is a report in PDF, which `verifier` reads; here verify the bundle of its run.",
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"\x1f\x8b": "The input is compressed with gzip: unpack it first, with gunzip.",
    b"\x28\xb5\x2f\xfd": "The input is compressed with Zstandard: unpack it first, with unzstd.",
    b"PK\x03\x04": "The input is a ZIP archive: unpack it first.",
}


def _text_of(data: bytes) -> bytes:
    """The text of a saved document, without one leading byte order mark; raises Unreadable for a file of another kind."""
    for begins, sentence in _OTHERS.items():
        if data.startswith(begins):
            raise Unreadable(sentence)
    if b"\0" in data[:2]:
        raise Unreadable(_UTF_16)
    return data.removeprefix(b"\xef\xbb\xbf")


def _read(name: str) -> bytes:
    if name == "-":
        return _text_of(sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1))
    path = Path(name)
    if path.stat().st_size > MAX_DOCUMENT_BYTES:
        raise Unreadable(f"The document has more than {MAX_DOCUMENT_BYTES} bytes.")
    return _text_of(path.read_bytes())


def _shown(text: str) -> str:
    return "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in text)[:300]


def unmet(outcome: Outcome, output: bytes | None, strict: Sequence[str]) -> tuple[str, str] | None:
    """What the user expects and the document is not, as the id of a check and a sentence, or None."""
    if output is not None and hashlib.sha256(output).hexdigest() not in (
        outcome.ai_output_hash,
        outcome.declared_output_hash,
    ):
        return "expected_ai_output", "The document states no output hash, or that of another output."
    refused = next((code for code in outcome.limitations if code in strict), None)
    return None if refused is None else ("strict", LIMITATIONS[refused])


def as_json(outcome: Outcome, exit_code: int) -> dict[str, object]:
    """What --json prints of a document, with the keys of `verifier --json`."""
    checks = [
        {"id": name, "result": outcome.checks.results.get(name, ("absent", ""))[0]}
        | ({"message": outcome.checks.results[name][1]} if outcome.checks.results.get(name, ("", ""))[1] else {})
        for name in outcome.checks.names
    ]
    facts = {
        "schema_version": 1,
        "verdict": outcome.verdict,
        "exit_code": exit_code,
        "first_failure": outcome.first_failure,
        "service": outcome.service,
        "document": outcome.document,
        "run_id": outcome.run_id,
        "outcome_kind": outcome.outcome_kind,
        "checks": checks,
        "withheld": list(outcome.withheld),
        "limitations": [{"code": code, "sentence": LIMITATIONS[code]} for code in outcome.limitations],
        "key_notes": [asdict(note) for note in outcome.key_notes] or None,
        "not_checked": list(NOT_CHECKED),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _text(outcome: Outcome) -> list[str]:
    lines = [f"Document   {outcome.document}, trusted by the trust document of {outcome.service}"]
    failed = outcome.checks.first_failure()
    if failed is None and outcome.run_id is not None:
        lines.append(f"Run        {outcome.run_id}, outcome {outcome.outcome_kind}")
    for name in outcome.checks.names:
        result, message = outcome.checks.results.get(name, ("absent", ""))
        lines.append(f"  {_SIGNS[result]} {name}" + (f": {message}" if message else ""))
    lines += ["Keys"] if outcome.key_notes else []
    lines += [f"  {note.sentence}" for note in outcome.key_notes]
    lines += [f"Withheld   {name}: only its hash was checked" for name in outcome.withheld]
    lines += [f"Limitation  {code}: {LIMITATIONS[code]}" for code in outcome.limitations]
    lines += ["Not checked", *(f"  {each}" for each in NOT_CHECKED)]
    if failed is not None:
        lines.append(f"First failed check: {failed[0]}. {failed[1]}")
    return [_shown(line) for line in lines]


def _judged(data: bytes, trust: Sequence[Trust], options: argparse.Namespace) -> tuple[int, str]:
    """The exit code of one document, and what is printed of it."""
    outcome = verify_text(data, trust)
    expected = None if outcome.verdict == FAILED else unmet(outcome, options.output, options.strict)
    code = outcome.exit_code(options.allow_unanchored) if expected is None else 1
    verdict = outcome.verdict if expected is None else FAILED
    if options.json:
        failure = {} if expected is None else {"verdict": verdict, "first_failure": expected[0]}
        return code, json.dumps({**as_json(outcome, code), **failure})
    lines = [] if options.quiet else _text(outcome)
    if not options.quiet:
        if options.output is not None and expected is None and outcome.declared_output_hash is not None:
            lines.append("Expected   the output: its hash is the caller's, and the service never had the output.")
        if expected is not None:
            lines.append(f"First failed check: {expected[0]}. {expected[1]}")
    return code, "\n".join([*lines, verdict])


def _one(data: bytes, trust: Sequence[Trust], options: argparse.Namespace) -> int:
    code, printed = _judged(data, trust, options)
    print(printed)
    return code


def _judged_line(line: Line, trust: Sequence[Trust], options: argparse.Namespace) -> tuple[int, str]:
    number, data = line
    try:
        return _judged(data, trust, options)
    except Unreadable as unreadable:
        return 2, f"line {number}: {_shown(str(unreadable))}"


def _each_line(data: bytes, trust: Sequence[Trust], options: argparse.Namespace) -> int:
    numbered = ((number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip(b" \t\r"))
    worst = 0
    for code, printed in in_order(partial(_judged_line, trust=trust, options=options), numbered, options.jobs):
        print(printed, file=sys.stderr if code == 2 else sys.stdout)
        worst = max(worst, code)
    return worst


def _lines(name: str) -> Iterator[bytes]:
    """The lines of an export, one at a time: an export may be larger than memory."""
    with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
        yield _text_of(file.readline(MAX_DOCUMENT_BYTES + 2)).rstrip(b"\r\n")
        while line := file.readline(MAX_DOCUMENT_BYTES + 2):
            yield line.rstrip(b"\r\n")


def export_as_json(outcome: ExportOutcome, exit_code: int) -> dict[str, object]:
    """What --complete --json prints."""
    windows = [
        {
            "window_start": start,
            "window_seconds": length,
            "movements": len(moved),
            "last_ordinal": max(moved),
            "missing": max(moved) - len(moved),
            "total": moved[max(moved)].after,
        }
        for (start, length), moved in sorted(outcome.windows.items())
        if moved
    ]
    return {
        "schema_version": 1,
        "document": "export",
        "verdict": outcome.verdict,
        "exit_code": exit_code,
        "service": outcome.service,
        "counts": outcome.counts,
        "unreported_acts": outcome.unreported_acts,
        "windows": windows,
        "problems": outcome.problems,
        "limitations": [{"code": code, "sentence": LIMITATIONS[code]} for code in outcome.limitations],
        "notes": outcome.notes,
        "note_count": outcome.note_count,
        "not_checked": list(NOT_CHECKED_OF_EXPORTS),
    }


def _complete(trust: Sequence[Trust], options: argparse.Namespace) -> int:
    outcome = verify_export(_lines(options.document), list(trust), options.jobs)
    refused = [LIMITATIONS[code] for code in outcome.limitations if code in options.strict]
    if refused:
        outcome = replace(outcome, verdict=FAILED, problems=[*outcome.problems, *refused])
    code = 1 if outcome.verdict == FAILED else 0
    if options.json:
        print(json.dumps(export_as_json(outcome, code)))
        return code
    if not options.quiet:
        lines = [f"Document   export, trusted by the trust document of {outcome.service}"]
        lines += [f"  {count} {name}" for name, count in outcome.counts.items() if count]
        lines += [f"  {outcome.unreported_acts} acts started and never reported"] if outcome.unreported_acts else []
        for (start, length), moved in sorted(outcome.windows.items()):
            last, missing = max(moved), max(moved) - len(moved)
            lines.append(f"Window     {start}, {length} s: movement {last} leaves {moved[last].after} tokens")
            lines += [f"  {missing} movements have no document here"] if missing else []
        lines += [f"  \u2717 {each}" for each in outcome.problems]
        lines += [f"Limitation  {code}: {LIMITATIONS[code]}" for code in outcome.limitations]
        lines += ["Changed on the way", *(f"  {each}" for each in outcome.notes)] if outcome.notes else []
        more = outcome.note_count - len(outcome.notes)
        lines += [f"  and {more} more"] if more else []
        lines += ["Not checked", *(f"  {each}" for each in NOT_CHECKED_OF_EXPORTS)]
        print("\n".join(_shown(line) for line in lines))
    print(outcome.verdict)
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and gives its exit code: 0 verified, 1 failed or not anchored, 2 nothing was verified."""
    options = _arguments(arguments)
    try:
        trust = [read_trust(_text_of(Path(name).read_bytes())) for name in options.trust]
        if options.complete and options.ai_output is not None:
            raise Unreadable("--complete takes no --ai-output: an export is of many records.")
        options.output = None if options.ai_output is None else Path(options.ai_output).read_bytes()
        if options.complete:
            return _complete(trust, options)
        data = _read(options.document)
        return (_each_line if options.ndjson or options.document.endswith(".ndjson") else _one)(data, trust, options)
    except (Unreadable, OSError) as problem:
        reason = _shown(str(problem)) if isinstance(problem, Unreadable) else "A file could not be read."
        print(f"Nothing was verified: {reason}", file=sys.stderr)
        return 2
