"""Verification of a bundle: docs/formats.md, chapters 9 and 16."""

from __future__ import annotations

import re
from typing import Any

from . import shapes
from .anchor import (
    anchor_problem,
    entry_problem,
    inclusion_problem,
    is_between,
    of_one_tree,
    read_body,
    redemption_problem,
    time_problem,
)
from .bundle_shape import read_bundle, refused_gate, shape_problem, wanted_sections
from .checks import ANCHORED, CHECKS, COMPLETE, FAILED, UNANCHORED, Checks, Outcome
from .decisions import (
    budget_problem,
    evaluation_problem,
    permit_problem,
    review_problem,
    standing,
    token_of,
)
from .derivation import ZEROS, Derivation, receipt_key
from .forms import present, seconds
from .json_text import EMPTY, digest, same, without
from .kernels import declared_of, declared_view, is_withheld, output_findings, text_at
from .manifests import complete_record_leaf, manifest, partial_manifest, pre_anchor_leaf, receipt_leaf
from .merkle import Tree
from .passkeys import place_of_record
from .receipts import receipt_problem
from .trust import Trust
from .withheld import withheld_problem
from .witnessed import witnessed_problem, witnessed_text

Json = dict[str, Any]
_NAMED = {
    "transport": "TransportHash",
    "epa": "EpaHash",
    "leakage_bundle": "LeakageBundleHash",
    "efa": "EfaHash",
    "aer": "AerHash",
    "hardware_attestation": "HardwareAttestationHash",
    "zksp_binding": "ZkspBindingHash",
    "migration_token": "MigrationTokenHash",
    "transcript": "TranscriptHash",
    "pote_proof": "PoteProofHash",
    "final_vfa": "FinalVfaHash",
}


def payload_problem(payload: Json) -> str | None:
    """Why lengths and hashes of the payload do not go together, or None."""
    for name in ("payload", "ai_output"):
        value, size = payload.get(f"{name}_hash"), payload.get(f"{name}_bytes")
        if (value is None) != (size is None):
            return "Hash and length of the AI output go together."
        if value is not None and (value == EMPTY) != (size == 0):
            return "The hash of the empty text goes with the length 0."
    if payload["payload_hash"] == payload.get("ai_output_hash"):
        if payload["payload_bytes"] != payload["ai_output_bytes"]:
            return "Payload and AI output have one hash and two lengths."
    return None


def declared_problem(sections: Json, tenant: str) -> str | None:
    """Why the declared sections contradict each other or the tenant, or None."""
    shown = [sections[name] for name in shapes.WITHHOLDABLE if name in sections]
    salts = [each["salt"] for each in shown if not is_withheld(each)]
    if len(set(salts)) != len(salts):
        return "Two sections have one salt."
    substance = sections["request_substance"]
    if is_withheld(substance):
        return None
    caller = substance["origin"]["authentication"]
    anonymous = caller["method"] == "anonymous" and caller["api_key_id"] == 0 and "api_key_name" not in caller
    keyed = caller["method"] == "api_key" and "api_key_name" in caller and tenant == f"api-key-{caller['api_key_id']}"
    return None if (anonymous if tenant == "anonymous" else keyed) else "The authenticated caller is not the tenant."


def envelope_problem(owner: Json, sections: Json) -> str | None:
    """Why the envelope does not follow from its run and sections, or None; `owner` has what it repeats."""
    envelope = sections["envelope"]
    for name, value in owner.items():
        if not same(envelope[name], value):
            return f"The envelope has another {name}."
    if envelope["payload_hash"] != sections["payload"]["payload_hash"]:
        return "The envelope is of another payload."
    names = {name: sections[name]["hash"] for name in shapes.DECLARED}
    if envelope["declared_sections_hash"] != digest({"kind": "vfa.declared_sections.v1", **names}):
        return "The envelope is of other declared sections."
    if envelope.get("end_user_hash") != sections.get("end_user", {}).get("hash"):
        return "The envelope is of another end user."
    copied = ("program_id", "route_id", "registry_record_hash", "payload_hash", "admission_clock", "run_nonce")
    wanted = digest({"kind": "vfa.envelope_id.v1", **{name: envelope[name] for name in copied}})[:16]
    return None if envelope["envelope_id"] == f"env-{wanted}" else "The envelope has another id."


DISCLOSURE = "Stated by the service about itself: no hardware or third party vouches for it."


def hashes_problem(sections: Json) -> str | None:
    """The first section that does not have its own hash, or None."""
    if sections["system_provenance"]["disclosure"] != DISCLOSURE:
        return "The system provenance says something else about itself."
    wrong = [name for name, each in sections.items() if not is_withheld(each) and not standing(each)]
    return f"The section {wrong[0]} does not have its hash." if wrong else None


