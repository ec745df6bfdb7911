"""The lines of a large input, judged in several processes at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from .json_text import Unreadable

T = TypeVar("T")
Line = tuple[int, bytes]

MAX_JOBS = 64
# What one process gets at a time: so many lines, or fewer that have so many bytes.
BATCH_LINES = 32
BATCH_BYTES = 1024 * 1024
# Batches that are read and not answered, for each process.
WAITING_BATCHES = 2

_judge: Callable[[Line], Any]


def _set_judge(judge: Callable[[Line], Any]) -> None:
    global _judge
    _judge = judge


def _judged(batch: list[Line]) -> list[Any]:
    return [_judge(line) for line in batch]


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line[1])
        if len(batch) == BATCH_LINES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def in_order(judge: Callable[[Line], T], lines: Iterable[Line], jobs: int) -> Iterator[T]:
    """What `judge` gives of each numbered line, in the order of the lines, from `jobs` processes or, of one job, from this one.

    At most `WAITING_BATCHES` batches for each process are in memory. Raises what `judge` raises, and Unreadable when a process ends early.
    """
    if jobs == 1:
        yield from map(judge, lines)
        return
    waiting: deque[Future[list[T]]] = deque()
    with ProcessPoolExecutor(jobs, initializer=_set_judge, initargs=(judge,)) as processes:
        try:
            for batch in _batches(lines):
                waiting.append(processes.submit(_judged, batch))
                if len(waiting) == WAITING_BATCHES * jobs:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        except BrokenProcessPool:
            raise Unreadable("A process ended before it answered: use fewer --jobs.") from None
        finally:
            processes.shutdown(cancel_futures=True)
