"""Acts that people decide on: how long a caller waits for them, and how often it polls. Both clients decide by this."""

from __future__ import annotations

import math
import os
import time

from .api.answers import OpenPermitAnswer
from .api.requests import ClosePermitRequest
from .breaker import AWAY
from .errors import ApprovalPending, ConflictError, PermitUsed, RunsealError

# Longest wait for people: a day.
MAX_WAIT_SECONDS = 86_400.0
# Between two polls, where the service names no time, and the least.
POLL_SECONDS = 5.0
MIN_POLL_SECONDS = 1.0
# Of one poll, and of a redemption.
REQUEST_SECONDS = 10.0
# The close of a permit that could not be redeemed.
NOT_STARTED: ClosePermitRequest = {"outcome": "failed", "code": "NOT_EXECUTED"}


def wait_seconds(given: float | None) -> float:
    """How long a call waits until people have decided: what is given, else RUNSEAL_APPROVAL_WAIT, else not at all.

    Raises ValueError for what is no number from 0 to 86400.
    """
    try:
        seconds = float(os.environ.get("RUNSEAL_APPROVAL_WAIT") or 0) if given is None else float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise ValueError("approval_wait and RUNSEAL_APPROVAL_WAIT are seconds, from 0 to 86400.")
    return seconds


class ApprovalWait:
    """The wait of one call for people. One that is decided already is collected without a wait."""

    def __init__(self, pending: ApprovalPending, seconds: float) -> None:
        # What the call ends with.
        self.pending: ApprovalPending = pending
        self.approval_id = pending.approval_id
        self._until = time.monotonic() + seconds
        self._pause = self._after(pending) if pending.waits else 0.0
        self._is_over = False

    def pause(self) -> float | None:
        """Seconds until the next poll; None at the end of the wait."""
        if self._pause == 0.0:
            return 0.0
        left = self._until - time.monotonic()
        return None if self._is_over or left <= 0 else min(self._pause, left)

    def note(self, problem: RunsealError) -> None:
        """A poll gave no decision. An outage after people were asked is no reason to act: the wait goes on, or ends as before."""
        self._pause = self._after(problem)
        if isinstance(problem, ApprovalPending):
            self.pending = problem
            self.pending.__cause__ = None
            return
        self.pending.__cause__ = problem
        self._is_over = problem.status not in AWAY and not isinstance(problem, ConflictError)

    @staticmethod
    def _after(problem: RunsealError) -> float:
        return POLL_SECONDS if problem.retry_after is None else max(MIN_POLL_SECONDS, problem.retry_after)


def token_to_redeem(opened: OpenPermitAnswer, redeems: bool) -> str | None:
    """The token of a permit that has to be redeemed before the act; None for one that has not.

    Raises PermitUsed for a permit that is over.
    """
    if not redeems or opened.opening.get("redeem_required") is not True:
        return None
    if opened.permit is None:
        raise PermitUsed(opened.permit_id)
    return opened.permit


def is_of_another(problem: RunsealError) -> bool:
    """Whether a redemption was refused since another call has the permit, which that one closes."""
    return isinstance(problem, ConflictError)
