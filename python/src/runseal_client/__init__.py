"""Client of Runseal. Nothing heavy is imported before it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .async_client import AsyncPermit, AsyncRunseal
    from .client import Permit, Runseal
    from .closing import close_on_sigterm
    from .errors import ActRefused, CloseUnconfirmed, RunsealError
    from .permit_tokens import PermitInvalid, VerifiedPermit, verify_permit
    from .sealed_call import sealed

_PLACES = {
    "ActRefused": "errors",
    "AsyncPermit": "async_client",
    "AsyncRunseal": "async_client",
    "CloseUnconfirmed": "errors",
    "Permit": "client",
    "PermitInvalid": "permit_tokens",
    "Runseal": "client",
    "RunsealError": "errors",
    "VerifiedPermit": "permit_tokens",
    "close_on_sigterm": "closing",
    "sealed": "sealed_call",
    "verify_permit": "permit_tokens",
}
__all__ = [
    "ActRefused",
    "AsyncPermit",
    "AsyncRunseal",
    "CloseUnconfirmed",
    "Permit",
    "PermitInvalid",
    "Runseal",
    "RunsealError",
    "VerifiedPermit",
    "close_on_sigterm",
    "sealed",
    "verify_permit",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(name)
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)
