"""The witnessed checkpoint that a served record carries: docs/formats.md, chapter 9."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from .anchor import of_one_tree
from .forms import utc_of
from .merkle import Tree, leaf_hash, root_of
from .notes import Note, Signer, read_checkpoint, read_note, signers_of
from .trust import Trust

Json = dict[str, Any]
_SLOTS = ("pre_anchor", "receipt", "complete_record")


def witnessed_problem(anchors: Json, trust: Trust) -> str | None:
    """Why the witnessed checkpoint does not hold the record's entries, or is not signed by whom it names, or None."""
    witnessed = anchors["witnessed"]
    own = [slot for slot in _SLOTS if slot in anchors]
    if not own or own != [slot for slot in _SLOTS if slot in witnessed]:
        return "Not exactly the log entries of the record have a path to the witnessed tree."
    note = read_note(witnessed["checkpoint"])
    checkpoint = None if note is None else read_checkpoint(note.text)
    if note is None or checkpoint is None:
        return "The witnessed checkpoint is none."
    for slot in own:
        entry, tree = anchors[slot]["entry"], Tree()
        leaf = leaf_hash(base64.b64decode(entry["canonicalizedBody"]))
        path = [base64.b64decode(each) for each in witnessed[slot]]
        place = (leaf, int(entry["logIndex"]), checkpoint.size, path)
        if root_of(*place) != checkpoint.root:
            return f"The path of the {slot} entry does not lead to the root of the witnessed tree."
        if not (of_one_tree(tree, entry) and tree.add(*place, checkpoint.root) and tree.agrees()):
            return "The witnessed tree is another than that of the record's own proofs: the log was forked."
    return _signature_problem(note, checkpoint.origin, trust)


@dataclass(frozen=True)
class Signers:
    """Whose signatures a witnessed checkpoint has: the log's own, those of trusted witnesses, and others, which were not checked."""

    of_log: bool
    witnesses: tuple[Signer, ...]
    others: int


def _signers(note: Note, trust: Trust) -> Signers | None:
    """None when a signature of a trusted key is wrong."""
    signers = signers_of(note, trust.checkpoint_keys)
    if signers is None:
        return None
    known = {(each.key.name, each.key.hint) for each in signers}
    others = [each for each in note.signatures if each.name != trust.log_name and (each.name, each.hint) not in known]
    of_log = any(not each.key.is_witness and each.key.name == trust.log_name for each in signers)
    return Signers(of_log, tuple(each for each in signers if each.key.is_witness), len(others))


def _signature_problem(note: Note, origin: str, trust: Trust) -> str | None:
    signers = _signers(note, trust)
    if origin != trust.log_name or signers is None or not signers.of_log:
        return "The witnessed checkpoint is not signed by the log, or a signature under it is not the signer's."
    return None if signers.witnesses or signers.others else "No witness signed the witnessed checkpoint."


def witnessed_text(anchors: Json, trust: Trust) -> str:
    """What is to be said of a witnessed checkpoint that holds."""
    note = read_note(anchors["witnessed"]["checkpoint"])
    checkpoint = None if note is None else read_checkpoint(note.text)
    signers = None if note is None else _signers(note, trust)
    if checkpoint is None or signers is None:
        return ""
    signed = ", ".join(f"{each.key.name} at {utc_of(each.at or 0)}" for each in signers.witnesses)
    parts = [
        f"its entries are among the first {checkpoint.size} of the log",
        *([f"cosigned by {signed}"] if signed else []),
        *([f"signatures of keys that you do not trust, not checked: {signers.others}"] if signers.others else []),
    ]
    return "; ".join(parts)
