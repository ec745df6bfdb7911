"""Attestations and export statements: docs/formats.md, sections 7.6 and 7.7."""

from __future__ import annotations

from typing import Any

from . import forms as f
from . import shapes
from .anchor import entry_problem, inclusion_problem, read_body, time_problem
from .checks import FAILED, Checks, Outcome
from .derivation import ZEROS
from .forms import COUNT, HASH, array, constant, integer, milliseconds, record, seconds, text
from .json_text import digest
from .manifests import tenant_commitment
from .trust import Trust

Json = dict[str, Any]
_SUBJECT: dict[str, f.Form] = {"subject_ref": text(1, 512)}
_ATTESTATION_ID = f.matching(r"att-[0-9a-f]{32}", "attestation id")
_ATTESTATION_LEAF = record(
    {
        "leaf_version": constant("vfa.attestation.v1"),
        "digest": HASH,
        "algorithm": constant("sha256"),
        "attestation_id": _ATTESTATION_ID,
    },
    _SUBJECT,
)
_SHOWN: dict[str, f.Form] = {
    "attestation_id": _ATTESTATION_ID,
    "digest": HASH,
    "log_entry_id": f.decimal,
    "leaf": _ATTESTATION_LEAF,
    "entry": shapes.ENTRY,
}
_ANSWER = record({"ok": constant(True), **_SHOWN})
_LISTED = record({"created_at": f.clock, "algorithm": constant("sha256"), **_SHOWN}, _SUBJECT)

_WINDOW = record({"window_seconds": integer(1), "window_start": f.clock, "last_ordinal": integer(1), "total": COUNT})
_PIECE = ("first_ordinal", "last_ordinal", "previous_record", "last_record")
MAX_WINDOWS = 4_096
_STATEMENT = record(
    {
        "kind": constant("vfa.export.v2"),
        "tenant_id": f.matching(r"deployment|anonymous|api-key-[1-9][0-9]{0,15}", "tenant"),
        "tenant_salt": HASH,
        "windows": array(_WINDOW, 0, MAX_WINDOWS),
        "leaf": record(
            {
                "leaf_version": constant("vfa.export_statement.v2"),
                "tenant_commitment": HASH,
                "export_clock": f.clock,
                "head_ordinal": COUNT,
                "head": HASH,
                "open_permits": COUNT,
                "records": COUNT,
                "openings": COUNT,
                "ends": COUNT,
                "windows_hash": HASH,
            },
            {
                "events": integer(1),
                "requests": integer(1),
                "from": f.clock,
                "to": f.clock,
                "first_ordinal": integer(1),
                "last_ordinal": integer(1),
                "previous_record": HASH,
                "last_record": HASH,
            },
        ),
        "entry": shapes.ENTRY,
    }
)


def verify_attestation(document: Json, trust: Trust) -> Outcome:
    """What is to be said of an attestation; raises Unreadable for what is none."""
    listed = "ok" not in document
    (_LISTED if listed else _ANSWER)(document, "")
    leaf, entry, checks = document["leaf"], document["entry"], Checks()
    checks.put("shape", None)
    repeated = ("attestation_id", "digest", *(("algorithm", "subject_ref") if listed else ()))
    body = read_body(entry)
    fits = all(document.get(name) == leaf.get(name) for name in repeated)
    fits = fits and document["log_entry_id"] == entry["logIndex"] and entry["logIndex"] != "0"
    fits = fits and body is not None and body.digest == digest(leaf)
    checks.put("leaf", None if fits else "The entry is of another leaf.")
    checks.run("entry", lambda: entry_problem(entry, trust))
    checks.run("inclusion", lambda: inclusion_problem(entry, trust))
    timed = not listed or milliseconds(document["created_at"]) == int(entry["integratedTime"]) * 1000
    checks.put("log_time", None if timed else "The list gives another time than the log.")
    failed = checks.first_failure() is not None
    verdict = FAILED if failed else "ATTESTATION VERIFIED AND ANCHORED"
    return Outcome("attestation", verdict, checks, service=trust.service)


def _statement_shape(document: Json) -> str | None:
    leaf, events = document["leaf"], document["leaf"].get("events", 0)
    runs, head = leaf["records"] + leaf["openings"] + leaf["ends"] + leaf.get("requests", 0), leaf["head_ordinal"]
    count, deployment = runs + events, document["tenant_id"] == "deployment"
    if (events and not deployment) or (runs and deployment):
        return "The chain of the deployment has events only, and no other chain has any."
    if (leaf["head"] == ZEROS) != (head == 0) or leaf["open_permits"] > head:
        return "The head is none exactly before the first document."
    keys = [(each["window_start"], each["window_seconds"]) for each in document["windows"]]
    if keys != sorted(set(keys)):
        return "The windows are not in their order."
    if any(milliseconds(start) % (length * 1000) for start, length in keys):
        return "A window begins at another time."
    if "from" in leaf and "to" in leaf and milliseconds(leaf["from"]) > milliseconds(leaf["to"]):
        return "The time ends before it begins."
    stated = [name for name in _PIECE if name in leaf]
    if not stated:
        whole = "from" not in leaf and "to" not in leaf
        return "The statement speaks of no piece, and of documents." if count or (whole and head) else None
    if len(stated) != len(_PIECE):
        return "The facts of a piece are there together."
    first, last = leaf["first_ordinal"], leaf["last_ordinal"]
    if not 1 <= first <= last <= head or count != last - first + 1:
        return "The ordinals of the piece are not in order."
    if (leaf["previous_record"] == ZEROS) != (first == 1) or (leaf["last_record"] == leaf["head"]) != (last == head):
        return "The piece does not begin or end where it says."
    if leaf["last_record"] == ZEROS:
        return "The last document has no digest."
    if leaf["previous_record"] in (leaf["last_record"], leaf["head"]):
        return "The piece begins where it ends."
    if "from" not in leaf and "to" not in leaf and (first, last) != (1, head):
        return "An export of everything is the chain."
    return None


def _statement_leaf(document: Json) -> str | None:
    leaf, entry = document["leaf"], document["entry"]
    if leaf["tenant_commitment"] != tenant_commitment(document):
        return "The statement is of another tenant."
    if leaf["windows_hash"] != digest({"kind": "vfa.export_windows.v1", "windows": document["windows"]}):
        return "The windows are others than the statement's."
    body = read_body(entry)
    if body is None or body.digest != digest(leaf):
        return "The entry's body names another leaf."
    if int(entry["logIndex"]) <= leaf["head_ordinal"]:
        return "The log has fewer entries before it than the chain has documents."
    return None


def verify_export_statement(document: Json, trust: Trust) -> Outcome:
    """What is to be said of the first line of an export; raises Unreadable for what is none."""
    _STATEMENT(document, "")
    entry, checks = document["entry"], Checks()
    checks.run("shape", lambda: _statement_shape(document))
    checks.run("leaf", lambda: _statement_leaf(document))
    checks.run("entry", lambda: entry_problem(entry, trust))
    checks.run("inclusion", lambda: inclusion_problem(entry, trust))
    checks.run("log_time", lambda: time_problem(entry, seconds(document["leaf"]["export_clock"])))
    failed = checks.first_failure() is not None
    verdict = FAILED if failed else "EXPORT STATEMENT VERIFIED AND ANCHORED"
    return Outcome("export_statement", verdict, checks, tenant_id=document["tenant_id"], service=trust.service)
