"""Forms of values that no vector shows wrong, because no fixture can seal them."""

import json

import pytest
from places import VECTORS

from runseal_verify.documents import verify_text
from runseal_verify.forms import fits
from runseal_verify.json_text import Unreadable
from runseal_verify.shapes import SECTIONS
from runseal_verify.trust import read_trust

TRUST = [read_trust((VECTORS / "trust.json").read_bytes())]


@pytest.mark.parametrize(
    "place",
    [
        *("/causal_graph", "/causal_graph/", "/causal_graph/a b", "/causal_graph/a\nb", f"/causal_graph/{'a' * 65}"),
        *("/causal_graph/#12345678", f"/causal_graph{'/a' * 65}", "/other/a", "payload/a", ""),
    ],
)
def test_places_of_a_finding(place: str) -> None:
    bundle = json.loads((VECTORS / "bundles/valid/deny-mcd-declared.json").read_text())
    bundle["sections"]["mcd_finding"]["matched_in"] = place
    with pytest.raises(Unreadable):
        verify_text(json.dumps(bundle).encode(), TRUST)


def test_disabled_signatures_are_bounded() -> None:
    bundle = json.loads((VECTORS / "bundles/valid/ok-full.json").read_text())
    evaluation = bundle["sections"]["policy_evaluation"]
    for count, good in ((1_024, True), (1_025, False)):
        ids = [f"MCD-{'DA' if at < 1_000 else 'FE'}-{at % 1_000:03}" for at in range(count)]
        scan = {**evaluation["signature_scan"], "disabled": ids}
        assert fits(SECTIONS["policy_evaluation"], {**evaluation, "signature_scan": scan}) is good
