"""What is known of calls that are under way, such as their permits: bounded, safe with threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from .errors import RunsealError

MAX_OPEN = 10_000
# Longer than the permits of doors can be closed: 300 seconds to begin the call, and 3,600 to end it.
KEPT_SECONDS = 4_500.0
T = TypeVar("T")


class OpenPermits(Generic[T]):
    """Permits by their calls. A call whose end nobody reports gives its place up when its permit has ended."""

    def __init__(self, most: int = MAX_OPEN, kept_seconds: float = KEPT_SECONDS) -> None:
        self._most, self._kept_seconds = most, kept_seconds
        self._held: dict[Hashable, tuple[T, float]] = {}
        self._lock = threading.Lock()

    def has_room(self) -> bool:
        """Whether fewer calls are under way than there may be."""
        with self._lock:
            if len(self._held) < self._most:
                return True
            over = time.monotonic() - self._kept_seconds
            self._held = {call: held for call, held in self._held.items() if held[1] > over}
            return len(self._held) < self._most

    def require_room(self) -> None:
        """Raises RunsealError when as many calls are under way as there may be."""
        if not self.has_room():
            raise RunsealError("Too many calls are under way.", "overloaded", 503)

    def put(self, call: Hashable, permit: T) -> None:
        """A call has its permit."""
        with self._lock:
            self._held[call] = (permit, time.monotonic())

    def get(self, call: Hashable) -> T | None:
        """The permit of a call that is under way."""
        with self._lock:
            held = self._held.get(call)
        return None if held is None else held[0]

    def take(self, call: Hashable) -> T | None:
        """The permit of a call that has ended, once."""
        with self._lock:
            held = self._held.pop(call, None)
        return None if held is None else held[0]
