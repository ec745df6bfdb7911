"""C2SP signed notes, checkpoints and cosignatures."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

from .forms import base64_of, decimal, fits, units
from .json_text import MAX_INTEGER
from .keys import verifies_ed25519, verifies_ml_dsa_44

# Types of signatures: of the log itself, and of a witness, with Ed25519 or with ML-DSA-44. Beside each, the bytes of a key.
ED25519, COSIGNATURE, ML_DSA_44 = 1, 4, 6
_KEY_BYTES = {ED25519: 32, COSIGNATURE: 32, ML_DSA_44: 1312}
MAX_NOTE_UNITS = 131_072
MAX_SIGNATURES = 64
MAX_NAME_UNITS = 253
MAX_KEY_UNITS = 2_560
# Most bytes of a name in the message that ML-DSA-44 signs.
MAX_SIGNED_NAME = 255
_CONTROL = re.compile(r"[\0-\x09\x0b-\x1f]")
_NAME = re.compile("[^\\s\x85\ufeff+]+")


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
    """A C2SP verifier key."""

    name: str
    kind: int
    key: bytes
    hint: bytes

    @property
    def is_witness(self) -> bool:
        """Whether it signs as a witness, and not as the log."""
        return self.kind != ED25519


def _is_name(text: str) -> bool:
    return units(text) <= MAX_NAME_UNITS and _NAME.fullmatch(text) is not None


def read_note(text: str) -> Note | None:
    """The note, or None when it is none."""
    body, blank, lines = text.rpartition("\n\n")
    if not blank or not lines.endswith("\n") or units(text) > MAX_NOTE_UNITS or _CONTROL.search(text):
        return None
    found: list[Signature] = []
    for line in lines[:-1].split("\n"):
        mark, _, rest = line.partition(" ")
        name, _, encoded = rest.partition(" ")
        if mark != "\u2014" or not _is_name(name) or not fits(base64_of(least=5), encoded):
            return None
        value = base64.b64decode(encoded)
        found.append(Signature(name, value[:4], value[4:]))
    return Note(f"{body}\n", tuple(found)) if len(found) <= MAX_SIGNATURES else None


def read_checkpoint(text: str) -> Checkpoint | None:
    """The checkpoint that a note signs, or None when it is none."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] != "" or not lines[0] or not fits(decimal, lines[1]):
        return None
    if not fits(base64_of(32), lines[2]) or "" in lines[3:-1]:
        return None
    return Checkpoint(lines[0], int(lines[1]), base64.b64decode(lines[2]), tuple(lines[3:-1]))


def read_verifier_key(text: str) -> VerifierKey | None:
    """A verifier key, `<name>+<hint>+<base64 of type and key>`, or None when it is none."""
    parts = text.split("+", 2)
    if units(text) > MAX_KEY_UNITS or len(parts) != 3 or not _is_name(parts[0]) or not fits(base64_of(), parts[2]):
        return None
    data = base64.b64decode(parts[2])
    hint = hashlib.sha256(parts[0].encode() + b"\n" + data).digest()[:4]
    if len(data) - 1 != _KEY_BYTES.get(data[0] if data else 0) or hint.hex() != parts[1]:
        return None
    return VerifierKey(parts[0], data[0], data[1:], hint)


@dataclass(frozen=True)
class Signer:
    """A known key that signed a note; of a witness when, in Unix seconds by its clock."""

    key: VerifierKey
    at: int | None = None


def signers_of(note: Note, keys: tuple[VerifierKey, ...]) -> tuple[Signer, ...] | None:
    """Which of the keys signed the note; None when a line that names one of them is not signed by it. Lines of others are passed over."""
    signers: list[Signer] = []
    for line in note.signatures:
        # Name and hint are short: two keys may share them.
        named = [key for key in keys if (key.name, key.hint) == (line.name, line.hint)]
        signer = next((found for key in named if (found := _signer(note.text, line, key))), None)
        if named and signer is None:
            return None
        if signer is not None:
            signers.append(signer)
    return tuple(signers)


def _signer(text: str, line: Signature, key: VerifierKey) -> Signer | None:
    if key.kind == ED25519:
        return Signer(key) if verifies_ed25519(key.key, line.value, text.encode()) else None
    at, value = int.from_bytes(line.value[:8], "big"), line.value[8:]
    message = _cosigned(key, at, text) if 0 < at <= MAX_INTEGER and value else None
    verifies = verifies_ml_dsa_44 if key.kind == ML_DSA_44 else verifies_ed25519
    return Signer(key, at) if message is not None and verifies(key.key, value, message) else None


def _cosigned(key: VerifierKey, at: int, text: str) -> bytes | None:
    """What a witness signs: with ML-DSA-44 its name and the checkpoint's origin, size and root, so that there are no other lines."""
    if key.kind == COSIGNATURE:
        return f"cosignature/v1\ntime {at}\n{text}".encode()
    checkpoint = read_checkpoint(text)
    if checkpoint is None or checkpoint.extensions:
        return None
    name, origin = key.name.encode(), checkpoint.origin.encode()
    if len(name) > MAX_SIGNED_NAME or len(origin) > MAX_SIGNED_NAME:
        return None
    tree = bytes(8) + checkpoint.size.to_bytes(8, "big") + checkpoint.root
    named = bytes([len(name)]) + name + at.to_bytes(8, "big") + bytes([len(origin)]) + origin
    return b"subtree/v1\n\0" + named + tree
