"""What the client raises."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.answers import AskedApprovalAnswer, RunAnswer


class RunsealError(Exception):
    """A request that the service refused, or that had no answer.

    `code` is one of the list in docs/api.md, or `no_answer` when there was none, or `bad_answer`; `status` is the HTTP
    status, 0 without one. After `no_answer` of a POST it is not known whether it took effect. `request_id` names the
    request in the service's log, and `retry_after` the seconds after which the service asks for a retry, where it says so.
    """

    def __init__(
        self, message: str, code: str, status: int, request_id: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class AuthenticationError(RunsealError):
    """401: the key is absent, unknown, expired or revoked."""


class PermissionDeniedError(RunsealError):
    """403: the key may not do this."""


class NotFoundError(RunsealError):
    """404: there is no such thing, or it belongs to another key."""


class ConflictError(RunsealError):
    """409: what is asked for contradicts what was done before."""


class RateLimitError(RunsealError):
    """429: a limit is reached. `retry_after` says when to try again."""


class ConnectionError(RunsealError, builtins.ConnectionError):
    """There was no answer: the code is `no_answer` and the status 0. The cause is the error of httpx."""


class TimeoutError(ConnectionError, builtins.TimeoutError):
    """There was no answer in time."""


_OF_STATUS: dict[int, type[RunsealError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
}


def error_of(
    message: str, code: str, status: int, request_id: str | None = None, retry_after: float | None = None
) -> RunsealError:
    """The error of a refused request, of the class of its status."""
    return _OF_STATUS.get(status, RunsealError)(message, code, status, request_id, retry_after)


# The end user of a request is not taken, or people would have to approve it and cannot be asked.
_UNFIT = (
    "end_user_required",
    "end_user_token_invalid",
    "approval_waiting",
    "approval_over",
    "approval_payload_too_large",
    "too_many_approvals",
)


def is_unfit(error: RunsealError) -> bool:
    """Whether the service does not take a request (400, 413, 431), or its end user, or people decide on it and have not. A caller or
    a tool can bring that about: it is no reason to go on without a decision, as an outage may be."""
    return error.status in (400, 413, 431) or error.code in _UNFIT or isinstance(error, (ApprovalPending, PermitUsed))


class ActRefused(RunsealError):
    """A gate refused: before the act, which must not be done, or at its close, after which the output must not be used.

    `answer` is the sealed run of that refusal.
    """

    def __init__(self, answer: RunAnswer, status: int, request_id: str | None = None) -> None:
        super().__init__(answer.error or "The run was refused.", "refused", status, request_id)
        self.answer = answer

    @property
    def observed(self) -> bool:
        """Whether the refusal is sealed and stops nothing: the act may go on, without a permit."""
        return self.answer.enforcement == "observe"


class ApprovalPending(RunsealError):
    """People decide on the act, and have not: nothing is permitted, and the act must not be done.

    `address` is the page where they decide, until `expires_at`. The same request later finds what they decided, and so does
    `collect_permit(approval_id)`. Its cause is why the service could not be polled.
    """

    def __init__(
        self, answer: AskedApprovalAnswer, request_id: str | None = None, retry_after: float | None = None
    ) -> None:
        sentence = f"People decide on this call, until {answer.expires_at}: {answer.address}"
        super().__init__(sentence, "approval_pending", 202, request_id, retry_after)
        self.approval_id = answer.approval_id
        self.address = answer.address
        self.expires_at = answer.expires_at
        # False once they have decided, and nobody has collected.
        self.waits = answer.state == "waiting"


class PermitUsed(RunsealError):
    """The permit allows this call nothing: another call used it, it is over, or nobody knows whether it could be redeemed,
    which is the cause. The act was not started."""

    def __init__(self, permit_id: str) -> None:
        super().__init__(f"The permit {permit_id} allows this call nothing: it was used or is over.", "permit_used", 0)
        self.permit_id = permit_id


class CloseUnconfirmed(Exception):
    """The act was made, and the service did not confirm its close: do not make the act once more.

    It is no RunsealError, which says that an act was not permitted or a request not answered. `permit_id` names the permit,
    and `result` is what the act gave: what a sealed function returned, or the text that was reported. `reason` is the code
    of the RunsealError that is its cause. With `stored` the close is in the spool, and is sent once more; else the permit
    ends by itself, and the service seals that nobody reported the act.
    """

    code = "close_unconfirmed"

    def __init__(self, permit_id: str, result: Any, reason: str, stored: bool) -> None:
        later = "It is sent once more." if stored else "It could not be stored."
        super().__init__(
            f"The act was made; do not make it once more. The close of its permit is not confirmed ({reason}). {later}"
        )
        self.permit_id = permit_id
        self.result = result
        self.reason = reason
        self.stored = stored
