"""What a door does beside its host: threads that seal what was observed, and one that sends what a spool holds.

Nothing here waits on the thread of the host, nor on its event loop, but `flush` and `shutdown`.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.util import Finalize
from typing import Any, TypeVar

from .acts import Act
from .api.calls import close_permit, open_permit
from .api.operations import AsyncOperations
from .breaker import not_asked
from .calls import Call, credential
from .client import Runseal
from .closing import Given
from .errors import ActRefused, RunsealError
from .open_permits import OpenPermits
from .spool import Spool

T = TypeVar("T")

# Calls that wait for their decision.
MAX_QUEUED = 2_048
# Of the payloads and outputs of all calls that wait.
MAX_QUEUED_CHARACTERS = 32 * 1024 * 1024
# Each has one request under way.
MAX_THREADS = 4
# Longer than a host waits for a decision: here nobody waits.
OBSERVED_SECONDS = 15.0
# What does not fit is counted on disk at most this often.
COUNT_SECONDS = 1.0
DRAIN_SECONDS = 2.0
# A thread without work ends, and is started again by the next call.
IDLE_SECONDS = 2.0
# What the end of the process waits for what is queued. The rest is stored in the spool.
EXIT_SECONDS = 5.0
# Of clients with other doors, folders, services or keys in one process.
MAX_DRAINERS = 64
_LOG = logging.getLogger("runseal_client")


class _InThread(AsyncOperations):
    """A client that waits, as the client of a coroutine that has a thread of its own."""

    def __init__(self, client: Runseal) -> None:
        self._client = client

    async def send(self, call: Call[T], within: float | None = None, timeout: float | None = None) -> T:
        return self._client.send(call, within=OBSERVED_SECONDS)


class Drainer:
    """Sends what a spool holds in a thread of its own, while the process lives and anything waits."""

    def __init__(self, spool: Spool, client: Callable[[], Runseal]) -> None:
        self._spool, self._client = spool, client
        self._lock = threading.Lock()
        self._runs = False
        _LIVING.add(self)

    def forget(self) -> None:
        """The child of a fork has no thread, and none that holds a lock."""
        self._lock = threading.Lock()
        self._runs = False
        self._spool.forget()

    def wake(self) -> None:
        """Something may wait."""
        with self._lock:
            if not self._runs:
                self._runs = _started(self._work, "runseal-drain")

    def _work(self) -> None:
        client: Runseal | None = None
        while True:
            try:
                client = client or self._client()
                if not self._spool.is_empty() and client.breaker.may_ask():
                    asyncio.run(self._spool.drain(_InThread(client)))
            except Exception:
                _LOG.warning("runseal: the spool could not be sent; it is tried again")
            threading.Event().wait(DRAIN_SECONDS)
            with self._lock:
                if self._spool.is_empty():
                    self._runs = False
                    return


@dataclass
class _Observed:
    """A call of the host. One thread at a time has it, or the queue: from its start to its decision, and from its end."""

    route_id: str
    payload: str
    # Without one the call is only counted.
    opening: Mapping[str, Any] | None
    permit_id: str | None = None
    closing: dict[str, Any] | None = None
    decided: bool = False
    active: bool = True
    # Of its payload and its output, while they wait.
    characters: int = 0
    # It is in the spool: also when the thread still asks for it, and the process ends.
    stored: bool = False


class Observer:
    """Seals calls that a door only observes: a bounded queue, some threads, and the spool behind them.

    What the service did not take is counted in `unsealed`, stored in the spool and sealed later as a gap; of what did not
    fit into the queue the number is. A client that is not given is made in the process that uses it.
    """

    def __init__(self, door: str, client: Runseal | None = None, spool: Spool | None = None) -> None:
        # Raises for a key of the environment that no header can carry.
        credential(None, None)
        self._given = client
        self._spool = spool or Spool(door=door)
        self._drainer = Drainer(self._spool, self._service)
        self._ended = False
        self.forget()
        _LIVING.add(self)

    def forget(self) -> None:
        """Starts without calls: also in the child of a fork, which has neither the threads nor the calls of its parent."""
        self._ready = threading.Condition()
        self._open: OpenPermits[_Observed] = OpenPermits()
        self._queue: deque[_Observed] = deque()
        self._characters = 0
        self._busy: list[_Observed] = []
        self._threads = self._idle = 0
        # How many did not fit and are not yet counted in the spool.
        self._missed = 0
        self._counted_at = 0.0
        self._made = self._given
        self.unsealed = 0

    def _service(self) -> Runseal:
        if self._made is None:
            self._made = Runseal(timeout=OBSERVED_SECONDS)
        return self._made

    def start(self, call: Hashable, route_id: str, opening: Callable[[], Mapping[str, Any]]) -> None:
        """A call starts. `opening` gives the body of its permit, and is read at once: the host may change it later."""
        with self._ready:
            room = len(self._queue) < MAX_QUEUED and self._characters < MAX_QUEUED_CHARACTERS
            if not self._ended and not (room and self._open.has_room()):
                self.unsealed += 1
                self._missed += 1
                self._run()
                return
        try:
            body = opening()
            observed = _Observed(body["route_id"], body["payload"], body)
        except Exception:  # Whatever a caller's object raises: the call goes on, and is counted.
            observed = _Observed(route_id, "", None)
        with self._ready:
            if not self._ended:
                self._hold(observed, len(observed.payload))
                self._open.put(call, observed)
                self._enqueue(observed)
                return
        self._store(observed, "shut_down")

    def end(self, call: Hashable, closing: dict[str, Any]) -> None:
        """A call that started has ended; `closing` is the body of its close."""
        observed = self._open.take(call)
        if observed is None:
            return
        with self._ready:
            if observed.decided and observed.permit_id is None:
                # Refused, or stored.
                return
            if self._characters >= MAX_QUEUED_CHARACTERS:
                closing = {name: value for name, value in closing.items() if name != "ai_output_text"}
            observed.closing = closing
            self._hold(observed, observed.characters + len(closing.get("ai_output_text", "")))
            if observed.active:
                return
            if not self._ended:
                observed.active = True
                self._enqueue(observed)
                return
        self._store(observed, "shut_down")

    @contextmanager
    def act(self, route_id: str, opening: Callable[[], Mapping[str, Any]]) -> Iterator[Act]:
        """The block is a call: it starts, and ends with what is reported of it."""
        call, act = object(), Act()
        self.start(call, route_id, opening)
        try:
            yield act
        except BaseException as error:
            self.end(call, act.closing(error))
            raise
        self.end(call, act.closing(None))

    def _hold(self, observed: _Observed, characters: int) -> None:
        self._characters += characters - observed.characters
        observed.characters = characters

    def _enqueue(self, observed: _Observed) -> None:
        self._queue.append(observed)
        self._run()

    def _run(self) -> None:
        """Wakes a thread, or starts one; the caller has the lock."""
        if self._idle == 0 and self._threads < MAX_THREADS:
            if _started(self._work, "runseal-observer"):
                self._threads += 1
            _hook_exit()
            self._drainer.wake()
        self._ready.notify_all()

    def _work(self) -> None:
        while True:
            with self._ready:
                self._idle += 1
                found = self._ready.wait_for(self._has_work, IDLE_SECONDS)
                self._idle -= 1
                if not found:
                    self._threads -= 1
                    return
                observed = self._queue.popleft() if self._queue else None
                if observed is not None:
                    self._busy.append(observed)
            while observed is not None:
                try:
                    self._seal(observed)
                except Exception:
                    _LOG.exception("runseal: an observed call was not sealed")
                    self._store(observed, "unreadable")
                observed = self._after(observed)
            self._count()
            with self._ready:
                self._ready.notify_all()

    def _after(self, observed: _Observed) -> _Observed | None:
        """The same call once more, where it has ended meanwhile and its permit is open."""
        with self._ready:
            if observed.permit_id is not None and observed.closing is not None:
                return observed
            observed.active = False
            self._busy = [each for each in self._busy if each is not observed]
            return None

    def _has_work(self) -> bool:
        return bool(self._queue) or self._missed > 0

    def _seal(self, observed: _Observed) -> None:
        """Decides a call, or closes its permit."""
        client, permit_id = self._service(), None
        try:
            if not observed.decided and observed.opening is None:
                raise RunsealError("The call could not be read.", "unreadable", 0)
            if not client.breaker.may_ask():
                raise not_asked()
            if observed.permit_id is not None:
                client.send(close_permit(observed.permit_id, observed.closing or {}), within=OBSERVED_SECONDS)
            elif observed.opening is not None:
                permit_id = client.send(open_permit(observed.opening), within=OBSERVED_SECONDS).permit_id
        except ActRefused:
            # Sealed, with the mark that it stopped nothing: the call went on, and its result is in no record.
            pass
        except RunsealError as error:
            self._store(observed, error.code)
            return
        with self._ready:
            if not observed.stored:
                self._decided(observed, permit_id)

    def _decided(self, observed: _Observed, permit_id: str | None) -> None:
        """A call has its permit, or needs none any more; the caller has the lock."""
        observed.decided, observed.permit_id, observed.opening, observed.payload = True, permit_id, None, ""
        text = (observed.closing or {}).get("ai_output_text", "")
        self._hold(observed, len(text) if permit_id is not None else 0)

    def _store(self, observed: _Observed, reason: str) -> None:
        """Into the spool, once."""
        with self._ready:
            if observed.stored:
                return
            observed.stored = True
            undecided, permit_id, payload = not observed.decided, observed.permit_id, observed.payload
            self._decided(observed, None)
            self.unsealed += 1
        if undecided:
            self._spool.put_unsealed(observed.route_id, payload, reason)
        elif permit_id is not None:
            self._spool.put_close(permit_id, observed.closing or {})
        self._drainer.wake()

    def _count(self, now: bool = False) -> None:
        """Counts in the spool what did not fit."""
        with self._ready:
            due = now or not self._queue or time.monotonic() - self._counted_at > COUNT_SECONDS
            missed = self._missed if due else 0
            self._missed -= missed
            if missed > 0:
                self._counted_at = time.monotonic()
        if missed > 0:
            self._spool.put_lost(missed)
            self._drainer.wake()

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Waits until each call so far is sealed or stored in the spool, at most `timeout` seconds; whether it is."""
        with self._ready:
            self._ready.wait_for(lambda: self._threads == 0 or not self._works(), timeout)
            return not self._works()

    def _works(self) -> bool:
        return self._has_work() or self._threads > self._idle

    def shutdown(self, timeout: float = EXIT_SECONDS) -> None:
        """Seals what it can within `timeout` seconds, and stores the rest in the spool. Later calls are stored at once."""
        if not self._ended:
            self.flush(timeout)
        with self._ready:
            self._ended = True
            rest = [*self._busy, *self._queue]
            self._queue.clear()
        for observed in rest:
            self._store(observed, "shut_down")
        self._count(now=True)


