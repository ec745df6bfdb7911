"""Severities of the shipped signature library: docs/formats.md, section 3.2."""

from __future__ import annotations

LIBRARY_HASH = "fa47740af73dc798f4a8465fea25c257a53d1dfa654f3cf9c2b45c4b8339007e"
_ROWS = {
    "critical": (
        "DA 001 002 003 004 005 007 008 010 012 013 015 016 021; FE 003 004 007 010 011 012 015; PI 006 "
        "012 014 020; SC 001 002 004 005 008 009 010 011 012 015 016"
    ),
    "high": (
        "DA 006 009 011 014 017 019 020; FE 001 002 005 006 008 009 013 014 016 018 019 020 021; PI 001 "
        "002 003 004 005 007 008 009 010 011 013 015 016 017; SC 003 014 017 018"
    ),
    "medium": ("DA 018; FE 017; PI 018 019; SC 006 007 013"),
    "low": ("DA 022"),
}


def _read() -> dict[str, str]:
    found: dict[str, str] = {}
    for severity, row in _ROWS.items():
        for category in row.split("; "):
            letters, *numbers = category.split(" ")
            found.update({f"MCD-{letters}-{number}": severity for number in numbers})
    return found


SEVERITIES = _read()
