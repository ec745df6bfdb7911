"""Notes on keys that signed entries of a document and are no longer in force: docs/formats.md, chapter 15."""

from __future__ import annotations

import base64
from typing import Any

from .anchor import read_body
from .checks import KeyNote
from .forms import utc_of
from .keys import pem_of
from .trust import Key, Trust

Json = dict[str, Any]
_SLOTS = ("pre_anchor", "receipt", "complete_record")


def _entries(document: Json) -> list[Json]:
    """The entries of a document of the service's own log, then those of the redemptions in it."""
    anchors = document.get("anchors", {})
    holders = [document, document.get("receipt_anchor", {}), *(anchors.get(slot, {}) for slot in _SLOTS)]
    own = [each["entry"] for each in holders if "entry" in each]
    permits = [document.get("sections", {}).get("permit", {}), *document.get("openings", [])]
    redeemed = [each["redemption"]["entry"] for each in permits if "redemption" in each]
    return [*own, *redeemed] if own else []


def _note(role: str, key_id: str, key: Key | None, at: int) -> list[KeyNote]:
    logged = f"this was logged {utc_of(at)}"
    name = f"{role.capitalize()} key {key_id}"
    if key is not None and key.revoked is not None:
        sentence = f"{name}: key revoked from {utc_of(key.revoked)}, valid then ({logged})."
        return [KeyNote(role, key_id, "key_revoked_later", sentence)]
    if key is not None and key.last is not None:
        sentence = f"{name}: key retired, valid then (it signed until {utc_of(key.last)}, {logged})."
        return [KeyNote(role, key_id, "key_retired", sentence)]
    return []


def key_notes(document: Json, trust: Trust) -> tuple[KeyNote, ...]:
    """What is to be said of the keys of a document that verified with this trust document, one note a key."""
    notes: dict[str, KeyNote] = {}
    for entry in _entries(document):
        at, log_id = int(entry["integratedTime"]), base64.b64decode(entry["logId"]["keyId"]).hex()
        body = read_body(entry)
        signers = [(name, key) for name, key in trust.service_keys.items() if body and pem_of(key.spki) == body.key_pem]
        found = [note for name, key in signers for note in _note("service", name, key, at)]
        for note in [*found, *_note("log", log_id, trust.log_key(log_id, at), at)]:
            notes.setdefault(note.key_id, note)
    return tuple(notes.values())
