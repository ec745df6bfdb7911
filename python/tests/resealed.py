"""Records that are wrong in one place and sealed all the same: every hash over the place is made again.

Only refused runs and stage errors, without log entries: nothing of them is signed, so that what decides is their meaning.
"""

import copy
import random
from collections.abc import Iterator
from typing import Any

from runseal_verify.bundle import BundleVerification
from runseal_verify.decisions import token_of
from runseal_verify.derivation import sealed
from runseal_verify.json_text import digest, without
from runseal_verify.kernels import is_withheld
from runseal_verify.manifests import partial_manifest
from runseal_verify.shapes import DECLARED, RECEIPTS
from runseal_verify.trust import Trust

Json = dict[str, Any]
_HASHED = ("evaluation_hash", "budget_hash", "review_hash", "allow_token_hash", "partial_execution_hash")
# Sections that the policy evaluation names.
_JUDGED = ("end_user", "act", "approvals")
_ENDS = ("0", "1", "", "allow", "deny", "halt", "defer", "release", "RULE_DENIED", "DEFAULT_DENY", "observe", "enforce")


def bare(bundle: Json) -> Json | None:
    """The record without its log entries; None for one that cannot be without them, or with a withheld section."""
    sections = bundle["sections"]
    if bundle["run"]["outcome_kind"] == "ok" or any(is_withheld(each) for each in sections.values()):
        return None
    made: Json = copy.deepcopy({**bundle, "anchors": {}})
    made["run"].pop("leaf_version", None)
    for name in RECEIPTS:
        made.get(name, {}).pop("anchor_required", None)
    return made


def reseal(bundle: Json, trust: Trust) -> Json:
    """The record with every hash made again, from its sections on."""
    sections = bundle["sections"]
    _seal(sections)
    if "envelope" in sections:
        _link(bundle, sections)
    _receipt(bundle, trust)
    made = BundleVerification(bundle, trust).made
    bundle["derived"] = {name: made.hash_of(name) for name in bundle.get("derived", {})}
    if "partial_manifest" in bundle:
        bundle["partial_manifest"] = partial_manifest(made)
    hashes = {name: each["hash"] for name, each in sections.items()}
    bundle["bundle_hash"] = digest({**without(bundle, "bundle_hash"), "sections": hashes})
    return bundle


def _seal(sections: Json) -> None:
    for name in ("payload", *DECLARED, "system_provenance", "closing", *_JUDGED):
        if name in sections and not is_withheld(sections[name]):
            sections[name] = sealed(without(sections[name], "hash"))


def _link(bundle: Json, sections: Json) -> None:
    envelope = without(sections["envelope"], "hash")
    if "end_user" in sections and "end_user_hash" in envelope:
        envelope["end_user_hash"] = sections["end_user"]["hash"]
    names = {name: sections[name]["hash"] for name in DECLARED}
    envelope["declared_sections_hash"] = digest({"kind": "vfa.declared_sections.v1", **names})
    copied = ("program_id", "route_id", "registry_record_hash", "payload_hash", "admission_clock", "run_nonce")
    named = digest({"kind": "vfa.envelope_id.v1", **{name: envelope[name] for name in copied}})[:16]
    envelope["envelope_id"] = f"env-{named}"
    sections["envelope"] = envelope = sealed(envelope)
    for name in ("permit", "mcd_finding", "policy_evaluation", "budget_snapshot", "governance_review"):
        if name not in sections:
            continue
        section = without(sections[name], "hash")
        if "envelope_id" in section:
            section["envelope_id"] = envelope["envelope_id"]
        if name == "permit":
            permit = digest({"kind": "vfa.permit_id.v1", "envelope_hash": envelope["hash"]})[:32]
            section["permit_id"] = f"pmt-{permit}"
        if name == "policy_evaluation" and "mcd_finding" in sections:
            section["mcd_finding_hash"] = sections["mcd_finding"]["hash"]
        for judged in _JUDGED if name == "policy_evaluation" else ():
            if judged in sections and f"{judged}_hash" in section:
                section[f"{judged}_hash"] = sections[judged]["hash"]
        if "window" in section:
            charge = digest({"kind": "vfa.charge_id.v1", "envelope_hash": envelope["hash"]})[:32]
            section["window"]["charge_id"] = f"chg-{charge}"
        sections[name] = sealed(section)
    if "allow_token" in bundle:
        bundle["allow_token"] = token_of(sections["policy_evaluation"])


