"""Entries of several documents as parts of one log, whose time never goes back."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from .anchor import of_one_tree
from .merkle import Tree

Json = dict[str, Any]


class LogOrder:
    """What the entries so far say of their log."""

    def __init__(self) -> None:
        self._tree = Tree()
        self._entries: list[tuple[int, int, str]] = []

    @property
    def largest(self) -> int:
        """The largest index so far, -1 before the first."""
        return self._entries[-1][0] if self._entries else -1

    def add(self, entry: Json, name: str) -> str | None:
        """Why an entry, which verifies, contradicts those before it, or None."""
        index, second = int(entry["logIndex"]), int(entry["integratedTime"])
        if not of_one_tree(self._tree, entry):
            return f"{name} is proven in another tree than the entries before it"
        at = bisect_left(self._entries, (index, second, name))
        before, behind = self._entries[max(0, at - 1) : at], self._entries[at : at + 1]
        insort(self._entries, (index, second, name))
        if any(each[1] > second for each in before) or any(each[1] < second for each in behind):
            return f"{name} makes the log's time go back"
        return None

    def has_in_tree(self, entry: Json) -> bool:
        """Whether an entry, which verifies, is of the tree of those before it."""
        return of_one_tree(self._tree, entry)

    def agrees(self) -> bool:
        """Whether all proofs together are of one tree."""
        return self._tree.agrees()
