"""Answers to administrators and auditors."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .models import Answer, PermitSummary, RunRecord, RunSummary

Scope = Literal["admin", "customer", "auditor"]


class NewKey(Answer):
    """An API key; the secret is shown in this answer alone."""

    id: int
    name: str
    secret: str = Field(repr=False)
    tier: str
    hint: str


class RotatedKey(Answer):
    """A key's new secret, shown in this answer alone; the one before works until `overlap_until`."""

    id: int
    name: str
    secret: str = Field(repr=False)
    overlap_until: str | None = None


class Key(Answer):
    """An API key without its secret."""

    id: int
    name: str
    scope: Scope
    tier: str
    created_at: str
    last_used_at: str | None
    run_count: int
    revoked: bool
    created_by: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    rotated_at: str | None = None
    overlap_until: str | None = None
    notes: str | None = None
    expires_at: str | None = None
    run_token_budget: int | None = None
    window_token_budget: int | None = None
    rate_limit: int | None = None
    reads: list[int] | None = None
    share: bool | None = None
    observe: bool = False
    claim: dict[str, Any] | None = None


class KeyList(Answer):
    """All API keys, oldest first."""

    keys: list[Key]


class Claim(Answer):
    """To whom the runs of open mode were given."""

    key_id: int
    claimed_at: str
    claimed_by: int
    runs: int


class Published(Answer):
    """Where a run is published."""

    run_id: int
    token: str
    url: str


class PublishedRun(Published):
    """A row of the published runs."""

    key_id: int
    outcome_kind: str
    published_at: str


class PublishedPage(Answer):
    """Published runs, newest first; `next` is `before` of the next page."""

    limit: int
    published: list[PublishedRun]
    next: int | None = None


class NewShare(Answer):
    """A link under which a run is read without a key; the token is shown in this answer alone."""

    share_id: int
    run_id: int
    token: str = Field(repr=False)
    url: str = Field(repr=False)
    expires_at: str


class Share(Answer):
    """A link that works now."""

    share_id: int
    run_id: int
    key_id: int
    outcome_kind: str
    made_by: int
    made_at: str
    expires_at: str


class SharePage(Answer):
    """Links, newest first; `next` is `before` of the next page."""

    limit: int
    shares: list[Share]
    next: int | None = None


class Policy(Answer):
    """A policy that is or was in force; `changed` is false for one that was in force already."""

    changed: bool | None = None
    version: int
    policy_id: str
    policy_name: str
    policy_hash: str
    active_since: str
    source: Literal["built-in", "file", "api"]
    loaded_by: str | None = None
    loaded_by_name: str | None = None
    policy: dict[str, Any]


class PolicyPage(Answer):
    """Policies, newest first; `next` is `before` of the next page."""

    limit: int
    policies: list[Policy]
    next: int | None = None


class PolicyInForce(Answer):
    """The policy in force and the signatures beside it."""

    policy_id: str
    policy_hash: str
    policy: dict[str, Any]
    active_since: str
    signatures: dict[str, Any]


class DryRun(Answer):
    """What another policy would have decided."""

    in_force: dict[str, Any]
    candidate: dict[str, Any]
    judged: int
    changed: int
    newly_refused: int
    newly_admitted: int
    rules: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    not_judged: int
    not_judged_runs: list[dict[str, Any]]


class AdminRun(RunSummary):
    """A run of any key; `key_id` is 0 for open mode."""

    key_id: int


class RunOfKey(RunRecord):
    """One run of any key."""

    key_id: int


class AllRuns(Answer):
    """Runs of all keys, newest first; `next` is `before` of the next page."""

    limit: int
    runs: list[AdminRun]
    next: int | None = None


class PermitOfKey(PermitSummary):
    """A permit of any key."""

    key_id: int


class AllPermits(Answer):
    """Permits of all keys, newest first; `next` is `before` of the next page."""

    limit: int
    permits: list[PermitOfKey]
    next: str | None = None


class UsageOfKey(Answer):
    """What a key has used."""

    key_id: int
    name: str
    scope: Scope | None = None
    tier: str | None = None
    revoked: bool
    last_used_at: str | None = None
    runs: int
    outcomes: dict[str, int]
    tokens: int
    open_permits: int
    window: dict[str, Any]
    trial: dict[str, int] | None = None


class Usage(Answer):
    """What every key has used."""

    at: str
    keys: list[UsageOfKey]


class OverviewStep(Answer):
    """A step of time."""

    from_: str = Field(alias="from")
    runs: int
    outcomes: dict[str, int]
    log_entries: int


class DeniedBy(Answer):
    """A rule or signature, and how many runs it denied."""

    rule_id: str
    runs: int


class Overview(Answer):
    """Runs over time, oldest first."""

    at: str
    range: str
    step_seconds: int
    steps: list[OverviewStep]
    denied_by: list[DeniedBy]


class AdminEvent(Answer):
    """What an administrator did; `sealed` within seconds."""

    ordinal: int
    event_clock: str
    who: dict[str, str]
    action: str
    subject: dict[str, str]
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    sealed: dict[str, Any] | None = None


class AdminEventPage(Answer):
    """Events of administrators, newest first; `next` is `before` of the next page."""

    limit: int
    events: list[AdminEvent]
    next: int | None = None


class Destination(Answer):
    """Where events are delivered."""

    id: int
    kind: Literal["webhook", "syslog"]
    url: str
    name: str
    format: Literal["standard", "ocsf", "cef"]
    types: list[str]
    outcomes: list[str]
    key_ids: list[int]
    active: bool
    created_at: str
    created_by: int
    ca: str | None = None


class NewDestination(Answer):
    """A destination; a webhook's secret is shown in this answer alone."""

    destination: Destination
    secret: str | None = Field(default=None, repr=False)
    position: int


class ChangedDestination(Answer):
    """A destination as it is now."""

    destination: Destination


class DestinationList(Answer):
    """All destinations, oldest first."""

    destinations: list[Destination]


class RotatedDestination(Answer):
    """A webhook's new secret, shown in this answer alone; the one before signs too until `previous_until`."""

    id: int
    secret: str = Field(repr=False)
    previous_until: str


class TestedDestination(Answer):
    """Whether the test event was taken."""

    id: int
    delivered: bool
    error: dict[str, Any] | None = None


class ResumedDestination(Answer):
    """The next position to deliver."""

    id: int
    position: int


class Delivery(Answer):
    """How far a delivery is."""

    id: int
    name: str
    kind: Literal["webhook", "syslog"]
    active: bool
    position: int
    backlog: int
    lag_seconds: int
    delivered_at: str | None = None
    last_error: dict[str, Any] | None = None
    failing_since: str | None = None
    failures: int | None = None
    next_try_at: str | None = None


class DeliveryList(Answer):
    """How far each delivery is."""

    log_size: int
    deliveries: list[Delivery]
