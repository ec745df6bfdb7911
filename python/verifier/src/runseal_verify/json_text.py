"""Strict JSON (RFC 7493) and its one spelling (RFC 8785): docs/formats.md, section 1."""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from typing import Any

MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 66
MAX_NODES = 524_288
MAX_INTEGER = 2**53 - 1
# More digits than an exponent has that any double reaches.
MAX_EXPONENT_DIGITS = 20

_BRACKETS = re.compile(r"[\[\]{}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unreadable(Exception):
    """The input is no document that this verifier reads: exit code 2, nothing was verified."""


class NotJudged(Unreadable):
    """The input may be a document of ours, and this verifier cannot say whether it is right."""


def _refuse_shape_of_text(text: str) -> None:
    # Without escapes each second part between quotes is outside of the strings; a text with an escape elsewhere is no JSON.
    outside = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    if sum(outside.count(mark) for mark in ",:[{") > MAX_NODES:
        raise Unreadable(f"The document has more than {MAX_NODES} nodes.")
    if outside.count("[") + outside.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKETS.finditer(outside):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > MAX_DEPTH:
            raise Unreadable(f"The document is nested deeper than {MAX_DEPTH} levels.")


def _decimal(spelt: str) -> tuple[str, int]:
    """Digits without zeros around them, and the exponent of the last: equal for equal values, whatever their spelling."""
    mantissa, _, exponent = spelt.lower().lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    bare = digits.rstrip("0")
    if not bare:
        return "", 0
    size = int(exponent.lstrip("+-").lstrip("0")[:MAX_EXPONENT_DIGITS] or "0")
    return bare, (-size if exponent.startswith("-") else size) - len(fraction) + len(digits) - len(bare)


def _number(spelt: str) -> int | float:
    digits, _ = written = _decimal(spelt)
    if not digits:
        if spelt.startswith("-"):
            raise Unreadable("A zero has a sign.")
        return 0
    value = float(spelt)
    if value in (float("inf"), float("-inf")) or _decimal(repr(value)) != written:
        raise Unreadable("A number has another decimal value than its RFC 8785 form.")
    if not value.is_integer():
        return value
    if abs(value) > MAX_INTEGER:
        raise Unreadable("An integer is outside of the exact range.")
    return int(value)


def _integer(spelt: str) -> int | float:
    value = int(spelt) if len(spelt) < len(str(MAX_INTEGER)) else 0
    return value or _number(spelt)


def _text(value: str) -> str:
    if _SURROGATE.search(value):
        raise Unreadable("A text holds half a character.")
    if "\0" in value:
        raise Unreadable("A text holds U+0000.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if _text(key) in members:
            raise Unreadable("A key is there twice.")
        members[key] = _checked(value)
    return members


def _plain_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Unreadable("A key is there twice.")
    return members


def _checked(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_checked(item) for item in value]
    return value


def _constant(_: str) -> Any:
    raise Unreadable("The document is not JSON.")


def parse(data: bytes) -> Any:
    """The value of a strict JSON text; integers come as int, whatever their spelling.

    Raises Unreadable for everything that can be written in more than one way.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        raise Unreadable(f"The document has more than {MAX_DOCUMENT_BYTES} bytes.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("The document is not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise Unreadable("The document begins with a byte order mark.")
    _refuse_shape_of_text(text)
    # Only an escape writes U+0000 or half a character: the text was UTF-8, and JSON has no control characters.
    escapes = "\\u" in text
    hook = _object if escapes else _plain_object
    try:
        value = json.loads(
            text, object_pairs_hook=hook, parse_float=_number, parse_int=_integer, parse_constant=_constant
        )
        return _checked(value) if escapes else value
    except (ValueError, RecursionError):
        raise Unreadable("The document is not JSON.") from None


def _spelt_number(value: float) -> str:
    """ECMAScript's Number::toString, which RFC 8785 uses; the digits are those of Python's repr."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    if 0 < point <= 21:
        shown = text.ljust(point, "0") if exponent >= 0 else f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        shown = f"0.{'0' * -point}{text}"
    else:
        mantissa = text if len(text) == 1 else f"{text[0]}.{text[1:]}"
        shown = f"{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{shown}" if sign else shown


def utf16(text: str) -> bytes:
    """The order of RFC 8785: by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def canonical(value: Any) -> str:
    """The RFC 8785 form of a JSON value."""
    text = _encoded(value)
    # The library writes all as RFC 8785 does but numbers with a fraction or an exponent, and the order of keys with
    # characters of two units.
    marks = "." in text or "e-" in text or "e+" in text
    fraction = isinstance(value, float) or (marks and _FRACTION.search(text))
    two_units = not text.isascii() and _TWO_UNITS.search(text)
    return _spelt(value) if fraction or two_units else text


_encoded = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":")).encode
# Finds every number with a fraction or an exponent in an object or a list; what it finds in a text is harmless.
_FRACTION = re.compile(r'(?:":|\[|,)-?[0-9]+[.e]')
_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def _spelt(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_spelt(key)}:{_spelt(value[key])}" for key in sorted(value, key=utf16))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_spelt, value))}]"
    if isinstance(value, float):
        return _spelt_number(value)
    return json.dumps(value, ensure_ascii=False)


def sha256(data: bytes) -> str:
    """Lowercase hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


# The hash of the empty text, which no other text has.
EMPTY = sha256(b"")


def digest(value: Any) -> str:
    """SHA-256 of the UTF-8 bytes of the RFC 8785 form: the one rule for every hash."""
    return sha256(canonical(value).encode())


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """The object without these members."""
    return {key: member for key, member in value.items() if key not in names}


def same(first: Any, second: Any) -> bool:
    """Equal as JSON. Python's own comparison takes true for 1."""
    return canonical(first) == canonical(second)
