"""Traces of real instrumentations, OpenInference and OpenLLMetry, sent to a service: the records of what their frameworks did."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from model_server import running_model
from places import NODE
from service import UNLIMITED, running_service

NAMES = ("langchain_openai", "openinference", "opentelemetry.instrumentation", "opentelemetry.exporter")
pytestmark = pytest.mark.skipif(
    not NODE.exists() or any(importlib.util.find_spec(name.partition(".")[0]) is None for name in NAMES),
    reason="needs the service (npm ci), and the instrumentations that tools/src/python/python.test.ts installs",
)
# An instrumentation patches its framework for as long as a process lives: each has a process of its own.
TRACED = """
import importlib, sys
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

module, name, service, model = sys.argv[1:]
provider = TracerProvider(resource=Resource.create({"service.name": module}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{service}/v1/traces")))
getattr(importlib.import_module(module), name)().instrument(tracer_provider=provider)

if "langchain" in module:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def double(number: int) -> int:
        "Doubles a number."
        return 2 * number

    agent = create_agent(ChatOpenAI(model="m-1", base_url=model, api_key="none"), tools=[double])
    agent.invoke({"messages": [{"role": "user", "content": "Do it with 4."}]})
else:
    from openai import OpenAI

    client = OpenAI(base_url=model, api_key="none")
    asked = {"model": "m-1", "messages": [{"role": "user", "content": "Hello"}]}
    client.chat.completions.create(**asked)
    for _ in client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        pass
provider.shutdown()
"""
MODEL = ("otlp/chat/m-1", "m-1", "openai", 12)
TOOL = ("otlp/execute_tool/double", None, None, None)


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("openinference.instrumentation.openai", "OpenAIInstrumentor", [MODEL, MODEL]),
        ("openinference.instrumentation.langchain", "LangChainInstrumentor", [MODEL, TOOL, MODEL]),
        ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor", [MODEL, MODEL]),
        ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor", [MODEL, TOOL, MODEL]),
    ],
)
def test_calls_are_sealed(tmp_path: Path, module: str, name: str, expected: list[Any]) -> None:
    with running_service(tmp_path, *UNLIMITED) as service, running_model() as model:
        subprocess.run([sys.executable, "-c", TRACED, module, name, service.url, model.url], check=True, timeout=120)

        def sealed(run: dict[str, Any]) -> tuple[Any, ...]:
            sections = service.get(f"/runs/{run['id']}/artifacts")["sections"]
            assert sections["payload"]["ai_output_bytes"] > 0
            attested = sections["attested_context"].get("declared", {})
            cost = sections["request_substance"]["declared"].get("cost", {})
            return run["route_id"], attested.get("model_name"), attested.get("model_provider"), cost.get("total_tokens")

        assert [sealed(run) for run in reversed(service.get("/runs")["runs"])] == expected
