"""The command runseal-verify."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from places import VECTORS

from runseal_client.verifier.cli import main

TRUST = ["--trust", str(VECTORS / "trust.json")]


@pytest.mark.parametrize(
    ("name", "code", "last"),
    [
        ("bundles/valid/ok-full.json", 0, "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"),
        ("bundles/invalid/run-number.json", 1, "FAILED"),
        ("bundles/valid/deny-unanchored.json", 1, "SELF-CONSISTENT ONLY, NOT ANCHORED"),
        ("receipts/valid/deny-mcd.json", 0, "RECEIPT VERIFIED AND ANCHORED"),
        ("openings/valid/opening.json", 0, "OPENING VERIFIED AND ANCHORED"),
        ("ends/valid/expired.json", 0, "PERMIT END VERIFIED AND ANCHORED"),
    ],
)
def test_last_line_and_exit_code(name: str, code: int, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(VECTORS / name), *TRUST]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last
    assert "Not checked" in lines


def test_unanchored_may_be_allowed() -> None:
    assert main([str(VECTORS / "bundles/valid/deny-unanchored.json"), "--allow-unanchored", *TRUST]) == 0


def test_other_input_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text("{}")
    assert main([str(tmp_path / "a.json"), *TRUST]) == 2
    assert main([str(tmp_path / "none.json"), *TRUST]) == 2
    assert capsys.readouterr().out == ""


def test_a_record_with_outside_anchors_is_not_judged(tmp_path: Path) -> None:
    bundle = json.loads((VECTORS / "bundles/valid/ok-full.json").read_text())
    bundle["anchors"]["outside"] = []
    (tmp_path / "a.json").write_text(json.dumps(bundle))
    assert main([str(tmp_path / "a.json"), *TRUST]) == 2


def test_json_and_standard_input() -> None:
    text = (VECTORS / "bundles/valid/macc-halt.json").read_bytes()
    command = [sys.executable, "-m", "runseal_client.verifier", "-", "--json", *TRUST]
    run = subprocess.run(command, input=text, capture_output=True, check=True, timeout=60)
    answer = json.loads(run.stdout)
    assert (answer["verdict"], answer["outcome_kind"]) == (
        "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
        "macc_halt",
    )
