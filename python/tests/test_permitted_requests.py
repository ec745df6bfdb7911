"""FastAPI and Starlette behind `require_permit`, with permits of a real service."""

import importlib.util
from typing import Annotated, Any

import httpx
import pytest
from gate import gate
from places import NODE
from service import Service, free_port

from runseal_client import Runseal, VerifiedPermit

pytestmark = pytest.mark.skipif(
    not NODE.exists() or importlib.util.find_spec("fastapi") is None, reason="needs the service (npm ci) and fastapi"
)

AGENT = "3f" * 32
ORDER = b'{"amount": "12.00"}'


def permit(service: Service, payload: bytes = ORDER, **more: Any) -> str:
    asked = {"program_id": AGENT, "route_id": "payments/transfer", "registry_record_hash": AGENT}
    with Runseal(service.url) as client:
        body: Any = {**asked, "payload": payload.decode(), "audience": "payments", "reserve_tokens": 0, **more}
        return str(client.open_permit(body).permit)


def expected(service: Service, **more: Any) -> dict[str, Any]:
    origin = service.get("/version")["log_origin"]
    keys = f"{service.url}/.well-known/jwks.json"
    return {
        "issuer": origin,
        "audience": "payments",
        "route_id": "payments/transfer",
        "program_id": AGENT,
        "keys": keys,
        **more,
    }


def fastapi_app(options: dict[str, Any], acts: list[str]) -> Any:
    from fastapi import Body, Depends, FastAPI

    from runseal_client.require_permit import PermitRefused, answer_refused, require_permit

    app = FastAPI()
    app.add_exception_handler(PermitRefused, answer_refused)
    permitted = require_permit(**options)

    @app.post("/transfers")
    async def transfer(
        order: Annotated[dict[str, str], Body()], held: Annotated[VerifiedPermit, Depends(permitted)]
    ) -> dict[str, str]:
        acts.append(order["amount"])
        return {"permit_id": held.permit_id}

    return app


def starlette_app(options: dict[str, Any], acts: list[str]) -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from runseal_client.require_permit import PermitRefused, answer_refused, require_permit

    permitted = require_permit(**options)

    async def transfer(request: Request) -> JSONResponse:
        held = await permitted(request)
        acts.append((await request.json())["amount"])
        return JSONResponse({"permit_id": held.permit_id})

    return Starlette(
        routes=[Route("/transfers", transfer, methods=["POST"])], exception_handlers={PermitRefused: answer_refused}
    )


APPS = pytest.mark.parametrize("app_of", [fastapi_app, starlette_app])


def asked(app: Any, permit: str | None, body: bytes = ORDER) -> tuple[int, dict[str, Any]]:
    from starlette.testclient import TestClient

    headers = {"content-type": "application/json"} | ({} if permit is None else {"Runseal-Permit": permit})
    answer = TestClient(app).post("/transfers", content=body, headers=headers)
    return answer.status_code, answer.json()


@APPS
def test_only_the_permitted_act_is_done(service: Service, app_of: Any) -> None:
    acts: list[str] = []
    app, good = app_of(expected(service), acts), permit(service)
    status, answer = asked(app, good)
    assert (status, acts) == (200, ["12.00"])
    assert answer["permit_id"].startswith("pmt-")
    refusals = [
        (None, ORDER, 401, "missing"),
        ("a.b.c", ORDER, 401, "malformed"),
        (f"{good[:-8]}AAAAAAAA", ORDER, 401, "bad_signature"),
        (good, ORDER.replace(b"12", b"13"), 403, "wrong_payload"),
        (permit(service, audience="refunds"), ORDER, 403, "wrong_audience"),
        (permit(service, route_id="payments/read"), ORDER, 403, "wrong_route"),
        (permit(service, program_id="00" * 32), ORDER, 403, "wrong_program"),
        (permit(service, redeem_required=True), ORDER, 403, "redeem_required"),
    ]
    for given, body, status, code in refusals:
        refused = asked(app, given, body)
        assert (refused[0], refused[1]["code"], refused[1]["ok"]) == (status, code, False)
        assert refused[1]["error"].endswith(".")
    assert acts == ["12.00"]


@APPS
def test_a_permit_that_is_redeemed_acts_once(service: Service, app_of: Any) -> None:
    acts: list[str] = []
    app, once = app_of(expected(service, redeem=service.url), acts), permit(service, redeem_required=True)
    assert asked(app, once)[0] == 200
    assert (asked(app, once)[0], asked(app, once)[1]["code"]) == (403, "already_redeemed")
    away = app_of(expected(service, redeem=f"http://127.0.0.1:{free_port()}"), acts)
    assert asked(away, permit(service, redeem_required=True)) == (
        503,
        {"ok": False, "error": "The service could not be asked to redeem the permit.", "code": "redeem_unavailable"},
    )
    assert acts == ["12.00"]


def test_keys_are_read_once_and_an_invented_key_asks_for_nothing(service: Service) -> None:
    acts: list[str] = []
    good = permit(service)
    _, claims, signature = good.split(".")
    # {"alg":"ES256","typ":"runseal-permit+jwt","kid":"none"}
    invented = f"eyJhbGciOiJFUzI1NiIsInR5cCI6InJ1bnNlYWwtcGVybWl0K2p3dCIsImtpZCI6Im5vbmUifQ.{claims}.{signature}"
    with gate(service.url) as before:
        app = fastapi_app(expected(service, keys=f"{before.url}/.well-known/jwks.json"), acts)
        assert [asked(app, good)[0] for _ in range(3)] == [200, 200, 200]
        assert [asked(app, invented)[1]["code"] for _ in range(3)] == ["unknown_key"] * 3
        assert before.asked == ["/.well-known/jwks.json"]
    # The document that is held goes on without the service.
    assert asked(app, good)[0] == 200


def test_keys_at_hand_need_no_service_and_keys_that_cannot_be_had_are_503(service: Service) -> None:
    good = permit(service)
    at_hand = httpx.get(f"{service.url}/.well-known/jwks.json").content
    assert asked(fastapi_app(expected(service, keys=at_hand), []), good)[0] == 200
    away = fastapi_app(expected(service, keys=f"http://127.0.0.1:{free_port()}/jwks.json"), [])
    assert (asked(away, good)[0], asked(away, good)[1]["code"]) == (503, "keys_unavailable")
    with pytest.raises(ValueError, match="JWKS"):
        fastapi_app(expected(service, keys="jwks.json"), [])
