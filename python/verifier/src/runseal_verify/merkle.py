"""Merkle trees of RFC 6962: inclusion proofs, and whether two proofs are of one tree."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

Node = tuple[int, int]


def leaf_hash(data: bytes) -> bytes:
    """RFC 6962, section 2.1."""
    return hashlib.sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """RFC 6962, section 2.1."""
    return hashlib.sha256(b"\1" + left + right).digest()


@lru_cache(maxsize=1024)
def _steps(index: int, size: int) -> Sequence[tuple[Node | None, bool, Node | None]]:
    """For each hash of a path: the place of that hash and whether it is on the left, and the place of the parent.

    A place is (level, index) of a complete subtree, or None of one that is not complete.
    """
    steps: list[tuple[Node | None, bool, Node | None]] = []

    def place(start: int, end: int) -> Node | None:
        width = end - start
        return (width.bit_length() - 1, start // width) if width & (width - 1) == 0 else None

    def walk(start: int, end: int) -> None:
        if end - start == 1:
            return
        split = start + (1 << ((end - start - 1).bit_length() - 1))
        if index < split:
            walk(start, split)
            steps.append((place(split, end), False, place(start, end)))
        else:
            walk(split, end)
            steps.append((place(start, split), True, place(start, end)))

    walk(0, size)
    return steps


def root_of(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that leaf and path give, or None when the path is not one of that place."""
    if not 0 <= index < size:
        return None
    steps = _steps(index, size)
    if len(steps) != len(path):
        return None
    value = leaf
    for (_, on_left, _), other in zip(steps, path, strict=True):
        value = node_hash(other, value) if on_left else node_hash(value, other)
    return value


class Tree:
    """What proofs say of one tree as it grows; a contradiction shows that there are two."""

    def __init__(self) -> None:
        self._nodes: dict[Node, bytes] = {}
        self._roots: dict[int, bytes] = {}

    def _put(self, node: Node | None, value: bytes) -> bool:
        return node is None or self._nodes.setdefault(node, value) == value

    def add(self, leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
        """Whether this proof, which gives its root, fits those before it."""
        fits = self._put((0, index), leaf)
        value = leaf
        for (place, on_left, parent), other in zip(_steps(index, size), path, strict=True):
            fits = self._put(place, other) and fits
            value = node_hash(other, value) if on_left else node_hash(value, other)
            fits = self._put(parent, value) and fits
        return self._roots.setdefault(size, root) == root and fits

    def agrees(self) -> bool:
        """Whether each root is the one that the complete subtrees give, where all of its tree are known."""
        return all(self._frontier(size) in (None, root) for size, root in self._roots.items())

    def _frontier(self, size: int) -> bytes | None:
        """The root of the tree of this size, when all its complete subtrees are known."""
        parts: list[bytes] = []
        start = 0
        for level in range(size.bit_length() - 1, -1, -1):
            if size >> level & 1:
                known = self._nodes.get((level, start >> level))
                if known is None:
                    return None
                parts.append(known)
                start += 1 << level
        root = parts.pop()
        while parts:
            root = node_hash(parts.pop(), root)
        return root


def grows_from(first: int, first_root: bytes, second: int, second_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether the tree of the second size goes on from that of the first: RFC 9162, section 2.1.4.2."""
    if not 0 < first <= second or (first == second) != (not path):
        return False
    if first == second:
        return first_root == second_root
    hashes = list(path) if first & (first - 1) else [first_root, *path]
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = hashes[0]
    for each in hashes[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = node_hash(each, old), node_hash(each, new)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            new = node_hash(new, each)
        at, last = at >> 1, last >> 1
    return (old, new, last) == (first_root, second_root, 0)
