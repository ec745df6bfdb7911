"""C2SP signed notes, checkpoints and cosignatures."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from .forms import base64_of, decimal, fits
from .json_text import MAX_INTEGER
from .keys import verifies_ed25519

_MARK = "\u2014 "
_ED25519, COSIGNATURE = 1, 4


@dataclass(frozen=True)
class Signature:
    """One signature line of a note."""

    name: str
    hint: bytes
    value: bytes


@dataclass(frozen=True)
class Note:
    """A signed note: what was signed, and by whom it says so."""

    text: str
    signatures: tuple[Signature, ...]


@dataclass(frozen=True)
class Checkpoint:
    """Size and root of a log."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...]


@dataclass(frozen=True)
class VerifierKey:
    """A C2SP verifier key of Ed25519: of a note (type 1) or of a cosignature (type 4)."""

    name: str
    kind: int
    key: bytes
    hint: bytes


def read_note(text: str) -> Note | None:
    """The note, or None when it is none."""
    body, blank, lines = text.rpartition("\n\n")
    if not blank or not lines.endswith("\n") or not lines.startswith(_MARK):
        return None
    found: list[Signature] = []
    for line in lines[:-1].split("\n"):
        name, space, encoded = line.removeprefix(_MARK).partition(" ")
        if not line.startswith(_MARK) or not name or "+" in name or not space or not fits(base64_of(), encoded):
            return None
        value = base64.b64decode(encoded)
        if len(value) < 5:
            return None
        found.append(Signature(name, value[:4], value[4:]))
    return Note(f"{body}\n", tuple(found))


def read_checkpoint(text: str) -> Checkpoint | None:
    """The checkpoint that a note signs, or None when it is none."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] != "" or not lines[0] or not fits(decimal, lines[1]):
        return None
    if not fits(base64_of(32), lines[2]) or "" in lines[3:-1]:
        return None
    return Checkpoint(lines[0], int(lines[1]), base64.b64decode(lines[2]), tuple(lines[3:-1]))


def read_verifier_key(text: str) -> VerifierKey | None:
    """An Ed25519 verifier key, `<name>+<hint>+<base64 of type and key>`, or None when it is none."""
    parts = text.split("+", 2)
    if len(parts) != 3 or not parts[0] or not fits(base64_of(33), parts[2]):
        return None
    data = base64.b64decode(parts[2])
    hint = hashlib.sha256(parts[0].encode() + b"\n" + data).digest()[:4]
    if data[0] not in (_ED25519, COSIGNATURE) or hint.hex() != parts[1]:
        return None
    return VerifierKey(parts[0], data[0], data[1:], hint)


def signed_by(note: Note, key: VerifierKey) -> bool:
    """Whether the key signed the note, as a note or as a cosignature."""
    return any(_verifies(note, each, key) for each in note.signatures)


def cosigned_at(note: Note, key: VerifierKey) -> int | None:
    """Unix seconds of the key's cosignature, by the witness's clock; None without one that verifies."""
    for each in note.signatures:
        if key.kind == COSIGNATURE and _verifies(note, each, key):
            return int.from_bytes(each.value[:8], "big")
    return None


def _verifies(note: Note, signature: Signature, key: VerifierKey) -> bool:
    if (signature.name, signature.hint) != (key.name, key.hint):
        return False
    if key.kind == _ED25519:
        return verifies_ed25519(key.key, signature.value, note.text.encode())
    time, value = int.from_bytes(signature.value[:8], "big"), signature.value[8:]
    if not 0 < time <= MAX_INTEGER:
        return False
    message = f"cosignature/v1\ntime {time}\n{note.text}"
    return verifies_ed25519(key.key, value, message.encode())
