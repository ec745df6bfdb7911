"""Leaf, signature and place in the log: docs/formats.md, chapter 8."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .forms import HASH, fits, seconds
from .json_text import Unreadable, canonical, digest, parse
from .keys import key_id, pem_of, verifies, verifies_hash
from .merkle import Tree, leaf_hash, root_of
from .notes import read_checkpoint, read_note
from .trust import Trust

Json = dict[str, Any]
MAX_SECONDS_FROM_CLOCK = 600


@dataclass(frozen=True)
class Body:
    """What an entry's body says."""

    digest: str
    signature: bytes
    key_pem: str


def read_body(entry: Json) -> Body | None:
    """The body of an entry, when it is in its one spelling."""
    return _body_of(entry["canonicalizedBody"])


@lru_cache(maxsize=1024)
def _body_of(encoded: str) -> Body | None:
    raw = base64.b64decode(encoded)
    try:
        value = parse(raw)
        if canonical(value).encode() != raw:
            return None
        spec = value["spec"]
        found, content = spec["data"]["hash"]["value"], spec["signature"]["content"]
        key = spec["signature"]["publicKey"]["content"]
        pem, signature = base64.b64decode(key, validate=True), base64.b64decode(content, validate=True)
        again = {
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": found}},
                "signature": {
                    "content": base64.b64encode(signature).decode(),
                    "publicKey": {"content": base64.b64encode(pem).decode()},
                },
            },
        }
        fits_again = fits(HASH, found) and canonical(again).encode() == raw
        return Body(found, signature, pem.decode("ascii")) if fits_again else None
    except (Unreadable, KeyError, TypeError, ValueError):
        return None


def entry_problem(entry: Json, trust: Trust) -> str | None:
    """Why the entry is not one that a trusted service key signed and a trusted log took, or None."""
    if entry["kindVersion"] != {"kind": "hashedrekord", "version": "0.0.1"}:
        return "The entry is of another kind."
    body = read_body(entry)
    if body is None:
        return "The entry's body is not in its one spelling."
    at = int(entry["integratedTime"])
    key = next((each for each in trust.service_keys.values() if pem_of(each.spki) == body.key_pem), None)
    if key is None or not key.holds_at(at):
        return "No trusted service key, valid at the log's time, signed the leaf."
    if not verifies_hash(key.spki, body.signature, bytes.fromhex(body.digest)):
        return "The service's signature is wrong."
    if base64.b64decode(entry["logId"]["keyId"]).hex() not in trust.log_keys:
        return "The entry is of a log without a trusted key."
    return None


def inclusion_problem(entry: Json, trust: Trust) -> str | None:
    """Why the entry is not proven to be in the trusted log, or None."""
    log = trust.log_key(base64.b64decode(entry["logId"]["keyId"]).hex(), int(entry["integratedTime"]))
    if log is None:
        return "The log is not trusted, or was not at that time."
    proof = entry["inclusionProof"]
    if proof["logIndex"] != entry["logIndex"]:
        return "The proof is of another place."
    root = base64.b64decode(proof["rootHash"])
    if _root(entry) != root:
        return "Leaf and path do not give the root."
    note = read_note(proof["checkpoint"]["envelope"])
    checkpoint = None if note is None else read_checkpoint(note.text)
    if note is None or checkpoint is None or checkpoint.extensions or len(note.signatures) != 1:
        return "The checkpoint is none, or has more than it may."
    if (checkpoint.origin, str(checkpoint.size), checkpoint.root) != (trust.origin, proof["treeSize"], root):
        return "The checkpoint is of another tree."
    signature = note.signatures[0]
    hint = bytes.fromhex(key_id(log.spki))[:4]
    if (signature.name, signature.hint) != (trust.host, hint):
        return "The checkpoint is signed under another name."
    if not verifies(log.spki, signature.value, note.text.encode()):
        return "The checkpoint's signature is wrong."
    promise = {
        "body": entry["canonicalizedBody"],
        "integratedTime": int(entry["integratedTime"]),
        "logID": key_id(log.spki),
        "logIndex": int(entry["logIndex"]),
    }
    signed = base64.b64decode(entry["inclusionPromise"]["signedEntryTimestamp"])
    if not verifies(log.spki, signed, canonical(promise).encode()):
        return "The log's promise is wrong."
    return None


def _path(entry: Json) -> tuple[bytes, int, int, list[bytes]]:
    proof = entry["inclusionProof"]
    leaf = leaf_hash(base64.b64decode(entry["canonicalizedBody"]))
    hashes = [base64.b64decode(each) for each in proof["hashes"]]
    return leaf, int(proof["logIndex"]), int(proof["treeSize"]), hashes


def _root(entry: Json) -> bytes | None:
    return root_of(*_path(entry))


def redemption_problem(permit_id: str, redemption: Json, trust: Trust) -> str | None:
    """Why the redemption of a permit is not anchored as it says, or None."""
    entry, clock = redemption["entry"], redemption["redeemed_clock"]
    leaf = {"leaf_version": "vfa.redemption_leaf.v1", "permit_id": permit_id, "redeemed_clock": clock}
    problem = anchor_problem(entry, digest(leaf), trust)
    if problem is not None:
        return f"The redemption: {problem[1]}"
    if entry["logIndex"] == "0":
        return "Entry 0 is the log's birth, and no redemption."
    late = time_problem(entry, seconds(clock))
    return None if late is None else f"The redemption: {late}"


def is_between(entry: Json, before: int, behind: Json) -> bool:
    """Whether an entry is behind an index and before another entry, which was not logged at an earlier time."""
    in_order = before < int(entry["logIndex"]) < int(behind["logIndex"])
    return in_order and int(entry["integratedTime"]) <= int(behind["integratedTime"])


def of_one_tree(tree: Tree, entry: Json) -> bool:
    """Adds the entry, whose proof holds, to what is known of the tree; false when it is of another."""
    root = _root(entry)
    return root is not None and tree.add(*_path(entry), root)


def time_problem(entry: Json, clock_second: int, window: bool = False) -> str | None:
    """Why the entry was not logged in time, or None."""
    distance = int(entry["integratedTime"]) - clock_second
    if abs(distance) > MAX_SECONDS_FROM_CLOCK:
        return f"Logged {abs(distance)} s {'after' if distance > 0 else 'before'} the record's clock."
    return "Logged before the sealed window." if window and distance < 0 else None


def anchor_problem(entry: Json, leaf_digest: str, trust: Trust) -> tuple[str, str] | None:
    """The first of the checks leaf, entry and inclusion that fails, with its reason."""
    body = read_body(entry)
    if body is None or body.digest != leaf_digest:
        return "leaf", "The entry's body names another leaf."
    problem = entry_problem(entry, trust)
    if problem is not None:
        return "entry", problem
    problem = inclusion_problem(entry, trust)
    return None if problem is None else ("inclusion", problem)
