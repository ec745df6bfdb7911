"""What an event loop feels of a door: how late it is with a task that should run all the time."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

TICK_SECONDS = 0.02


class Ticker:
    """The longest time for which the loop ran nothing else."""

    longest = 0.0


@asynccontextmanager
async def ticking() -> AsyncIterator[Ticker]:
    """A ticker beside the block."""
    ticker = Ticker()

    async def tick() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(TICK_SECONDS)
            ticker.longest = max(ticker.longest, time.monotonic() - before)

    task = asyncio.create_task(tick())
    try:
        yield ticker
    finally:
        task.cancel()
