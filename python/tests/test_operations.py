"""The client's calls, held against the service's own description of its API."""

import inspect
import itertools
import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from places import NODE
from pydantic import BaseModel
from service import running_service

from runseal_client import Runseal
from runseal_client.calls import Call
from runseal_client.operations import Method, Operations

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the service is not installed: npm ci")

# Operations that are no calls of a program with this client.
OF_OTHERS = {
    "hook_claude_code": "Claude Code calls it",
    "export_traces": "exporters of OpenTelemetry call it",
    "console": "a page",
    "console_page": "a page",
    "console_form": "a page",
    "public_run": "a page",
    "shared_run": "a page",
    "docs": "a page",
    "docs_file": "a page",
    "verify_page": "a page",
    "run_bundle": "serves no run",
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with running_service(tmp_path_factory.mktemp("service")) as service, Runseal(service.url) as client:
        described: dict[str, Any] = json.loads(client.openapi())
        return described


def _values(kind: Any) -> list[Any]:
    if get_origin(kind) in (Union, types.UnionType):
        return [value for each in get_args(kind) for value in _values(each)]
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    plain: dict[Any, list[Any]] = {int: [1], str: ["a"], bool: [True], type(None): [None]}
    return plain.get(kind, [{}])


def _calls(make: Any) -> Iterator[Call[Any]]:
    """A call of each choice of arguments: the required ones alone, and all of them."""
    hints, parameters = get_type_hints(make), inspect.signature(make).parameters.values()
    settled = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    required = [each.name for each in settled if each.default is each.empty]
    for names in (required, [each.name for each in settled]):
        for values in itertools.product(*(_values(hints[name]) for name in names)):
            yield make(**dict(zip(names, values, strict=True)))
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        yield make(**{name: _values(hints[name])[0] for name in required}, from_="a")


def _made() -> dict[str, list[Call[Any]]]:
    methods = {name: each for name, each in vars(Operations).items() if isinstance(each, Method)}
    return {name: list(_calls(each.make)) for name, each in methods.items()}


def _operation(api: dict[str, Any], call: Call[Any]) -> dict[str, Any]:
    """The operation of a call: of two paths that fit, the one with fewer parameters."""
    for path in sorted(api["paths"], key=lambda each: each.count("{")):
        pattern = "[^/]+".join(re.escape(part) for part in re.split(r"\{\w+\}", path))
        if re.fullmatch(pattern, call.path) and call.method.lower() in api["paths"][path]:
            found: dict[str, Any] = api["paths"][path][call.method.lower()]
            return found
    raise AssertionError(f"The API has no {call.method} {call.path}.")


def test_every_operation_has_a_method(api: dict[str, Any]) -> None:
    known = {operation["operationId"] for path in api["paths"].values() for operation in path.values()}
    called = {_operation(api, call)["operationId"] for calls in _made().values() for call in calls}
    assert known - called == set(OF_OTHERS)


def test_every_parameter_is_one_of_the_operation(api: dict[str, Any]) -> None:
    for name, calls in _made().items():
        for call in calls:
            known = {each["name"] for each in _operation(api, call).get("parameters", [])}
            assert set(call.query) - {"from"} <= known, name
            assert call.idempotency_key is None or "Idempotency-Key" in known, name


def test_every_operation_under_an_idempotency_key_takes_one(api: dict[str, Any]) -> None:
    keyed = {
        operation["operationId"]
        for path in api["paths"].values()
        for operation in path.values()
        if any(each["name"] == "Idempotency-Key" for each in operation.get("parameters", []))
    }
    sent = {
        call.idempotency_key and _operation(api, call)["operationId"] for calls in _made().values() for call in calls
    }
    assert sent - {None} == keyed


def test_every_model_reads_what_is_described(api: dict[str, Any]) -> None:
    def members(schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = api["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema

    for name, calls in _made().items():
        for call in calls:
            answers = [each for status, each in _operation(api, call)["responses"].items() if status in ("200", "201")]
            schema = members(answers[-1]["content"].get("application/json", {}).get("schema", {}))
            if "properties" not in schema or not issubclass(call.answer, BaseModel):
                continue
            needed = {each for each, field in call.answer.model_fields.items() if field.is_required()}
            assert needed <= set(schema["required"]), name
            assert set(call.answer.model_fields) <= {*schema["properties"], "error", "error_stage"}, name


def test_both_clients_have_the_same_methods() -> None:
    from runseal_client import AsyncRunseal

    public = {name for name in dir(Runseal) if not name.startswith("_")} - {"close"}
    assert public == {name for name in dir(AsyncRunseal) if not name.startswith("_")} - {"aclose"}


def test_the_file_of_operations_has_every_call() -> None:
    folder = Path(inspect.getfile(Operations)).parent
    made = {name for name in vars(Operations) if not name.startswith("_")}
    texts = [(folder / f"{kind}_calls.py").read_text() for kind in ("caller", "admin", "service")]
    assert {name for text in texts for name in re.findall(r"^def (\w+)", text, re.MULTILINE)} == made
