"""The command runseal-verify."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from places import VECTORS

from runseal_verify.cli import main

TRUST = ["--trust", str(VECTORS / "trust.json")]


@pytest.mark.parametrize(
    ("name", "code", "last"),
    [
        ("bundles/valid/ok-full.json", 0, "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"),
        ("bundles/invalid/run-number.json", 1, "FAILED"),
        ("bundles/valid/deny-unanchored.json", 1, "SELF-CONSISTENT ONLY, NOT ANCHORED"),
        ("receipts/valid/deny-mcd.json", 0, "RECEIPT VERIFIED AND ANCHORED"),
        ("requests/valid/request.json", 0, "APPROVAL REQUEST VERIFIED AND ANCHORED"),
        ("openings/valid/opening.json", 0, "OPENING VERIFIED AND ANCHORED"),
        ("ends/valid/expired.json", 0, "PERMIT END VERIFIED AND ANCHORED"),
    ],
)
def test_last_line_and_exit_code(name: str, code: int, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(VECTORS / name), *TRUST]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last
    assert "Not checked" in lines


def test_one_leading_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    document = (VECTORS / "bundles/valid/ok-full.json").read_bytes()
    for marks, code in ((1, 0), (2, 2)):
        (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf" * marks + document)
        assert main([str(tmp_path / "a.json"), *TRUST]) == code


@pytest.mark.parametrize("way", ["--complete", "--ndjson"])
def test_a_byte_order_mark_of_an_export_or_a_trust_document_is_passed_over(way: str, tmp_path: Path) -> None:
    export, trust = tmp_path / "a.ndjson", tmp_path / "trust.json"
    texts = (VECTORS / "exports/valid/everything.ndjson").read_bytes(), Path(TRUST[1]).read_bytes()
    for mark, codec, code in (("\ufeff", "utf-8", 0), ("\ufeff", "utf-16-le", 2), ("", "utf-16-be", 2)):
        for marked, plain in ((export, trust), (trust, export)):
            for path, text in zip((export, trust), texts, strict=True):
                path.write_bytes(text)
            marked.write_bytes((mark + marked.read_text()).encode(codec))
            assert main([str(export), way, "--trust", str(trust)]) == code, (marked, plain)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"%PDF-1.7\n", "PDF"),
        ("\ufeff{}".encode("utf-16-le"), "UTF-16"),
        ("{}".encode("utf-16-be"), "UTF-16"),
        (gzip.compress(b"{}"), "gzip"),
        (b"PK\x03\x04", "ZIP"),
    ],
)
def test_a_file_of_another_kind_is_named(
    data: bytes, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_bytes(data)
    assert main([str(tmp_path / "a.json"), *TRUST]) == 2
    assert name in capsys.readouterr().err


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
    command = [sys.executable, "-m", "runseal_verify", "-", "--json", *TRUST]
    run = subprocess.run(command, input=text, capture_output=True, check=True, timeout=60)
    answer = json.loads(run.stdout)
    assert (answer["verdict"], answer["outcome_kind"]) == (
        "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
        "macc_halt",
    )


OBSERVED = ["bundles/valid/observed-ok.json", "bundles/valid/observed-deny-rule.json", "openings/valid/observed.json"]


@pytest.mark.parametrize("name", OBSERVED)
def test_what_was_only_observed_can_be_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = [str(VECTORS / name), *TRUST]
    assert main(document) == 0
    assert "Limitation  observed_only: It was observed: what was decided stopped nothing." in capsys.readouterr().out
    assert main([*document, "--strict=withheld_section"]) == 0
    assert main([*document, "--strict=withheld_section,observed_only"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "FAILED"
    assert main([*document, "--strict=observed_only", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["first_failure"] == "strict"
    with pytest.raises(SystemExit) as wrong:
        main([*document, "--strict=software_attestation"])
    assert wrong.value.code == 2


def test_an_export_of_what_was_only_observed_can_be_refused(capsys: pytest.CaptureFixture[str]) -> None:
    export = [str(VECTORS / "exports/valid/observed-openings.ndjson"), "--complete", *TRUST]
    assert main(export) == 0
    assert main([*export, "--strict=observed_only"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "FAILED"


def test_an_output_that_was_not_sent_is_held_to_the_hash_that_was_declared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = "Approve the claim. Reason: covered by section 4, below the threshold of 2,000 EUR."
    (tmp_path / "genuine").write_text(output)
    (tmp_path / "other").write_text(output + "\n")
    for name, declared in (("ok-output-not-sent", True), ("ok-full", False)):
        document = [str(VECTORS / f"bundles/valid/{name}.json"), *TRUST]
        assert main([*document, "--ai-output", str(tmp_path / "genuine")]) == 0
        printed = capsys.readouterr().out
        assert ("its hash is the caller's, and the service never had the output" in printed) is declared
        assert ("Limitation  output_not_reviewed" in printed) is declared
        assert main([*document, "--ai-output", str(tmp_path / "other")]) == 1
        assert "First failed check: expected_ai_output." in capsys.readouterr().out
    assert main([str(VECTORS / "bundles/valid/ok-output-not-sent.json"), "--strict=output_not_reviewed", *TRUST]) == 1
    assert main([str(VECTORS / "bundles/valid/ok-minimal.json"), "--ai-output", str(tmp_path / "genuine"), *TRUST]) == 1


def test_jobs_change_no_answer_and_no_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(VECTORS.glob("bundles/*/*.json"))
    lines = [each.read_text().replace("\n", " ") for each in files]
    (tmp_path / "many.ndjson").write_text("\n".join([*lines, "", "{}", *reversed(lines)]))
    exports = sorted(VECTORS.glob("exports/*/*.ndjson"))
    calls = [[str(tmp_path / "many.ndjson")], [str(tmp_path / "many.ndjson"), "--json"]]
    for call in [*calls, *([str(each), "--complete"] for each in exports)]:
        alone, many = ((main([*call, *TRUST, "--jobs", jobs]), *capsys.readouterr()) for jobs in ("1", "3"))
        assert many == alone


@pytest.mark.parametrize("jobs", ["0", "65", "-1", "2.5", "many"])
def test_jobs_are_bounded(jobs: str) -> None:
    with pytest.raises(SystemExit) as wrong:
        main([str(VECTORS / "exports/valid/permits.ndjson"), "--complete", *TRUST, "--jobs", jobs])
    assert wrong.value.code == 2
