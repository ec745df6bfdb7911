"""FastAPI and Starlette: an act that is done only under a permit. docs/executors.md.

`permitted = require_permit(…)` once; then `Depends(permitted)` in FastAPI, `await permitted(request)` in Starlette.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

import anyio
import httpx
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .permit_tokens import REFUSALS, PermitInvalid, VerifiedPermit, verify_permit
from .shown_approvals import ExpectedApprovals

PERMIT_HEADER = "runseal-permit"
APPROVALS_HEADER = "runseal-approvals"
REQUEST_SECONDS = 10
MAX_ANSWER_BYTES = 1024 * 1024
# A document of keys is used for so long: a revoked key is refused at the latest then.
CACHE_SECONDS = 300
# An unknown key id is looked for at most this often, so that invented ids ask the service for nothing.
COOLDOWN_SECONDS = 30

_UNAVAILABLE = ("keys_unavailable", "redeem_unavailable")
_FORBIDDEN = (
    *("wrong_audience", "wrong_tenant", "wrong_payload", "wrong_route", "wrong_program"),
    *("observed", "approvals_missing", "approvals_insufficient", "approvals_used"),
    *("redeem_required", "already_redeemed", "redeem_refused"),
)


@dataclass(frozen=True)
class RequiredApprovals(ExpectedApprovals):
    """Whose approvals each act needs, and how an approval is used up: without that, an operator could open two permits with one.

    `use_once(request_hash, until)` stores the hash of the approved request under a unique index, and says whether it was new.
    It is called after the redemption and before the act. The entry can be deleted after `until`, in Unix seconds.
    """

    use_once: Callable[[str, float], bool | Awaitable[bool]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.use_once):
            raise ValueError("approvals.use_once is a function that stores each request once, under a unique index")


class PermitRefused(HTTPException):  # type: ignore[misc]
    """The request is not permitted: 401 without a valid permit, 403 with one for another act, 503 when keys or redemption could not be had."""

    def __init__(self, code: str) -> None:
        super().__init__(503 if code in _UNAVAILABLE else 403 if code in _FORBIDDEN else 401, REFUSALS[code])
        self.code = code


async def answer_refused(_request: Request, refused: Exception) -> Response:
    """The handler for `app.add_exception_handler(PermitRefused, answer_refused)`: it answers `{ok, error, code}`."""
    assert isinstance(refused, PermitRefused)
    body = {"ok": False, "error": refused.detail, "code": refused.code}
    return JSONResponse(body, status_code=refused.status_code)


async def _bounded(client: httpx.AsyncClient, request: httpx.Request) -> tuple[int, bytes]:
    response = await client.send(request, stream=True)
    try:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > MAX_ANSWER_BYTES:
                raise httpx.ReadError("The answer is too long.")
        return response.status_code, bytes(body)
    finally:
        await response.aclose()


async def _asked(method: str, address: str, body: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Status and body of one request, which has no credential; raises OSError or an error of httpx without an answer."""
    with anyio.fail_after(REQUEST_SECONDS):
        async with httpx.AsyncClient(timeout=REQUEST_SECONDS, follow_redirects=False) as client:
            return await _bounded(client, client.build_request(method, address, json=body))


class _Keys:
    """The keys of a service: a document at hand, or that of an address, which is read when it is needed."""

    def __init__(self, keys: bytes | str) -> None:
        if isinstance(keys, str) and not keys.startswith(("http://", "https://")):
            raise ValueError("keys is a JWKS document as bytes, or its http or https address")
        self._address = keys if isinstance(keys, str) else None
        self._document = keys if isinstance(keys, bytes) else b""
        self._read_at: float | None = None
        self._lock = anyio.Lock()

    async def document(self, again: bool = False) -> bytes:
        """The JWKS document; with `again` a newer one, unless it was just read. Raises PermitRefused when it cannot be had."""
        if self._address is None:
            return self._document
        async with self._lock:
            lasts = COOLDOWN_SECONDS if again else CACHE_SECONDS
            if self._read_at is None or time.monotonic() - self._read_at >= lasts:
                try:
                    status, document = await _asked("GET", self._address)
                except (httpx.HTTPError, httpx.InvalidURL, OSError):
                    raise PermitRefused("keys_unavailable") from None
                if status != 200:
                    raise PermitRefused("keys_unavailable")
                self._document, self._read_at = document, time.monotonic()
        return self._document


async def _redeem(service: str, permit_id: str, permit: str) -> None:
    """Uses the permit up. Asks once: without an answer it may be used up all the same, and the act must not begin."""
    try:
        status, answer = await _asked("POST", f"{service.rstrip('/')}/permits/{permit_id}/redeem", {"permit": permit})
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        raise PermitRefused("redeem_unavailable") from None
    if status == 200:
        return
    if status == 409 and b'"already_redeemed"' in answer:
        raise PermitRefused("already_redeemed")
    raise PermitRefused("redeem_refused" if 400 <= status < 500 else "redeem_unavailable")


async def _is_unused(approvals: RequiredApprovals, found: VerifiedPermit) -> bool:
    """Whether the approval is used up by this act, and was not before."""
    if found.approved is None:
        return False
    is_new = approvals.use_once(found.approved.request_hash, found.approved.until)
    return bool(await is_new if inspect.isawaitable(is_new) else is_new)


def require_permit(
    *,
    issuer: str,
    audience: str,
    route_id: str,
    program_id: str | Collection[str],
    keys: bytes | str,
    tenant_id: str | None = None,
    redeem: str | None = None,
    accepts_observed: bool = False,
    leeway: float = 5,
    approvals: RequiredApprovals | None = None,
) -> Callable[[Request], Awaitable[VerifiedPermit]]:
    """A function of a request that gives the permit of the act which it asks for, or raises PermitRefused.

    The permit comes in the header `Runseal-Permit`, and its payload is the body of the request, byte by byte; bound the
    body before. `keys` is a JWKS document, or its address at the service. `redeem` is the address of the service, which
    then uses each permit up before the act; without it a permit that must be redeemed is refused. `approvals` are those that each
    act needs besides, in the header `Runseal-Approvals`. The other options are those of `verify_permit`: one's own knowledge,
    never what a request says. Raises ValueError for other `keys`.
    """
    known = _Keys(keys)
    if approvals is not None and not isinstance(approvals, RequiredApprovals):
        raise ValueError("approvals are RequiredApprovals: who acts says how an approval is used once")

    async def permitted(request: Request) -> VerifiedPermit:
        permit, payload = request.headers.get(PERMIT_HEADER, ""), await request.body()
        # A header that is there twice is none of the one form.
        shown = ", ".join(request.headers.getlist(APPROVALS_HEADER))

        async def verified(again: bool) -> VerifiedPermit:
            return verify_permit(
                permit,
                await known.document(again),
                issuer=issuer,
                audience=audience,
                route_id=route_id,
                program_id=program_id,
                payload=payload,
                tenant_id=tenant_id,
                redeems=redeem is not None,
                accepts_observed=accepts_observed,
                leeway=leeway,
                approvals=approvals,
                shown_approvals=shown,
            )

        try:
            try:
                found = await verified(again=False)
            except PermitInvalid as invalid:
                if invalid.code != "unknown_key":
                    raise
                found = await verified(again=True)
        except PermitInvalid as invalid:
            raise PermitRefused(invalid.code) from None
        if redeem is not None:
            await _redeem(redeem, found.permit_id, permit)
        if approvals is not None and not await _is_unused(approvals, found):
            raise PermitRefused("approvals_used")
        return found

    return permitted
