"""How the permit of an act is closed, whatever ends the act: an error, a cancel, a second one, a signal, a closing loop."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio

from . import errors
from .breaker import Fail
from .errors import CloseUnconfirmed, RunsealError, is_unfit

if TYPE_CHECKING:
    from .acts import Act

T = TypeVar("T")

# What the close of an act that was stopped may take. Less than the 30 seconds that Kubernetes waits after a SIGTERM.
CLOSING_SECONDS = 10.0
_LOG = logging.getLogger("runseal_client")
# As a shell reports a program that SIGTERM ended.
TERMINATED = 128 + signal.SIGTERM


# Address and API key, as they were given to a client.
Given = tuple[str | None, str | None]


def store_close(given: Given, permit_id: str, body: Mapping[str, Any]) -> bool:
    """Stores a close in the spool, which a thread sends with a client of its own; whether it is stored."""
    # Here, since the clients are what these modules use.
    from .background import drainer_of
    from .spool import Spool

    try:
        spool = Spool()
    except OSError:
        return False
    spool.put_close(permit_id, dict(body))
    drainer_of(spool, given).wake()
    return True


def store_unsealed(given: Given, body: Mapping[str, Any], reason: str) -> None:
    """Counts an act that is made without a permit: in the spool, or in the log where there is no place for one."""
    from .background import drainer_of
    from .spool import Spool

    try:
        spool = Spool()
    except OSError:
        _LOG.error("runseal: an act is made without a record (%s), and there is no folder to count it in", reason)
        return
    spool.put_unsealed(str(body.get("route_id", "")), str(body.get("payload", "")), reason)
    drainer_of(spool, given).wake()


def unconfirmed(given: Given, act: Act, body: Mapping[str, Any], problem: RunsealError, fail: Fail | None) -> None:
    """Stores the close of an act that was made and whose close the service did not take; raises CloseUnconfirmed for it,
    unless calls go on without an answer."""
    permit_id = act.permit_id or ""
    stored = store_close(given, permit_id, body)
    if fail == "open" and not is_unfit(problem):
        return
    raise CloseUnconfirmed(permit_id, act.result, problem.code, stored) from problem


def not_closed(given: Given, act: Act, body: Mapping[str, Any], error: BaseException, problem: BaseException) -> None:
    """The close of an act that was stopped could not be sent: stores it, and notes that at the error that stopped the act."""
    permit_id = act.permit_id or ""
    # A report that JSON cannot carry cannot be stored either.
    stored = not isinstance(problem, (ValueError, TypeError)) and store_close(given, permit_id, body)
    reason = problem.code if isinstance(problem, RunsealError) else type(problem).__name__
    later = " It is stored, and closed later." if stored else ""
    error.add_note(f"The permit {permit_id} could not be closed: {reason}.{later}")


class Sent(Generic[T]):
    """What became of a close that no cancel could stop: an answer or a problem, and the cancel that came meanwhile."""

    answer: T | None = None
    problem: Exception | None = None
    cancelled: asyncio.CancelledError | None = None


async def to_its_end(send: Callable[[], Coroutine[Any, Any, T]]) -> Sent[T]:
    """Sends a close, whatever cancels its task meanwhile; the caller raises the problem, and the cancel.

    Scopes of anyio are shielded, and a cancel of this task is remembered: from the first one on, the close has ten seconds.
    One of the sending itself, as a closing loop makes it, is followed by another attempt within them.
    """
    sent = Sent[T]()
    ends_at: float | None = None
    task = asyncio.ensure_future(send())
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task], timeout=None if ends_at is None else ends_at - time.monotonic())
            except asyncio.CancelledError as error:
                sent.cancelled = error
            if ends_at is None and (sent.cancelled is not None or task.cancelled()):
                ends_at = time.monotonic() + CLOSING_SECONDS
            if ends_at is None:
                continue
            if time.monotonic() >= ends_at:
                task.cancel()
                break
            if task.cancelled():
                task = asyncio.ensure_future(send())
    if not task.done() or task.cancelled():
        sent.problem = errors.TimeoutError("The service gave no answer in time.", "no_answer", 0)
    elif isinstance(problem := task.exception(), Exception):
        sent.problem = problem
    else:
        sent.answer = task.result()
    return sent


def close_on_sigterm() -> None:
    """Makes SIGTERM end the program as `sys.exit(143)` does, so that its blocks end and close their permits.

    Call it once in the main thread, at the start. Later signals are ignored: what closes has its own bound. Raises
    ValueError in another thread. A server with a handler of its own, such as uvicorn, does not need it.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ValueError("Call close_on_sigterm in the main thread.")

    def end(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, end)
