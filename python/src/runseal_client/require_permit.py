"""FastAPI and Starlette: an act that is done only under a permit. docs/executors.md.

`permitted = require_permit(…)` once; then `Depends(permitted)` in FastAPI, `await permitted(request)` in Starlette.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection

import anyio
import httpx
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .permit_tokens import REFUSALS, PermitInvalid, VerifiedPermit, verify_permit

PERMIT_HEADER = "runseal-permit"
REQUEST_SECONDS = 10
MAX_ANSWER_BYTES = 1024 * 1024
# A document of keys is used for so long: a revoked key is refused at the latest then.
CACHE_SECONDS = 300
# An unknown key id is looked for at most this often, so that invented ids ask the service for nothing.
COOLDOWN_SECONDS = 30

_UNAVAILABLE = ("keys_unavailable", "redeem_unavailable")
_FORBIDDEN = (
    *("wrong_audience", "wrong_tenant", "wrong_payload", "wrong_route", "wrong_program"),
    *("observed", "redeem_required", "already_redeemed", "redeem_refused"),
)


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
) -> Callable[[Request], Awaitable[VerifiedPermit]]:
    """A function of a request that gives the permit of the act which it asks for, or raises PermitRefused.

    The permit comes in the header `Runseal-Permit`, and its payload is the body of the request, byte by byte; bound the
    body before. `keys` is a JWKS document, or its address at the service. `redeem` is the address of the service, which
    then uses each permit up before the act; without it a permit that must be redeemed is refused. The other options are
    those of `verify_permit`: one's own knowledge, never what a request says. Raises ValueError for other `keys`.
    """
    known = _Keys(keys)

    async def permitted(request: Request) -> VerifiedPermit:
        permit, payload = request.headers.get(PERMIT_HEADER, ""), await request.body()

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
        return found

    return permitted