class BundleVerification:
    """One bundle, held to one trust document."""

    def __init__(self, bundle: Json, trust: Trust) -> None:
        self.bundle, self.trust = bundle, trust
        self.run: Json = bundle["run"]
        self.sections: Json = bundle["sections"]
        self.anchors: Json = bundle["anchors"]
        key = receipt_key(self.run["outcome_kind"])
        self.receipt: Json | None = bundle.get(key) if key is not None else None
        self.gate = refused_gate(bundle)
        self.first = next((slot for slot in ("pre_anchor", "receipt") if slot in self.anchors), None)
        self.checks = Checks((*CHECKS, "witnessed") if "witnessed" in self.anchors else CHECKS)
        self.made = Derivation(bundle, self._token(), None, self.receipt)
        self.leaf: Json | None = None

    def _token(self) -> Json | None:
        if "allow_token" in self.bundle:
            token: Json = self.bundle["allow_token"]
            return token
        evaluation = self.sections.get("policy_evaluation", {})
        stage_error = self.run["outcome_kind"] == "stage_error" and evaluation.get("decision") == "allow"
        return token_of(evaluation) if stage_error else None

    def outcome(self) -> Outcome:
        """Runs every check."""
        checks = self.checks
        checks.run("leaf", self._build_leaf)
        checks.run("shape", lambda: shape_problem(self.bundle))
        checks.run("sections", self._sections)
        checks.run("sections", self._derived)
        checks.run("decision", self._decision)
        checks.run("manifest", self._manifest)
        checks.run("executions", self._executions)
        self._first_anchor()
        checks.run("bundle_hash", self._bundle_hash)
        if "complete_record" in self.anchors:
            checks.run("complete_record", self._complete_record)
        elif self.run["outcome_kind"] == "stage_error" or self.run.get("leaf_version") not in (None, "vfa.leaf.v5"):
            checks.put("complete_record", "The record has no anchor of its own.")
        if "witnessed" in self.anchors:
            if checks.run("witnessed", lambda: witnessed_problem(self.anchors, self.trust)):
                checks.results["witnessed"] = ("pass", witnessed_text(self.anchors, self.trust))
        failed = checks.first_failure() is not None
        complete, anchored = checks.passed("complete_record"), checks.passed("inclusion")
        withheld = tuple(name for name in shapes.WITHHOLDABLE if is_withheld(self.sections.get(name, {})))
        return Outcome(
            document="bundle",
            verdict=FAILED if failed else COMPLETE if complete else ANCHORED if anchored else UNANCHORED,
            checks=checks,
            run_id=self.run["run_id"],
            outcome_kind=self.run["outcome_kind"],
            tenant_id=self.run["tenant_id"],
            withheld=withheld,
            limitations=self._limitations(withheld),
            ai_output_hash=self.sections["payload"].get("ai_output_hash"),
            declared_output_hash=self._declared_output(),
            service=self.trust.service,
        )

    def _declared_output(self) -> str | None:
        """The hash that the caller declared of an output which the service never had."""
        if "ai_output_hash" in self.sections["payload"]:
            return None
        declared = text_at(declared_view(self.sections, "request_substance"), "output", "hash")
        return declared if re.fullmatch("[0-9a-f]{64}", declared or "") else None

    def _limitations(self, withheld: tuple[str, ...]) -> tuple[str, ...]:
        review = self.sections.get("governance_review", {})
        reviewer = review.get("adapter_id") if "ai_output_hash" in review else None
        stated = self.bundle.get("withheld_results", {}).get("kernels", {}).get("AIVP", {}).get("findings", [])
        unseen = output_findings(self.sections)["AI_OUTPUT_HASH_UNCHECKED"] or any(
            each["code"] == "AI_OUTPUT_HASH_UNCHECKED" for each in stated
        )
        found = {
            "builtin_reviewer": reviewer == "builtin-rules",
            "output_not_reviewed": unseen,
            "review_disabled": reviewer == "none",
            "observed_only": self.sections.get("envelope", {}).get("enforcement") == "observe",
            "withheld_section": withheld,
        }
        return tuple(code for code, holds in found.items() if holds)

    def _build_leaf(self) -> str | None:
        if self.first is None:
            return None
        version = self.anchors[self.first]["leaf"]["leaf_version"]
        if self.first == "receipt":
            if self.receipt is None:
                return "There is no receipt."
            self.leaf = receipt_leaf(version, self.receipt, self.run["run_id"])
            return None
        self.leaf = pre_anchor_leaf(version, self.made)
        self.made.first_leaf = digest(self.leaf)
        return None

    def _sections(self) -> str | None:
        sections = self.sections
        problem = hashes_problem(sections) or payload_problem(sections["payload"])
        problem = problem or declared_problem(sections, self.run["tenant_id"])
        if problem is not None:
            return problem
        names = set(sections) | (
            set(_NAMED) | {"registry", "replay_fingerprint"} if "manifest" in self.bundle else set()
        )
        names |= set(self.bundle.get("derived", {}))
        if names != wanted_sections(self.bundle):
            return "The record has other sections than its outcome."
        if "envelope" not in sections:
            return None
        copied = ("program_id", "route_id", "tenant_id", "execution_region")
        owner = {name: self.run[name] for name in copied}
        clock = sections.get("permit", {}).get("closed_clock", sections["envelope"]["admission_clock"])
        if clock != self.run["created_at"]:
            return "The run has another clock."
        return envelope_problem(owner, sections)

    def _derived(self) -> str | None:
        named = self.bundle.get("derived")
        if named is None:
            named = {name: self.bundle["manifest"][member] for name, member in _NAMED.items()}
        stated = self.bundle.get("stated", {}).get("sections")
        for name in shapes.DERIVED:
            if stated is not None and name in stated and not same(stated[name], self.made.build(name)):
                return f"The section {name} of the full form is another."
            if name in named and self.made.hash_of(name) != named[name]:
                if name == "transcript":
                    self.checks.put("transcript", "The transcript is another.")
                    return None
                return f"The section {name} is another than the one that follows."
        if stated is not None and set(named) | (
            {"registry", "replay_fingerprint"} if "manifest" in self.bundle else set()
        ) != set(stated):
            return "The full form has other sections."
        if "transcript" in named:
            self.checks.put("transcript", None)
        return None

    def _decision(self) -> str | None:
        sections, outcome = self.sections, self.run["outcome_kind"]
        evaluation = sections.get("policy_evaluation")
        if "permit" in sections:
            problem = permit_problem(self.bundle)
            if problem is not None:
                return problem
        if evaluation is not None:
            problem = evaluation_problem(self.bundle, self.run["created_at"], place_of_record(self.bundle))
            denied = outcome == "pepg_deny" or self.gate == "PEPG"
            if problem is None and denied != (evaluation["decision"] == "deny"):
                problem = "The decision is not the outcome's."
            if problem is not None:
                return problem
        token = self.bundle.get("allow_token")
        if token is not None and (evaluation is None or not same(token, token_of(evaluation))):
            return "The allow token is not that of the evaluation."
        if "budget_snapshot" in sections:
            problem = budget_problem(self.bundle, self.gate)
            if problem is not None:
                return problem
        if "governance_review" in sections:
            problem = review_problem(self.bundle, self.gate)
            if problem is not None:
                return problem
        if self.run["outcome_kind"] == "stage_error" and self.run.get("error_stage") == "AIVP_T4":
            if "ai_output_hash" not in sections["payload"]:
                return "Nobody reviews what is not there."
        context = sections["attested_context"]
        if self.gate == "PEPG_ADMISSION" and not is_withheld(context):
            declared = declared_of(sections, "attested_context")
            if all(present(declared.get(name)) for name in shapes.ATTESTED_FIELDS):
                return "No attested field is missing."
        if self.receipt is None:
            return None
        return receipt_problem(self.bundle, self.receipt, self.made)

    def _manifest(self) -> str | None:
        if "manifest" in self.bundle:
            fits = same(self.bundle["manifest"], manifest(self.made))
        elif "partial_manifest" in self.bundle:
            fits = same(self.bundle["partial_manifest"], partial_manifest(self.made))
        else:
            return None
        return None if fits else "The manifest is not that of its sections."

    def _executions(self) -> str | None:
        holder: Json = self.bundle.get("manifest") or self.bundle.get("partial_manifest") or {}
        named = holder.get("ExecutionIDs")
        if named is not None and not same(named, self.made.execution_ids()):
            return "The kernels give other ExecutionIDs."
        if "withheld_results" in self.bundle:
            return withheld_problem(self.bundle, self.made)
        return None

    def _first_anchor(self) -> None:
        checks = self.checks
        if self.first is None:
            checks.results.pop("leaf", None)
            if "redemption" in self.sections.get("permit", {}):
                checks.run("inclusion", self._redemption_problem)
            if self.receipt is not None and "anchor_required" in self.receipt:
                checks.put("entry", "The receipt requires a log entry, and has none; the refusal itself is valid.")
            return
        entry = self.anchors[self.first]["entry"]
        checks.run("leaf", lambda: self._leaf_problem(entry))
        checks.run("entry", lambda: entry_problem(entry, self.trust))
        checks.run("inclusion", lambda: inclusion_problem(entry, self.trust))
        checks.run("inclusion", self._redemption_problem)
        if "complete_record" not in self.anchors:
            checks.run("inclusion", lambda: self._permit_problem([entry]))
        checks.run("log_time", lambda: self._time_problem(entry))

    def _leaf_problem(self, entry: Json) -> str | None:
        if self.leaf is None:
            return "The leaf cannot be built."
        stated = self.bundle.get("stated", {}).get("leaves", {}).get(self.first)
        if stated is not None and not same(stated, self.leaf):
            return "The leaf of the full form is another."
        body = read_body(entry)
        if body is None or body.digest != digest(self.leaf):
            return "The entry's body names another leaf."
        if entry["logIndex"] == "0":
            return "Entry 0 is the log's birth."
        version, since = self.leaf["leaf_version"], self.trust.leaf_v7_from
        old = version in ("vfa.leaf.v5", "vfa.leaf.v6") and since is not None
        return (
            "The leaf is of an older version than its time."
            if old and int(entry["integratedTime"]) >= (since or 0)
            else None
        )

    def _time_problem(self, entry: Json) -> str | None:
        window = self.run.get("leaf_version") == "vfa.leaf.v7"
        return time_problem(entry, seconds(self.run["created_at"]), window)

    def _bundle_hash(self) -> str | None:
        bundle = without(self.bundle, "bundle_hash", "withheld_results", "stated")
        anchors = without(self.anchors, "complete_record", "outside", "witnessed")
        sections = {name: each["hash"] for name, each in self.sections.items()}
        if digest({**bundle, "sections": sections, "anchors": anchors}) != self.bundle["bundle_hash"]:
            return "The bundle has another hash."
        return None

    def _complete_record(self) -> str | None:
        anchor = self.anchors["complete_record"]
        entry, short = anchor["entry"], anchor["leaf"]
        named = {name: each["hash"] for name, each in self.sections.items()} | self.bundle.get("derived", {})
        leaf = complete_record_leaf(self.bundle, self.receipt, named)
        stated = self.bundle.get("stated", {}).get("leaves", {}).get("complete_record")
        if stated is not None and not same(stated, leaf):
            return "The leaf of the full form is another."
        problem = anchor_problem(entry, digest(leaf), self.trust)
        if problem is not None:
            return problem[1]
        late = self._time_problem(entry)
        if late is not None:
            return late
        ordinal, index = short["tenant_ordinal"], int(entry["logIndex"])
        if (short["previous_record"] == ZEROS) != (ordinal == 1):
            return "Exactly the first document of a chain has none before it."
        if index < ordinal + (1 if self.first is not None else 0):
            return "The log has fewer entries before it than the chain has documents."
        return self._places_problem(entry, index)

    def _places_problem(self, entry: Json, index: int) -> str | None:
        permit = self.sections.get("permit")
        entries = [entry]
        if self.first is not None:
            first = self.anchors[self.first]["entry"]
            if index < int(first["inclusionProof"]["treeSize"]):
                return "Its entry is among those that the checkpoint in it counts."
            if int(entry["integratedTime"]) < int(first["integratedTime"]):
                return "It was logged before its first entry."
            if inclusion_problem(first, self.trust) is None:
                entries.insert(0, first)
        tree = Tree()
        redeemed = [permit["redemption"]["entry"]] if permit is not None and "redemption" in permit else []
        if not all([of_one_tree(tree, each) for each in [*redeemed, *entries]]) or not tree.agrees():
            return "Its entries are in two trees."
        if permit is not None and self.anchors["complete_record"]["leaf"]["tenant_ordinal"] == 1:
            return "Its opening is a document of its chain before it."
        return self._permit_problem(entries)

    def _redemption_problem(self) -> str | None:
        permit = self.sections.get("permit", {})
        if "redemption" not in permit:
            return None
        return redemption_problem(permit["permit_id"], permit["redemption"], self.trust)

    def _permit_problem(self, entries: list[Json]) -> str | None:
        permit = self.sections.get("permit")
        if permit is None:
            return None
        opening = int(permit["opening_log_index"])
        if opening == 0:
            return "Entry 0 is the log's birth, and no opening."
        first = min(entries, key=lambda each: int(each["logIndex"]))
        if opening >= int(first["logIndex"]):
            return "The opening's entry is not before it."
        if "redemption" in permit and not is_between(permit["redemption"]["entry"], opening, first):
            return "The redemption's entry is not between those of the opening and the close."
        return None


def verify_bundle(document: Json, trust: Trust) -> Outcome:
    """What is to be said of a bundle in either form; raises Unreadable for what is none."""
    return BundleVerification(read_bundle(document), trust).outcome()
