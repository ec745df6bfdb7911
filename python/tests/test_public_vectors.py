"""Vectors that others publish, which lie beside the repository and are never part of it; and cosignatures."""

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from places import REPOSITORY

from runseal_verify.json_text import canonical
from runseal_verify.merkle import grows_from, root_of
from runseal_verify.notes import (
    Signer,
    read_checkpoint,
    read_note,
    read_verifier_key,
    signers_of,
)

SHARED = Path(os.environ.get("RUNSEAL_TEST_VECTORS") or REPOSITORY.parent / "shared" / "vectors")


def _below(folder: str, pattern: str) -> list[Path]:
    return sorted((SHARED / folder).glob(pattern))


def _hashes(values: list[str] | None) -> list[bytes]:
    return [base64.b64decode(each) for each in values or []]


@pytest.mark.parametrize("path", _below("json-canonicalization", "input/*.json"), ids=lambda each: each.stem)
def test_rfc_8785(path: Path) -> None:
    wanted = bytes.fromhex((SHARED / "json-canonicalization/outhex" / f"{path.stem}.txt").read_text())
    # Not by the strict reader: one vector has a number that no document of ours may spell so.
    assert canonical(json.loads(path.read_bytes())).encode() == wanted


@pytest.mark.parametrize(
    "path", _below("merkle", "inclusion/**/*.json"), ids=lambda each: f"{each.parent.name}-{each.stem}"
)
def test_inclusion(path: Path) -> None:
    vector: dict[str, Any] = json.loads(path.read_text())
    leaf, root = base64.b64decode(vector["leafHash"]), base64.b64decode(vector["root"])
    given = root_of(leaf, vector["leafIdx"], vector["treeSize"], _hashes(vector["proof"]))
    fits = given == root and all(len(each) == 32 for each in (leaf, *_hashes(vector["proof"])))
    assert fits != vector["wantErr"]


@pytest.mark.parametrize(
    "path", _below("merkle", "consistency/**/*.json"), ids=lambda each: f"{each.parent.name}-{each.stem}"
)
def test_consistency(path: Path) -> None:
    vector: dict[str, Any] = json.loads(path.read_text())
    first, second = base64.b64decode(vector["root1"]), base64.b64decode(vector["root2"])
    fits = grows_from(vector["size1"], first, vector["size2"], second, _hashes(vector["proof"]))
    assert fits != vector["wantErr"]


def _note_vectors(name: str) -> list[dict[str, Any]]:
    path = SHARED / "signed-note" / "note-vectors.json"
    found: list[dict[str, Any]] = json.loads(path.read_text())[name] if path.exists() else []
    return found


@pytest.mark.parametrize("vector", _note_vectors("notes"), ids=lambda each: each["source"])
def test_notes(vector: dict[str, Any]) -> None:
    key, note = read_verifier_key(vector["vkey"]), read_note(vector["note"])
    assert key is not None and note is not None
    assert note.text == vector["text"]
    assert bool(signers_of(note, (key,))) is vector["valid"]


@pytest.mark.parametrize("vector", _note_vectors("badVkeys"), ids=lambda each: each["why"])
def test_bad_verifier_keys(vector: dict[str, Any]) -> None:
    assert read_verifier_key(vector["vkey"]) is None


# C2SP tlog-cosignature, signed here with nothing of the verifier's own.
TEXT = "log.example/1\n12\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
WITNESS = "witness.example"
AT = 1_795_490_594


def _cosigned(text: str = TEXT, at: int = AT, signed_at: int | None = None, kind: int = 4) -> tuple[str, str]:
    """A verifier key and a note that it cosigned."""
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    data = bytes([kind]) + private.public_key().public_bytes_raw()
    hint = hashlib.sha256(WITNESS.encode() + b"\n" + data).digest()[:4]
    message = f"cosignature/v1\ntime {at if signed_at is None else signed_at}\n{text}".encode()
    line = base64.b64encode(hint + at.to_bytes(8, "big") + private.sign(message)).decode()
    key = f"{WITNESS}+{hint.hex()}+{base64.b64encode(data).decode()}"
    return key, f"{text}\n\u2014 {WITNESS} {line}\n"


def test_a_cosignature_dates_a_checkpoint() -> None:
    spelt, text = _cosigned()
    key, note = read_verifier_key(spelt), read_note(text)
    assert key is not None and note is not None
    assert signers_of(note, (key,)) == (Signer(key, AT),)
    checkpoint = read_checkpoint(note.text)
    assert checkpoint is not None and (checkpoint.origin, checkpoint.size) == ("log.example/1", 12)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (_cosigned(signed_at=AT + 1), "another time than the one that was signed"),
        ((_cosigned()[0], _cosigned()[1].replace("\n12\n", "\n13\n")), "another checkpoint"),
        ((_cosigned()[0], _cosigned()[1].replace(f"{WITNESS} ", "other.example ")), "another name"),
        ((_cosigned(kind=1)[0], _cosigned(kind=1)[1]), "a key of notes"),
    ],
    ids=lambda each: each if isinstance(each, str) else "note",
)
def test_a_wrong_cosignature_dates_nothing(changed: tuple[str, str], why: str) -> None:
    key, note = read_verifier_key(changed[0]), read_note(changed[1])
    assert key is not None and note is not None
    assert not any(each.at for each in signers_of(note, (key,)) or ()), why


@pytest.mark.parametrize(
    "line", ["", "\u2014 a+b AAAAAAA=", "\u2014 a AAAA", "\u2014 a AAAAAAB=", "a AAAAAAA=", "\u2014  AAAAAAA="]
)
def test_no_notes(line: str) -> None:
    assert read_note(f"{TEXT}\n{line}\n") is None