def _receipt(bundle: Json, trust: Trust) -> None:
    name = next((each for each in RECEIPTS if each in bundle), None)
    if name is None:
        return
    receipt, sections = without(bundle[name], "hash"), bundle["sections"]
    made = BundleVerification(bundle, trust).made
    named = {
        "evaluation_hash": "policy_evaluation",
        "budget_hash": "budget_snapshot",
        "review_hash": "governance_review",
    }
    for member in _HASHED:
        if member in receipt:
            receipt[member] = (
                sections[named[member]]["hash"]
                if member in named
                else made.token_hash()
                if member == "allow_token_hash"
                else made.hash_of("efa")
            )
    if "mcd_finding_hash" in receipt and "mcd_finding" in sections:
        receipt["mcd_finding_hash"] = sections["mcd_finding"]["hash"]
    if "envelope" in sections:
        receipt["envelope_id"] = sections["envelope"]["envelope_id"]
    bundle[name] = sealed(receipt)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*path, key)
        yield from _places(member, (*path, key))


def _other(chosen: random.Random, value: Any, known: list[Any]) -> Any:
    """Another value that the member might have: one of another record, or a neighbour of its own."""
    if known and chosen.random() < 0.6:
        return copy.deepcopy(chosen.choice(known))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chosen.choice([value + 1, max(0, value - 1), 0, 1, 2 * value])
    if isinstance(value, list):
        return chosen.choice([[], value[:1], value[::-1], value + value[:1]])
    if isinstance(value, str) and value[10:11] == "T":
        return f"{value[:-2]}{(int(value[-2]) + 1) % 10}Z"
    return chosen.choice(_ENDS) if isinstance(value, str) else {}


def _change(chosen: random.Random, parts: Json, known: dict[str, list[Any]]) -> None:
    """One or two other values in these members."""
    for _ in range(chosen.choice((1, 1, 2))):
        place = chosen.choice([each for each in _places(parts) if len(each) > 1 and each[-1] not in ("hash", "kind")])
        holder: Any = parts
        for key in place[:-1]:
            holder = holder[key]
        if chosen.random() < 0.1 and isinstance(holder, dict):
            del holder[place[-1]]
        else:
            holder[place[-1]] = _other(chosen, holder[place[-1]], known.get(str(place[-1]), []))


def changed(chosen: random.Random, bundles: list[Json], known: dict[str, list[Any]], trust: Trust) -> Json | None:
    """A record with one or two other values, sealed again; None where nothing can be made of the values."""
    bundle = copy.deepcopy(chosen.choice(bundles))
    _change(chosen, {name: bundle[name] for name in ("run", "sections", *RECEIPTS) if name in bundle}, known)
    try:
        return reseal(bundle, trust)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration):
        return None


def changed_approval(chosen: random.Random, documents: list[Json], known: dict[str, list[Any]]) -> Json | None:
    """A request for an approval, or an opening, of which what persons and rules decide has one or two other values. Only its log entry is not made again."""
    document = copy.deepcopy(chosen.choice(documents))
    sections: Json = document["sections"]
    _change(chosen, {name: sections[name] for name in ("approvals", "policy_evaluation") if name in sections}, known)
    try:
        _seal(sections)
        _link(document, sections)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    hashed = "opening_hash" if "opening_hash" in document else "request_hash"
    hashes = {name: each["hash"] for name, each in sections.items()}
    document[hashed] = digest({**without(document, hashed, "leaf", "entry"), "sections": hashes})
    document["leaf"][hashed] = document[hashed]
    return document


def known_values(bundles: list[Json]) -> dict[str, list[Any]]:
    """Every value of the records, by the name of its member."""
    found: dict[str, list[Any]] = {}
    for bundle in bundles:
        for place in _places({name: bundle[name] for name in ("run", "sections", *RECEIPTS) if name in bundle}):
            value: Any = bundle
            for key in place:
                value = value[key]
            values = found.setdefault(str(place[-1]), [])
            if value not in values:
                values.append(value)
    return found