def observer_of(door: str, client: Runseal | None, spool: Spool | None) -> Observer:
    """The observer of a door: one for the process, where it has neither client nor spool of its own."""
    if client is not None or spool is not None:
        return Observer(door, client, spool)
    return observer_for((None, None), door)


def observer_for(given: Given, door: str = "python") -> Observer:
    """The observer of a door in this process, for a service and key."""
    with _LOCK:
        if len(_SHARED) >= MAX_DRAINERS:
            _SHARED.clear()
        if (door, given) not in _SHARED:
            _SHARED[door, given] = Observer(
                door, None if given == (None, None) else Runseal(*given, timeout=OBSERVED_SECONDS)
            )
        return _SHARED[door, given]


class Observing:
    """A door that only observes: its calls wait for nothing."""

    def __init__(self, door: str, client: Runseal | None, spool: Spool | None) -> None:
        self._observer = observer_of(door, client, spool)

    @property
    def unsealed(self) -> int:
        """How many calls the service did not take in time; without client and spool, of all such doors of the process."""
        return self._observer.unsealed

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Waits until each call so far is sealed or in the spool, at most `timeout` seconds; whether it is."""
        return self._observer.flush(timeout)

    def shutdown(self, timeout: float | None = None) -> None:
        """Seals what it can within `timeout` seconds, and stores the rest in the spool, as the end of the process does."""
        self._observer.shutdown(EXIT_SECONDS if timeout is None else timeout)


def drainer_of(spool: Spool, given: Given) -> Drainer:
    """The drainer of a folder for a service and key of this process."""
    place = (str(spool.folder), *given)
    with _LOCK:
        if len(_DRAINERS) >= MAX_DRAINERS:
            # Those that work end with what they send.
            _DRAINERS.clear()
        if place not in _DRAINERS:
            _DRAINERS[place] = Drainer(spool, lambda: Runseal(*given))
        return _DRAINERS[place]


_LOCK = threading.Lock()
_DRAINERS: dict[tuple[str | None, ...], Drainer] = {}
_SHARED: dict[tuple[str, Given], Observer] = {}
_LIVING: weakref.WeakSet[Observer | Drainer] = weakref.WeakSet()


def _started(work: Callable[[], None], name: str) -> bool:
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError:
        # The process ends, or has no room for a thread: what is queued is stored at its end.
        return False
    return True


def _after_fork() -> None:
    global _LOCK
    _LOCK = threading.Lock()
    for each in list(_LIVING):
        each.forget()


def _at_exit() -> None:
    ends_at = time.monotonic() + EXIT_SECONDS
    for each in list(_LIVING):
        if isinstance(each, Observer):
            each.shutdown(max(0.0, ends_at - time.monotonic()))


def _hook_exit() -> None:
    """Also for a process of multiprocessing, which ends with such hooks alone, and forgets them when it starts."""
    global _FINALIZER
    if _FINALIZER is None or not _FINALIZER.still_active():
        _FINALIZER = Finalize(None, _at_exit, exitpriority=0)


_FINALIZER: Finalize[None] | None = None
os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
