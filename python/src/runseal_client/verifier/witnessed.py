"""The witnessed checkpoint that a served record carries: docs/formats.md, chapter 9."""

from __future__ import annotations

import base64
from typing import Any

from .anchor import of_one_tree
from .merkle import Tree, leaf_hash, root_of
from .notes import COSIGNATURE, Note, VerifierKey, cosigned_at, read_checkpoint, read_note, signed_by
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


def _named(note: Note, keys: tuple[VerifierKey, ...]) -> list[VerifierKey]:
    lines = {(each.name, each.hint) for each in note.signatures}
    return [key for key in keys if (key.name, key.hint) in lines]


def _signature_problem(note: Note, origin: str, trust: Trust) -> str | None:
    name = trust.origin.replace(" - ", "/")
    named = _named(note, trust.checkpoint_keys)
    of_log = any(key.kind != COSIGNATURE and key.name == name for key in named)
    if origin != name or not of_log or not all(signed_by(note, key) for key in named):
        return "The witnessed checkpoint is not signed by the log, or a signature under it is not the signer's."
    witnesses = [each for each in note.signatures if each.name != name]
    return None if witnesses else "No witness signed the witnessed checkpoint."


def witnesses_of(anchors: Json, trust: Trust) -> tuple[tuple[str, int], ...]:
    """The trusted witnesses that signed, and when by their clocks, in Unix seconds."""
    note = read_note(anchors.get("witnessed", {}).get("checkpoint", ""))
    if note is None:
        return ()
    times = [(key.name, cosigned_at(note, key)) for key in _named(note, trust.checkpoint_keys)]
    return tuple((name, at) for name, at in times if at is not None)
