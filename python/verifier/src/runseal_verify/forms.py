"""Forms of values: what a document may hold, before any of it is believed.

A value of another form, a member that is missing and one that has no place make a document unreadable.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from .json_text import MAX_INTEGER, Unreadable

Form = Callable[[Any, str], None]

# The last second that a date with four digits of a year can name.
LAST_SECOND = 253_402_300_799
_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3}Z", re.ASCII)
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,12}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
# Control characters and the two separators of Unicode.
_LINE_ENDS = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
_INVISIBLE = (
    "0-20 7F-A0 AD 300-36F 600-605 61C 6DD 70F 890-891 8E2 115F-1160 1680 17B4-17B5 180B-180F 1AB0-1AFF 1DC0-1DFF "
    "2000-200F 2028-202F 205F-206F 20D0-20FF 2800 3000 3164 FE00-FE0F FE20-FE2F FEFF FFA0 FFF0-FFFB FFFE-FFFF 110BD "
    "110CD 13430-13442 16FE4 1BCA0-1BCA3 1D159 1D173-1D17A E0000-E0FFF"
)
_RANGES = [tuple(int(end, 16) for end in (each.split("-") * 2)[:2]) for each in _INVISIBLE.split()]


def units(value: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(value) if value.isascii() else len(value.encode("utf-16-be", "surrogatepass")) // 2


def refuse(path: str, why: str) -> Unreadable:
    """What is said of a value that has another form."""
    return Unreadable(f"{path or 'The document'}: {why}.")


def matching(pattern: str, name: str) -> Form:
    """A text that fits the whole pattern."""
    compiled = re.compile(pattern, re.ASCII)

    def form(value: Any, path: str) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise refuse(path, f"is no {name}")

    return form


def constant(*allowed: Any) -> Form:
    """One of these values."""

    def form(value: Any, path: str) -> None:
        if not any(type(value) is type(each) and value == each for each in allowed):
            raise refuse(path, f"is not {' or '.join(map(str, allowed))}")

    return form


def text(least: int = 0, most: int = MAX_INTEGER, one_line: bool = False) -> Form:
    """A text of so many UTF-16 units."""

    def form(value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise refuse(path, "is no text")
        if not least <= units(value) <= most:
            raise refuse(path, "has another length")
        if one_line and _LINE_ENDS.search(value):
            raise refuse(path, "is not one line")

    return form


def integer(least: int = 0, most: int = MAX_INTEGER) -> Form:
    """A whole number within bounds."""

    def form(value: Any, path: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise refuse(path, "is no such number")

    return form


def array(item: Form, least: int = 0, most: int = MAX_INTEGER) -> Form:
    """A list of such values."""

    def form(value: Any, path: str) -> None:
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise refuse(path, "is no such list")
        for index, each in enumerate(value):
            item(each, f"{path}/{index}")

    return form


def record(required: Mapping[str, Form], optional: Mapping[str, Form] | None = None, others: bool = False) -> Form:
    """An object with these members, and no others unless `others` are passed over."""
    known = {**required, **(optional or {})}

    def form(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise refuse(path, "is no object")
        for name in required:
            if name not in value:
                raise refuse(f"{path}/{name}", "is missing")
        for name, member in value.items():
            if name in known:
                known[name](member, f"{path}/{name}")
            elif not others:
                raise refuse(path, "has a member that has no place there")

    return form


def anything(_value: Any, _path: str) -> None:
    """Any JSON value."""


def any_object(value: Any, path: str) -> None:
    """Any object."""
    if not isinstance(value, dict):
        raise refuse(path, "is no object")


def boolean(value: Any, path: str) -> None:
    """true or false."""
    if not isinstance(value, bool):
        raise refuse(path, "is no boolean")


@lru_cache(maxsize=1024)
def instant(text: str) -> int | None:
    """Milliseconds since the epoch of an RFC 3339 date-time, or None when it is none."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[at]) for at in range(1, 7))
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not (1 <= month <= 12 and 1 <= day <= lengths[month - 1] and hour < 24 and minute < 60 and second <= 60):
        return None
    offset = 0
    if found[8]:
        if int(found[9]) > 23 or int(found[10]) > 59:
            return None
        offset = (int(found[9]) * 60 + int(found[10])) * (1 if found[8] == "+" else -1)
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    fraction = int((found[7] or "0").ljust(3, "0")[:3])
    return ((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1000 + fraction


def clock(value: Any, path: str) -> None:
    """RFC 3339 UTC with milliseconds, of a day that exists."""
    if not isinstance(value, str) or not _CLOCK.fullmatch(value) or instant(value) is None:
        raise refuse(path, "is no clock")


def decimal(value: Any, path: str) -> None:
    """An unsigned decimal without leading zeros, at most 2^53 - 1."""
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value) or int(value) > MAX_INTEGER:
        raise refuse(path, "is no decimal")


def base64_of(size: int | None = None, least: int = 0, most: int = MAX_INTEGER) -> Form:
    """Padded base64, in its one spelling, of `size` bytes or of `least` to `most`."""
    if size is not None:
        least = most = size

    def form(value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise refuse(path, "is no base64")
        try:
            data = base64.b64decode(value, validate=True)
        except ValueError:
            raise refuse(path, "is no base64") from None
        if base64.b64encode(data).decode() != value or not least <= len(data) <= most:
            raise refuse(path, "is no base64 in its one spelling")

    return form


HASH = matching(r"[0-9a-f]{64}", "hash")
COUNT = integer()
ENVELOPE_ID = matching(r"env-[0-9a-f]{16}", "envelope id")
SEQUENCE_ID = matching(r"seq-[0-9a-f]{16}", "sequence id")
CHARGE_ID = matching(r"chg-[0-9a-f]{32}", "charge id")
PERMIT_ID = matching(r"pmt-[0-9a-f]{32}", "permit id")
APPROVAL_ID = matching(r"apr-[0-9a-f]{32}", "id of a request for an approval")
TENANT_ID = matching(r"anonymous|api-key-[1-9][0-9]{0,15}", "tenant")
TEXT = text()
REGION = matching(r"[A-Za-z0-9_.-]{1,64}", "region")
ADAPTER = constant("builtin-rules", "openai-compatible", "anthropic", "none")


def milliseconds(value: str) -> int:
    """Milliseconds since the epoch of a clock."""
    at = instant(value)
    if at is None:
        raise ValueError("is no clock")
    return at


def seconds(value: str) -> int:
    """Whole seconds since the epoch, rounded down."""
    return milliseconds(value) // 1000


def clock_of(at: int) -> str:
    """The clock of whole seconds since the epoch."""
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def utc_of(at: int) -> str:
    """Whole seconds since the epoch, for people to read."""
    if not 0 <= at <= LAST_SECOND:
        return f"Unix second {at}"
    return f"{clock_of(at)[:19]}Z"


def fits(form: Form, value: Any) -> bool:
    """Whether the value has the form."""
    try:
        form(value, "")
    except Unreadable:
        return False
    return True


def is_sorted(values: Sequence[str]) -> bool:
    """In the order of UTF-16 units, each once."""
    units = [value.encode("utf-16-be") for value in values]
    return all(first < second for first, second in itertools.pairwise(units))


def present(value: Any) -> bool:
    """Whether a declared field says something."""
    if isinstance(value, str):
        return any(not any(first <= ord(each) <= last for first, last in _RANGES) for each in value)
    return value is True or (isinstance(value, (int, float)) and not isinstance(value, bool))
