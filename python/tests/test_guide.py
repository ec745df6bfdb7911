"""The examples of docs/python.md: they are typed, and run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import NODE, REPOSITORY
from service import running_service

import runseal_client
import runseal_verify

pytestmark = pytest.mark.skipif(not NODE.exists(), reason="the service is not installed: npm ci")

# What an example takes from its reader.
GIVEN = f"""
PROGRAM = ENTRY = "{"ab" * 32}"

def pay(token: str | None) -> str:
    return "paid"
"""
EXAMPLES = re.findall(r"```python\n(.*?)```", (REPOSITORY / "docs/python.md").read_text(), re.DOTALL)


def test_the_examples_of_the_guide_are_typed_and_run(tmp_path: Path) -> None:
    assert len(EXAMPLES) >= 4
    programs = [tmp_path / f"example_{at}.py" for at in range(len(EXAMPLES))]
    for program, text in zip(programs, EXAMPLES, strict=True):
        program.write_text(GIVEN + text)
    python = Path(__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary", *map(str, programs)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=python)
    assert checked.stdout == ""
    with running_service(tmp_path) as service:
        path = os.pathsep.join(str(Path(each.__path__[0]).parent) for each in (runseal_client, runseal_verify))
        environment = {**os.environ, "RUNSEAL_URL": service.url, "PYTHONPATH": path}
        (tmp_path / "trust.json").write_text(json.dumps(service.get("/.well-known/runseal-trust.json")))
        for program in programs:
            command = [sys.executable, str(program)]
            run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
            assert (run.returncode, run.stderr) == (0, ""), program.read_text()


def test_every_name_of_the_package_is_there() -> None:
    assert [name for name in runseal_client.__all__ if not hasattr(runseal_client, name)] == []
