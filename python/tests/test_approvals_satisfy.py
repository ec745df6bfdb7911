"""Whether approvals satisfy rules, against every way to give persons to rules."""

import itertools
import random
from typing import Any

from runseal_verify.approvals import satisfied

Json = dict[str, Any]
GROUPS = ("a", "b", "c")
SEED = 20261129


def _groups(chosen: random.Random) -> list[str]:
    return sorted(chosen.sample(GROUPS, chosen.randint(1, len(GROUPS))))


def _decision(chosen: random.Random, subject: str) -> Json:
    proof = chosen.choice(("key", "idp", "passkey"))
    return {"decision": "approve", "person": {"subject": subject}, "groups": _groups(chosen), "proof": proof}


def _rule(chosen: random.Random) -> Json:
    proof: Json = chosen.choice(({}, {"proof": "any"}, {"proof": "idp"}, {"proof": "passkey"}))
    return {"by": _groups(chosen), "count": chosen.randint(1, 2), **proof}


def _fits(rule: Json, decision: Json) -> bool:
    stronger = {"idp": ("idp", "passkey"), "passkey": ("passkey",)}
    is_proven = decision["proof"] in stronger.get(rule.get("proof", "any"), ("key", "idp", "passkey"))
    return is_proven and any(group in rule["by"] for group in decision["groups"])


def _by_trying(rules: list[Json], decisions: list[Json]) -> bool:
    places = [rule for rule in rules for _ in range(rule["count"])]
    orders = itertools.permutations(decisions, len(places))
    return any(all(map(_fits, places, order)) for order in orders)


def test_as_trying_every_way_finds() -> None:
    chosen, found = random.Random(SEED), set()
    for _ in range(2_000):
        rules = [_rule(chosen) for _ in range(chosen.randint(0, 3))]
        decisions = [_decision(chosen, f"p{at}") for at in range(chosen.randint(0, 5))]
        assert satisfied(rules, decisions) == _by_trying(rules, decisions), (rules, decisions)
        found.add(satisfied(rules, decisions))
    assert found == {True, False}


def test_a_rejection_satisfies_nothing_and_a_person_counts_once() -> None:
    rule = {"by": ["a"], "count": 1}
    anna = {"decision": "approve", "person": {"subject": "anna"}, "groups": ["a"], "proof": "idp"}
    ben = {**anna, "decision": "reject", "person": {"subject": "ben"}}
    assert satisfied([rule], [anna])
    assert not satisfied([rule], [anna, ben])
    assert not satisfied([{**rule, "count": 2}], [anna, anna])
