"""What a type checker says of a program that uses the client."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
from runseal_client import AsyncRunseal, Runseal
from runseal_client.api.requests import ExecuteRequest

def good(client: Runseal) -> None:
    request: ExecuteRequest = {
        "program_id": "a",
        "route_id": "b",
        "registry_record_hash": "c",
        "payload": "d",
        "attested_context": {"actor_id": "e"},
        "request_substance": {"cost": {"total_tokens": 1}},
    }
    answer = client.execute(request, timeout=5, extra={"new": 1})
    print(answer.run_id + 1, answer.error)
    for run in client.iter_runs(route_id="b", status="ok"):
        print(run.id + 1)
    client.change_key(1, notes=None)

def misspelt(client: Runseal) -> None:
    client.execute({"program_id": "a", "route_id": "b", "registry_record_hash": "c", "paylod": "d"})
    client.execute(
        {
            "program_id": "a",
            "route_id": "b",
            "registry_record_hash": "c",
            "payload": "d",
            "attested_context": {"actor": "e"},
            "request_substance": {"cost": {"total_token": 1}},
        }
    )
    client.execute({"program_id": "a", "route_id": "b", "payload": "d"})
    client.make_key("a", tear="trial")
    client.runs(route="b")
    print(client.version().log)
    client.runs(status="okay")

async def later(client: AsyncRunseal) -> None:
    await client.make_destination("https://a.example", outcome=["ok"])
    async with client.permit({"program_id": "a", "route_id": "b", "registry_record_hash": "c", "audience": "d"}) as act:
        act.completed(request_substanc={"cost": {"total_tokens": 1}})
"""


def test_a_misspelt_member_is_refused_and_a_known_one_is_not(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary", str(program)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[1])
    found = [
        (PROGRAM.split("\n")[int(line.split(":")[1]) - 1].strip(), line.rpartition("[")[2].rstrip("]"))
        for line in run.stdout.splitlines()
        if line.startswith(str(program)) and ": error:" in line
    ]
    assert [(text[:44], code) for text, code in found] == [
        ('client.execute({"program_id": "a", "route_id', "typeddict-unknown-key"),
        ('"attested_context": {"actor": "e"},', "typeddict-unknown-key"),
        ('"request_substance": {"cost": {"total_token"', "typeddict-unknown-key"),
        ('client.execute({"program_id": "a", "route_id', "typeddict-item"),
        ('client.make_key("a", tear="trial")', "call-arg"),
        ('client.runs(route="b")', "call-arg"),
        ("print(client.version().log)", "attr-defined"),
        ('client.runs(status="okay")', "arg-type"),
        ('await client.make_destination("https://a.exa', "call-arg"),
        ('async with client.permit({"program_id": "a",', "typeddict-item"),
        ('act.completed(request_substanc={"cost": {"to', "call-arg"),
    ], run.stdout
