"""Run statements: docs/formats.md, chapter 14."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from . import forms as f
from .checks import FAILED, Checks, Outcome
from .forms import HASH, array, constant, integer, record, seconds, text
from .full_form_shapes import PRE_ANCHOR, RECEIPT_ANCHOR
from .json_text import Unreadable, canonical, parse
from .keys import verifies
from .trust import Key, Trust

Json = dict[str, Any]
PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_PAYLOAD_BYTES = 16_384
MAX_SIGNATURE_BYTES = 72
_KEY_ID = f.matching(r"SHA256:[A-Za-z0-9+/]{43}", "OpenSSH fingerprint")
_ENVELOPE = record(
    {
        "payload": f.base64_of(most=MAX_PAYLOAD_BYTES),
        "payloadType": constant(PAYLOAD_TYPE),
        "signatures": array(record({"keyid": _KEY_ID, "sig": f.base64_of(least=1, most=MAX_SIGNATURE_BYTES)}), 1, 1),
    }
)


def _anchor(*versions: str) -> f.Form:
    return record(
        {
            "leaf_version": constant(*versions),
            "log_id": f.base64_of(32),
            "log_index": f.decimal,
            "integrated_time": f.decimal,
        }
    )


_STATEMENT = record(
    {
        "_type": constant("https://in-toto.io/Statement/v1"),
        "subject": array(record({"name": text(1), "digest": record({"sha256": HASH})}), 1, 1),
        "predicateType": constant("urn:runseal:run-statement:v1"),
        "predicate": record(
            {
                "run_id": integer(1),
                "outcome_kind": constant(
                    *("ok", "pepg_deny", "ccv_halt", "macc_halt", "aivp_t4_halt", "attestation_gap")
                ),
                "tenant_id": f.TENANT_ID,
                "program_id": HASH,
                "route_id": text(1, 512),
                "execution_region": f.REGION,
                "created_at": f.clock,
                "payload_hash": HASH,
                "anchors": record(
                    {"complete_record": _anchor("vfa.complete_record.v1")},
                    {"pre_anchor": _anchor(*PRE_ANCHOR), "receipt": _anchor(*RECEIPT_ANCHOR)},
                ),
            },
            {
                "enforcement": constant("observe"),
                "ai_output_hash": HASH,
                "policy_hash": HASH,
                "manifest_hash": HASH,
                "receipt_hash": HASH,
            },
        ),
    }
)


def fingerprint(spki: bytes) -> str:
    """The OpenSSH fingerprint of a P-256 key: the name under which in-toto's libraries know it."""
    point = spki[-65:]
    parts = (b"ecdsa-sha2-nistp256", b"nistp256", point)
    wire = b"".join(len(each).to_bytes(4, "big") + each for each in parts)
    return f"SHA256:{base64.b64encode(hashlib.sha256(wire).digest()).decode().rstrip('=')}"


def _pre_authentication(payload: bytes) -> bytes:
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _shape_problem(payload: bytes, statement: Json) -> str | None:
    if canonical(statement).encode() != payload:
        return "The payload is not in its RFC 8785 form."
    said, anchors = statement["predicate"], statement["predicate"]["anchors"]
    if statement["subject"][0]["name"] != f"runs/{said['run_id']}":
        return "The subject is another run."
    outcome = said["outcome_kind"]
    if ("manifest_hash" in said) != (outcome == "ok") or ("receipt_hash" in said) != (outcome != "ok"):
        return "A completed run has a manifest, a refused one a receipt."
    if outcome == "aivp_t4_halt" and "ai_output_hash" not in said:
        return "What a review halted had an AI output."
    if ("policy_hash" in said) != (outcome != "attestation_gap"):
        return "Every run but an attestation gap was decided under a policy."
    if ("pre_anchor" in anchors) != (outcome == "ok") or ("receipt" in anchors and outcome == "ok"):
        return "The anchors are not those of the outcome."
    return None


def _signer(keyid: str, trust: Trust) -> Key | None:
    return next((key for key in trust.service_keys.values() if fingerprint(key.spki) == keyid), None)


def _signature_problem(document: Json, payload: bytes, statement: Json, trust: Trust) -> str | None:
    signature = document["signatures"][0]
    key = _signer(signature["keyid"], trust)
    if key is None:
        return "No trusted service key has this id."
    if not verifies(key.spki, base64.b64decode(signature["sig"]), _pre_authentication(payload)):
        return "The signature is wrong."
    if key.revoked is not None:
        return "The key was revoked, and nothing dates the signature."
    if key.last is not None and key.last < seconds(statement["predicate"]["created_at"]):
        return "The key was retired before the run."
    return None


def verify_run_statement(document: Json, trust: Trust) -> Outcome:
    """What is to be said of a run statement; raises Unreadable for what is none."""
    _ENVELOPE(document, "")
    payload = base64.b64decode(document["payload"])
    statement = parse(payload)
    if not isinstance(statement, dict):
        raise Unreadable("The payload is no statement.")
    _STATEMENT(statement, "/payload")
    checks, said = Checks(("shape", "signature")), statement["predicate"]
    checks.run("shape", lambda: _shape_problem(payload, statement))
    checks.run("signature", lambda: _signature_problem(document, payload, statement, trust))
    failed = checks.first_failure() is not None
    return Outcome(
        document="run_statement",
        verdict=FAILED if failed else "RUN STATEMENT SIGNED, NOT ANCHORED",
        checks=checks,
        run_id=said["run_id"],
        outcome_kind=said["outcome_kind"],
        tenant_id=said["tenant_id"],
        limitations=("observed_only",) if "enforcement" in said else (),
        ai_output_hash=said.get("ai_output_hash"),
        service=trust.service,
    )
