"""What sends a call, and lists that are read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from .calls import Call

T = TypeVar("T")

# Items of a list that are remembered, the newest: enough unless more arrive or leave while it is read.
MAX_REMEMBERED = 10_000


class Pages:
    """Where the reading of a list is. `call` gets the next page; it is None behind the last one.

    A list by offset moves while it is read: an item that newer ones moved to the next page is not given twice, and where
    items left the list as many places are read again.
    """

    def __init__(self, call: Call[Any], member: str, key: str) -> None:
        self.call: Call[Any] | None = call
        self._first, self._member, self._key = call, member, key
        self._offset = self._total = 0
        self._given: dict[Any, None] = {}

    def take(self, page: Any) -> list[Any]:
        """The new items of a page."""
        items: list[Any] = getattr(page, self._member)
        total: int | None = getattr(page, "total", None)
        if total is None:
            self._go("before", page.next)
            return items
        gone, self._total = self._total - total, total
        if gone > 0 and self._offset > 0:
            self._offset = max(0, self._offset - gone)
            self._go("offset", self._offset)
            return []
        self._offset += len(items)
        self._go("offset", self._offset if items and self._offset < total else None)
        return [item for item in items if self._is_new(getattr(item, self._key))]

    def _go(self, name: str, place: object) -> None:
        self.call = None if place is None else replace(self._first, query={**self._first.query, name: str(place)})

    def _is_new(self, key: Any) -> bool:
        if key in self._given:
            return False
        self._given[key] = None
        if len(self._given) > MAX_REMEMBERED:
            del self._given[next(iter(self._given))]
        return True


class Sender:
    """A client that waits."""

    def send(self, call: Call[T], within: float | None = None, timeout: float | None = None) -> T:
        """Sends a call and gives its answer."""
        raise NotImplementedError

    def lines(self, call: Call[bytes], timeout: float | None) -> Iterator[bytes]:
        """Sends a call and gives the lines of its answer as they arrive."""
        raise NotImplementedError

    def items(self, call: Call[Any], member: str, key: str, timeout: float | None) -> Iterator[Any]:
        """The items of a list, which its pages have under a name; `key` tells one from another."""
        pages = Pages(call, member, key)
        while pages.call is not None:
            yield from pages.take(self.send(pages.call, timeout=timeout))


class AsyncSender:
    """A client for asyncio."""

    async def send(self, call: Call[T], within: float | None = None, timeout: float | None = None) -> T:
        """Sends a call and gives its answer."""
        raise NotImplementedError

    def lines(self, call: Call[bytes], timeout: float | None) -> AsyncIterator[bytes]:
        """Sends a call and gives the lines of its answer as they arrive."""
        raise NotImplementedError

    async def items(self, call: Call[Any], member: str, key: str, timeout: float | None) -> AsyncIterator[Any]:
        """The items of a list, which its pages have under a name; `key` tells one from another."""
        pages = Pages(call, member, key)
        while pages.call is not None:
            for item in pages.take(await self.send(pages.call, timeout=timeout)):
                yield item
