"""The permits of calls that are under way, bounded, safe with threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable

from .errors import RunsealError

MAX_OPEN = 10_000
# Longer than the permits of doors can be closed: 300 seconds to begin the call, and 3,600 to end it.
KEPT_SECONDS = 4_500.0


class OpenPermits:
    """Ids of permits by their calls. A call whose end nobody reports gives its place up when its permit has ended."""

    def __init__(self, most: int = MAX_OPEN, kept_seconds: float = KEPT_SECONDS) -> None:
        self._most, self._kept_seconds = most, kept_seconds
        self._held: dict[Hashable, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def require_room(self) -> None:
        """Raises RunsealError when as many calls are under way as there may be."""
        with self._lock:
            if len(self._held) < self._most:
                return
            over = time.monotonic() - self._kept_seconds
            self._held = {call: held for call, held in self._held.items() if held[1] > over}
            if len(self._held) >= self._most:
                raise RunsealError("Too many calls are under way.", "overloaded", 503)

    def put(self, call: Hashable, permit_id: str) -> None:
        """A call has its permit."""
        with self._lock:
            self._held[call] = (permit_id, time.monotonic())

    def take(self, call: Hashable) -> str | None:
        """The permit of a call that has ended, once."""
        with self._lock:
            held = self._held.pop(call, None)
        return None if held is None else held[0]
