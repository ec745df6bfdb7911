"""Whether an export is complete and does not contradict itself: docs/formats.md, chapter 13."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .approval_requests import end_problem
from .approval_shapes import ENDED
from .chain_documents import (
    Chained,
    Movement,
    Window,
    close_problem,
    missing_fields,
    read_chained,
    release_problem,
    settings_of,
)
from .checks import FAILED, LIMITATIONS
from .documents import verify_document
from .forms import milliseconds
from .jobs import Line, in_order
from .json_text import Unreadable, canonical, digest, parse, without
from .log_order import LogOrder
from .trust import Trust

Json = dict[str, Any]
COMPLETE_CHAIN = "COMPLETE CHAIN VERIFIED AND ANCHORED"
COMPLETE_RANGE = "COMPLETE RANGE VERIFIED AND ANCHORED"
MAX_PROBLEMS = 100
# Of a nonce so many digits are compared, as many as the other identifiers have.
NONCE_DIGITS = 16
_COUNTED = {"record": "records", "opening": "openings", "end": "ends", "event": "events", "request": "requests"}
# A request that waits so long after its time, in milliseconds, was not ended.
END_GRACE = 600_000


@dataclass
class ExportOutcome:
    """What is to be said of an export. `windows` are the budget windows with the movements that are here. `unreported_acts` were started under
    permits that were redeemed and ended without a close.

    `notes` are changes of settings and permits that were not redeemed as they had to be; they fail nothing. `note_count`
    counts them all, of which `notes` has the first.
    """

    verdict: str
    problems: list[str]
    statement: Json
    counts: dict[str, int]
    windows: dict[Window, dict[int, Movement]]
    service: str | None = None
    # Codes of LIMITATIONS that a document of it has.
    limitations: tuple[str, ...] = ()
    unreported_acts: int = 0
    notes: list[str] = field(default_factory=list)
    note_count: int = 0


@dataclass
class _Permit:
    """An opening is held until it is closed or ended; then only the name of what did that."""

    opening: Chained | None = None
    ended_by: str | None = None


class _Export:
    def __init__(self, statement: Json, trust: Trust) -> None:
        self.statement, self.trust = statement, trust
        self.leaf: Json = statement["leaf"]
        self.first: int | None = self.leaf.get("first_ordinal")
        self.last: int | None = self.leaf.get("last_ordinal")
        self.problems: list[str] = []
        self.limitations: set[str] = set()
        self.notes: list[str] = []
        self.note_count = 0
        self._settings: dict[str, str | int] = {}
        self.counts = dict.fromkeys(_COUNTED.values(), 0)
        self.windows: dict[Window, dict[int, Movement]] = {}
        self.unreported = 0
        self._order = LogOrder()
        self._permits: dict[str, _Permit] = {}
        # Requests for an approval that nothing has ended yet, by their hash.
        self._requests: dict[str, Chained] = {}
        # Those that have ended, also of requests from before the piece.
        self._ended_requests: set[str] = set()
        self._ids: dict[tuple[str, str], str] = {}
        self._before: Chained | None = None
        self._begin: Chained | None = None
        self._run: int | None = None
        self._first_index = self._index = -1
        self._carried = 0
        self._policies: dict[str, Json] = {}
        self._rules: dict[tuple[str, str], str] = {}
        self._approvals: dict[tuple[str, str], str] = {}
        self._required: dict[str, list[str]] = {}
        self._lacking: dict[tuple[str, str], str] = {}
        self._severities: dict[tuple[str, str], str] = {}

    def problem(self, text: str) -> None:
        """Notes a problem; the newest are dropped when there are too many."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(text)

    def _note(self, number: int, document: Chained, text: str) -> None:
        self.note_count += 1
        if len(self.notes) < MAX_PROBLEMS:
            self.notes.append(f"line {number}: at {document} {text}")

    def add(self, number: int, document: Chained | str) -> None:
        """The document of a line, or what is wrong with it."""
        if isinstance(document, str):
            self.problem(f"the document of line {number} {document}")
            return
        self.limitations.update(document.limitations)
        # The commitment is of tenant and salt, and each document opens its own.
        if document.leaf["tenant_commitment"] != self.leaf["tenant_commitment"]:
            self.problem(f"{document} is a document of another tenant")
            return
        for entry in document.entries:
            self._log(entry, str(document))
        for entry in document.redemptions:
            if not self._order.has_in_tree(entry):
                self.problem(f"{document} holds a redemption that is proven in another tree")
        if document.kind == "end":
            self.unreported += len(document.redemptions)
        self._known_once(document)
        carried = self._is_opening_from_before(document)
        if carried:
            self._place_before(document)
        else:
            self._place(document)
            self._unredeemed(number, document)
            self._changes(number, document)
            self._approval_of(document)
        self._permit_of(document)
        self._budget(document)
        self._policy(document)

    def _log(self, entry: Json, name: str) -> None:
        problem = self._order.add(entry, name)
        if problem is not None:
            self.problem(problem)

    def _is_opening_from_before(self, document: Chained) -> bool:
        early = self.first is not None and document.ordinal < self.first
        return document.kind == "opening" and early and self._before is None

    def _place_before(self, document: Chained) -> None:
        if document.ordinal <= self._carried:
            self.problem(f"{document} is here again, or out of order")
        self._carried = document.ordinal
        is_before = self.first is not None and document.ordinal == self.first - 1
        if is_before and digest(document.leaf) != self.leaf["previous_record"]:
            self.problem(f"{document} is another document than the one before the piece that the statement names")

    def _place(self, document: Chained) -> None:
        if self.first is None or self.last is None or not self.first <= document.ordinal <= self.last:
            self.problem(f"{document} is not of the piece that the statement speaks of")
            return
        self.counts[_COUNTED[document.kind]] += 1
        wanted = self.first if self._before is None else self._before.ordinal + 1
        previous = self.leaf["previous_record"] if self._before is None else digest(self._before.leaf)
        if document.ordinal > wanted:
            self.problem(f"document {wanted} is missing")
        elif document.ordinal < wanted:
            self.problem(f"{document} is here again, or out of order")
            return
        elif document.leaf["previous_record"] != previous:
            self.problem(f"{document} names another document before it")
        if document.kind == "record":
            run = document.facts["run"]["run_id"]
            if self._run is not None and run <= self._run:
                self.problem(f"{document} has no later run number than the record before it")
            self._run = run
            self._place_first_entry(document)
        if document.index <= self._index:
            self.problem(f"{document} is in the log before the one before it")
        self._index = document.index
        self._begin = self._begin or document
        self._before = document

    def _place_first_entry(self, document: Chained) -> None:
        # A record with a complete-record entry alone has none: in a batch first entries of later records come before it.
        if len(document.entries) < 2:
            return
        first = int(document.entries[0]["logIndex"])
        if first <= self._first_index:
            self.problem(f"{document} was logged first before the one before it")
        self._first_index = first

    def _known_once(self, document: Chained) -> None:
        envelope = document.sections.get("envelope")
        if envelope is None:
            return
        held = self._permits.get(document.sections.get("permit", {}).get("permit_id", ""))
        if held is not None and held.opening is not None:
            # A close is held to the envelope of its opening.
            return
        values = {"envelope_id": envelope["envelope_id"], "run_nonce": envelope["run_nonce"][:NONCE_DIGITS]}
        sequence = digest({"kind": "vfa.sequence_id.v1", "envelope_hash": envelope["hash"]})[:16]
        for name, value in {**values, "sequence_id": sequence}.items():
            before = self._ids.setdefault((name, value), str(document))
            if before != str(document):
                self.problem(f"{document} has the {name} of {before}")

    def _unredeemed(self, number: int, document: Chained) -> None:
        permit = document.sections.get("permit")
        opening = self._permits.get(permit["permit_id"], _Permit()).opening if permit is not None else None
        if permit is None or opening is None or "redeem_required" not in opening.facts:
            return
        # Nothing ties the act to the permit: who did not redeem it broke no rule of the record.
        if permit["outcome"] == "completed" and "redemption" not in permit:
            text = "the act is reported as completed, and its permit, which had to be redeemed, was not"
            self._note(number, document, text)

    def _changes(self, number: int, document: Chained) -> None:
        for name, value in settings_of(document).items():
            before = self._settings.setdefault(name, value)
            self._settings[name] = value
            if before != value:
                self._note(number, document, f"the {name} changed from {before} to {value}")

    def _permit_of(self, document: Chained) -> None:
        if document.kind == "opening":
            held = self._permits.setdefault(document.facts["permit_id"], _Permit())
            if held.opening is not None or held.ended_by is not None:
                self.problem(f"{document} opens its permit again")
                return
            held.opening = document
        elif document.kind == "end":
            for released in document.facts["openings"]:
                self._end(document, released["permit_id"], released)
        elif "permit" in document.sections:
            self._end(document, document.sections["permit"]["permit_id"], None)

    def _end(self, document: Chained, permit_id: str, released: Json | None) -> None:
        held = self._permits.setdefault(permit_id, _Permit())
        if held.ended_by is not None:
            self.problem(f"{document} ends the permit {permit_id}, which {held.ended_by} has ended")
            return
        opening, held.opening, held.ended_by = held.opening, None, str(document)
        if opening is None:
            # An end does not bring openings from before its piece along; a close does.
            if released is None or self.first == 1:
                self.problem(f"{document} ends the permit {permit_id}, of which no opening is here before it")
            return
        problem = close_problem(document, opening) if released is None else release_problem(document, released, opening)
        if problem is not None:
            self.problem(f"{document} {problem}")

    def _approval_of(self, document: Chained) -> None:
        if document.kind == "request":
            self._requests[document.facts["request_hash"]] = document
            return
        named = document.sections.get("policy_evaluation", {}).get("approval_request_hash")
        if named is None or "permit" in document.sections:
            return
        request = self._requests.pop(named, None)
        problem = None
        if named in self._ended_requests:
            problem = "ends a request for an approval that has ended already"
        elif request is not None:
            problem = end_problem(document.sections, request.facts)
            if problem is None and document.kind == "opening" and not _closes_in_time(document.facts, request.facts):
                problem = "is to be closed in another time than its request for an approval"
        elif self.first == 1:
            problem = "ends a request for an approval that is not here before it"
        self._ended_requests.add(named)
        if problem is not None:
            self.problem(f"{document} {problem}")

    def _budget(self, document: Chained) -> None:
        for moved in document.movements:
            known = self.windows.setdefault(moved.window, {})
            if moved.ordinal in known:
                self.problem(f"{document} has movement {moved.ordinal} of the window of {moved.window[0]} again")
            known[moved.ordinal] = moved

    def _policy(self, document: Chained) -> None:
        gap = document.facts.get("attestation_gap_receipt")
        if gap is not None:
            self._one_policy(document, gap, ("policy_id", "policy_name", "profile_tag"))
            if self._required.setdefault(gap["policy_hash"], gap["required_fields"]) != gap["required_fields"]:
                self.problem(f"{document} gives its policy other required fields")
        evaluation = document.sections.get("policy_evaluation")
        if evaluation is None:
            return
        names = ("policy_id", "policy_name", "profile_tag", "signature_scan")
        self._one_policy(document, evaluation, names)
        policy = evaluation["policy_hash"]
        required = {each["rule_id"] for each in evaluation.get("needed", [])}
        # After a request that ended without its approval, a rule that allows does not.
        other = "allow" if evaluation["decision_reason_code"] in ENDED.values() else evaluation["decision"]
        for rule in evaluation["matched_rule_ids"]:
            effect = "require_approval" if rule in required else other
            if self._rules.setdefault((policy, rule), effect) != effect:
                self.problem(f"{document} gives the rule {rule} another effect")
        for each in evaluation.get("needed", []):
            approval = canonical(without(each, "rule_id"))
            if self._approvals.setdefault((policy, each["rule_id"]), approval) != approval:
                self.problem(f"{document} gives the rule {each['rule_id']} another approval")
        for name in missing_fields(document):
            self._lacking.setdefault((policy, name), str(document))
        finding = document.sections.get("mcd_finding")
        if finding is not None:
            key = (finding["library_hash"], finding["matched_signature_id"])
            if self._severities.setdefault(key, finding["severity"]) != finding["severity"]:
                self.problem(f"{document} gives the signature {key[1]} another severity")

    def _one_policy(self, document: Chained, section: Json, names: tuple[str, ...]) -> None:
        known = self._policies.setdefault(section["policy_hash"], {})
        for name in names:
            said = canonical(section[name]) if name in section else None
            if known.setdefault(name, said) != said:
                self.problem(f"{document} gives its policy another {name}")

    def finish(self) -> None:
        """What shows when every line was read."""
        self._log(self.statement["entry"], "the export statement")
        if self._order.largest != int(self.statement["entry"]["logIndex"]):
            self.problem("the export statement is not behind all entries")
        if not self._order.agrees():
            self.problem("the entries are proven in several trees")
        for (policy, name), document in self._lacking.items():
            if name in self._required.get(policy, []):
                self.problem(f"{document} was decided without {name}, which its policy requires")
        self._finish_chain()
        self._finish_windows()

    def _finish_chain(self) -> None:
        leaf = self.leaf
        for name, count in self.counts.items():
            if count != leaf.get(name, 0):
                self.problem(f"the statement counts {leaf.get(name, 0)} {name}, and {count} are here")
        if self.last is None:
            return
        if self._before is None or self._begin is None or self._before.ordinal != self.last:
            self.problem(f"document {self.last} is missing")
            return
        if digest(self._before.leaf) != leaf["last_record"]:
            self.problem("the last document is not the one that the statement names")
        since, until = (milliseconds(leaf[name]) if name in leaf else None for name in ("from", "to"))
        for each in (self._begin, self._before):
            if (since is not None and each.clock < since) or (until is not None and each.clock > until):
                self.problem(f"{each} was not admitted in the time asked for")
        self._finish_permits(self.first or 0, self.last)
        if self.last == leaf["head_ordinal"]:
            self._finish_requests(milliseconds(leaf["export_clock"]))

    def _finish_requests(self, at: int) -> None:
        for request in self._requests.values():
            if milliseconds(request.facts["expires_at"]) + END_GRACE < at:
                self.problem(f"{request} was over at {request.facts['expires_at']}, and nothing here ends it")

    def _finish_permits(self, first: int, last: int) -> None:
        left = [each.opening for each in self._permits.values() if each.opening is not None]
        for opening in left:
            if opening.ordinal < first:
                self.problem(f"{opening} is from before the piece, and no document of it closes or ends its permit")
        opened, stated = sum(each.ordinal >= first for each in left), self.leaf["open_permits"]
        # What was opened before a piece may be open behind it too.
        fits = last != self.leaf["head_ordinal"] or (opened == stated if self.is_chain else opened <= stated)
        if not fits:
            self.problem(f"the statement counts {stated} open permits, and {opened} are open here")

    @property
    def is_chain(self) -> bool:
        """Whether the piece is the whole chain."""
        head: int = self.leaf["head_ordinal"]
        return head == 0 or (self.first == 1 and self.last == head)

    def _finish_windows(self) -> None:
        stated = {(each["window_start"], each["window_seconds"]): each for each in self.statement["windows"]}
        # Only settlements and releases lower a total, and a whole chain has a document of each.
        is_whole = self.is_chain and not self.problems
        for window, moved in sorted(self.windows.items()):
            name, left = f"the window of {window[0]}", 0
            for ordinal in sorted(moved):
                each, before = moved[ordinal], moved.get(ordinal - 1)
                begin = 0 if ordinal == 1 else None if before is None else before.after
                if begin is not None and each.begin != begin:
                    self.problem(f"movement {ordinal} of {name} begins at {each.begin}, and {begin} is before it")
                elif is_whole and each.begin < left:
                    self.problem(f"{name} falls before movement {ordinal}, and no document lowers it")
                left = each.after
            known = stated.get(window)
            if known is None:
                continue
            last = max(moved)
            if last > known["last_ordinal"]:
                self.problem(f"{name} has movement {last}, and the statement ends with {known['last_ordinal']}")
            elif last == known["last_ordinal"] and left != known["total"]:
                self.problem(f"{name} is left at {left}, and the statement says {known['total']}")
            elif is_whole and known["total"] < left:
                self.problem(f"{name} falls after movement {last}, and no document lowers it")


