"""How long a door waits for the service, and when it asks it no more for a while. Every door uses it.

One breaker for each service and process: every answer and every failure of any client of that service counts in it.
"""

from __future__ import annotations

import math
import os
import threading
import time
from typing import Literal

from .errors import RunsealError

# What becomes of an act without a decision: `open`, it is done all the same; `closed`, it is not done.
Fail = Literal["closed", "open"]

FAILURES = 3
PROBE_SECONDS = 5.0
# A service that asks for a longer pause is asked again after this one.
MAX_RETRY_AFTER_SECONDS = 60.0
# What a decision may take, when nothing else is configured.
FAIL_OPEN_SECONDS = 2.0
FAIL_CLOSED_SECONDS = 10.0
# What it may take under fail closed while the breaker is open.
BROKEN_SECONDS = 1.0
MAX_TIMEOUT_SECONDS = 300.0
# Statuses by which a service, or a proxy before it, says that it is away or busy; 0 without an answer. Not 500: that is the
# answer to one request, whose sender could otherwise let the calls of all others pass undecided.
AWAY = (0, 429, 502, 503, 504)
# The identity provider is away, and not the service, or as many acts wait for people as may. Who sends a token of an unknown
# key, or acts that need an approval, gets this answer, and must not let the calls of all others pass undecided.
OF_THE_REQUEST = ("end_user_unavailable", "too_many_approvals")
# Of an act that was done unasked because the breaker was open.
NOT_ASKED = "not_asked"
# Services of one process; the breaker of one that was forgotten starts as closed.
MAX_SERVICES = 64


def decision_seconds(fail_open: bool) -> float:
    """The time of one decision: RUNSEAL_TIMEOUT in seconds, else 2 under fail open and 10 under fail closed.

    Raises ValueError for a RUNSEAL_TIMEOUT that is no number above 0 and up to 300.
    """
    text = os.environ.get("RUNSEAL_TIMEOUT")
    if not text:
        return FAIL_OPEN_SECONDS if fail_open else FAIL_CLOSED_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        raise ValueError("RUNSEAL_TIMEOUT is a number of seconds, above 0 and at most 300.")
    return seconds


class Breaker:
    """Closed while the service answers. It opens after three failures, or for as long as a Retry-After asks; then one
    caller each five seconds asks all the same, and its answer closes it."""

    def __init__(self) -> None:
        self._failures = 0
        self._asks_at: float | None = None
        self._lock = threading.Lock()

    def may_ask(self) -> bool:
        """Whether to ask the service now. While the breaker is open, this is true for one caller each five seconds."""
        with self._lock:
            now = time.monotonic()
            if self._asks_at is None:
                return True
            if now < self._asks_at:
                return False
            self._asks_at = now + PROBE_SECONDS
            return True

    def wait_seconds(self, fail: Fail) -> float:
        """How long a decision may take now: less under fail closed while the breaker is open, and no time under fail open.

        Raises RunsealError where the service is not asked. Under fail closed it always is: the breaker refuses nothing.
        """
        seconds = decision_seconds(fail == "open")
        if self.may_ask():
            return seconds
        if fail == "open":
            raise not_asked()
        return min(BROKEN_SECONDS, seconds)

    def answered(self) -> None:
        """The service has answered."""
        with self._lock:
            self._failures, self._asks_at = 0, None

    def failed(self, retry_after: float | None = None) -> None:
        """It gave no answer, or said that it is away or busy: for `retry_after` seconds, where it says so."""
        with self._lock:
            self._failures += 1
            # While it is open, short calls that fail must not put off the call that waits for a slow service.
            if retry_after is None and self._failures != FAILURES:
                return
            pause = PROBE_SECONDS if retry_after is None else min(retry_after, MAX_RETRY_AFTER_SECONDS)
            self._asks_at = max(self._asks_at or 0.0, time.monotonic() + pause)

    def note(self, status: int, retry_after: float | None = None, code: str | None = None) -> None:
        """Counts an answer by its HTTP status, 0 where there was none, and by its code."""
        if status in AWAY and code not in OF_THE_REQUEST:
            self.failed(retry_after)
        else:
            self.answered()


_BREAKERS: dict[str, Breaker] = {}
_LOCK = threading.Lock()


def breaker_of(address: str) -> Breaker:
    """The breaker of a service in this process."""
    with _LOCK:
        if address not in _BREAKERS and len(_BREAKERS) >= MAX_SERVICES:
            _BREAKERS.pop(next(iter(_BREAKERS)))
        return _BREAKERS.setdefault(address, Breaker())


def _after_fork() -> None:
    """The child of a fork starts anew: a thread of its parent may have held a lock."""
    global _LOCK
    _LOCK = threading.Lock()
    _BREAKERS.clear()


os.register_at_fork(after_in_child=_after_fork)


def not_asked() -> RunsealError:
    """What takes the place of an answer under fail open, while the breaker is open."""
    return RunsealError("The service was not asked: it did not answer before.", NOT_ASKED, 0)
