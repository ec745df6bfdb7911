"""ECDSA P-256 with SHA-256, in the one spelling that docs/formats.md admits: DER, low-S."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, mldsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature, encode_dss_signature

from .json_text import Unreadable

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@lru_cache(maxsize=64)
def _p256(spki: bytes) -> ec.EllipticCurvePublicKey | None:
    try:
        key = serialization.load_der_public_key(spki)
    except (ValueError, UnsupportedAlgorithm):
        return None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        return None
    again = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key if again == spki else None


def is_p256(spki: bytes) -> bool:
    """Whether this is the DER SubjectPublicKeyInfo of a P-256 key, in its one spelling."""
    return _p256(spki) is not None


def key_id(spki: bytes) -> str:
    """Lowercase hex SHA-256 of the SubjectPublicKeyInfo."""
    return hashlib.sha256(spki).hexdigest()


def pem_of(spki: bytes) -> str:
    """The key as PEM, lines of 64 characters."""
    text = base64.b64encode(spki).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN PUBLIC KEY-----", *lines, "-----END PUBLIC KEY-----", ""])


def verifies(spki: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the signature is this key's over the message, in DER and low-S."""
    return verifies_hash(spki, signature, hashlib.sha256(message).digest())


@lru_cache(maxsize=4096)
def verifies_hash(spki: bytes, signature: bytes, message_hash: bytes) -> bool:
    """The same, of a message of which only the SHA-256 is known. Documents of one batch share the signature of its checkpoint."""
    key = _p256(spki)
    if key is None:
        return False
    try:
        r, s = decode_dss_signature(signature)
        if s > _ORDER // 2 or encode_dss_signature(r, s) != signature:
            return False
        key.verify(signature, message_hash, ec.ECDSA(Prehashed(hashes.SHA256())))
    except (InvalidSignature, ValueError):
        return False
    return True


def verifies_ed25519(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the signature is this Ed25519 key's over the message."""
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def verifies_ml_dsa_44(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the signature is this ML-DSA-44 key's over the message, with an empty context: FIPS 204, section 5.3.

    Raises Unreadable where OpenSSL is older than 3.5: what was not checked is not counted.
    """
    try:
        mldsa.MLDSA44PublicKey.from_public_bytes(key).verify(signature, message)
    except UnsupportedAlgorithm:
        raise Unreadable("A witness signs with ML-DSA-44, which the OpenSSL below this Python does not have.") from None
    except (InvalidSignature, ValueError):
        return False
    return True
