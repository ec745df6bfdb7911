"""The checks of a document and what follows from them: docs/formats.md, chapter 16."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

CHECKS = (
    *("shape", "sections", "decision", "manifest", "transcript", "executions", "leaf", "entry", "inclusion"),
    *("log_time", "bundle_hash", "complete_record"),
)
COMPLETE = "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED"
ANCHORED = "VERIFIED AND ANCHORED"
UNANCHORED = "SELF-CONSISTENT ONLY, NOT ANCHORED"
FAILED = "FAILED"
# What a record itself says that makes it weaker than another: `--strict` refuses what is named of these.
LIMITATIONS = {
    "builtin_reviewer": "The governance review was made by built-in deterministic rules, not by a model or a person.",
    "output_not_reviewed": "The output was not reviewed: the caller declared its hash, and the service never had it.",
    "review_disabled": "AI output was present and its governance review was switched off.",
    "key_revoked_later": "The service key was revoked later. That this entry is older is the log's word alone: "
    "hold the record against an audited log, with verifier log audit --holds.",
    "observed_only": "It was observed: what was decided stopped nothing.",
    "withheld_section": "A section of the record is withheld: only its hash could be checked.",
}


@dataclass
class Checks:
    """Results of the checks, in their order; a check that was not reached has nothing to look at."""

    names: tuple[str, ...] = CHECKS
    results: dict[str, tuple[str, str]] = field(default_factory=dict)

    def put(self, name: str, problem: str | None, otherwise: str = "pass") -> bool:
        """Notes a result; the first failure of a check stays."""
        if self.results.get(name, ("", ""))[0] != "fail":
            self.results[name] = (otherwise, "") if problem is None else ("fail", problem)
        return problem is None

    def run(self, name: str, check: Callable[[], str | None]) -> bool:
        """Runs a check; one that needs what the document lacks has failed."""
        try:
            return self.put(name, check())
        except (KeyError, IndexError, TypeError, ValueError):
            return self.put(name, "It speaks of something that the document does not hold, or not in this form.")

    def first_failure(self) -> tuple[str, str] | None:
        """The first check that failed, in the order of the list."""
        return next(
            ((name, self.results[name][1]) for name in self.names if self.results.get(name, ("", ""))[0] == "fail"),
            None,
        )

    def passed(self, name: str) -> bool:
        """Whether the check passed."""
        return self.results.get(name, ("absent", ""))[0] == "pass"


@dataclass(frozen=True)
class KeyNote:
    """On a key that signed an entry of the document, was valid then, and is no longer. `code` is key_retired or key_revoked_later."""

    role: str
    key_id: str
    code: str
    sentence: str


@dataclass(frozen=True)
class Outcome:
    """What the verifier says of one document."""

    document: str
    verdict: str
    checks: Checks
    run_id: int | None = None
    outcome_kind: str | None = None
    tenant_id: str | None = None
    withheld: tuple[str, ...] = ()
    # Codes of LIMITATIONS.
    limitations: tuple[str, ...] = ()
    ai_output_hash: str | None = None
    # Of an output that the service never had: the SHA-256 that the caller declared.
    declared_output_hash: str | None = None
    service: str | None = None
    key_notes: tuple[KeyNote, ...] = ()

    @property
    def observed(self) -> bool:
        """Whether what was decided stopped nothing."""
        return "observed_only" in self.limitations

    @property
    def first_failure(self) -> str | None:
        """Id of the first check that failed."""
        found = self.checks.first_failure()
        return None if found is None else found[0]

    def exit_code(self, allow_unanchored: bool = False) -> int:
        """0 for what is verified and anchored, else 1."""
        if self.verdict == FAILED:
            return 1
        return 0 if allow_unanchored or not self.verdict.endswith("NOT ANCHORED") else 1