def _failed(problem: str) -> ExportOutcome:
    return ExportOutcome(FAILED, [problem], {}, {}, {})


def _chained(line: Line, trust: Trust) -> tuple[int, Chained | str]:
    number, data = line
    return number, read_chained(data, trust)


def verify_export(lines: Iterable[bytes], trust: list[Trust], jobs: int = 1) -> ExportOutcome:
    """What is to be said of an export, read line by line and judged in so many processes; raises Unreadable where the statement, or a rule that a record follows, is not known."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip(b" \t\r\n"))
    begin = next(numbered, None)
    if begin is None:
        raise Unreadable("The export is empty.")
    statement = parse(begin[1])
    if not isinstance(statement, dict) or statement.get("kind") != "vfa.export.v2":
        verify_document(statement, trust)
        return _failed("an export begins with its statement, and this line is none")
    found = [(each, verify_document(statement, [each])) for each in trust]
    holding = next((pair for pair in found if pair[1].verdict != FAILED), None)
    if holding is None:
        return _failed(f"the export statement does not verify; first failed check, {found[0][1].first_failure}")
    export = _Export(statement, holding[0])
    export.limitations.update(holding[1].limitations)
    for number, document in in_order(partial(_chained, trust=holding[0]), numbered, jobs):
        export.add(number, document)
    export.finish()
    verdict = FAILED if export.problems else COMPLETE_CHAIN if export.is_chain else COMPLETE_RANGE
    return ExportOutcome(
        verdict,
        export.problems,
        export.statement,
        export.counts,
        export.windows,
        export.trust.service,
        tuple(code for code in LIMITATIONS if code in export.limitations),
        export.unreported,
        export.notes,
        export.note_count,
    )


def _closes_in_time(opening: Json, request: Json) -> bool:
    after = milliseconds(opening["close_by"]) - milliseconds(opening["expires_at"])
    return bool(after == request["close_within_seconds"] * 1000)
