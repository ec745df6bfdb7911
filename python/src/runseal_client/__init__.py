"""Client of Runseal. Nothing heavy is imported before it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .async_client import AsyncPermit, AsyncRunseal
    from .client import Permit, Runseal
    from .closing import close_on_sigterm
    from .errors import (
        ActRefused,
        ApprovalPending,
        AuthenticationError,
        CloseUnconfirmed,
        ConflictError,
        ConnectionError,
        NotFoundError,
        PermissionDeniedError,
        PermitUsed,
        RateLimitError,
        RunsealError,
        TimeoutError,
    )
    from .permit_tokens import PermitInvalid, VerifiedPermit, verify_permit
    from .sealed_call import sealed
    from .shown_approvals import ExpectedApprovals, ProvenApprovals
    from .tools import seal_tools

_PLACES = {
    "ActRefused": "errors",
    "ApprovalPending": "errors",
    "AsyncPermit": "async_client",
    "AsyncRunseal": "async_client",
    "AuthenticationError": "errors",
    "CloseUnconfirmed": "errors",
    "ConflictError": "errors",
    "ConnectionError": "errors",
    "ExpectedApprovals": "permit_tokens",
    "NotFoundError": "errors",
    "PermissionDeniedError": "errors",
    "Permit": "client",
    "PermitInvalid": "permit_tokens",
    "PermitUsed": "errors",
    "ProvenApprovals": "permit_tokens",
    "RateLimitError": "errors",
    "Runseal": "client",
    "RunsealError": "errors",
    "TimeoutError": "errors",
    "VerifiedPermit": "permit_tokens",
    "close_on_sigterm": "closing",
    "seal_tools": "tools",
    "sealed": "sealed_call",
    "verify_permit": "permit_tokens",
}
__all__ = [
    "ActRefused",
    "ApprovalPending",
    "AsyncPermit",
    "AsyncRunseal",
    "AuthenticationError",
    "CloseUnconfirmed",
    "ConflictError",
    "ConnectionError",
    "ExpectedApprovals",
    "NotFoundError",
    "PermissionDeniedError",
    "Permit",
    "PermitInvalid",
    "PermitUsed",
    "ProvenApprovals",
    "RateLimitError",
    "Runseal",
    "RunsealError",
    "TimeoutError",
    "VerifiedPermit",
    "close_on_sigterm",
    "seal_tools",
    "sealed",
    "verify_permit",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
