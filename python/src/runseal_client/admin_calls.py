"""The requests that need an admin key: keys, policies, publications; and those that an auditor's key may make too.

Under an `idempotency_key` an action is done once, and is retried: a second request raises RunsealError with the code `already_done`.
"""

from __future__ import annotations

from . import admin_models as a
from . import models as m
from .calls import Artifact, Body, Call, ReportFormat, bundle_query, given, segment


def make_key(
    name: str, admin: bool = False, tier: str | None = None, idempotency_key: str | None = None, **settings: object
) -> Call[a.NewKey]:
    """Makes an API key; the answer alone has its secret, and without `idempotency_key` the call is never retried. `settings` as in docs/api.md."""
    scope = {"scope": "admin", "confirm_admin_scope": True} if admin else {}
    body = {"name": name, **scope, **given({"tier": tier}), **settings}
    return Call("POST", "/admin/keys", a.NewKey, body, idempotency_key=idempotency_key)


def keys() -> Call[a.KeyList]:
    """All API keys, oldest first."""
    return Call("GET", "/admin/keys", a.KeyList)


def change_key(key_id: int, changes: Body, idempotency_key: str | None = None) -> Call[a.Key]:
    """Changes settings of a key: what is absent stays, None takes a setting away."""
    return Call("PATCH", f"/admin/keys/{key_id}", a.Key, changes, idempotency_key=idempotency_key, again=True)


def rotate_key(key_id: int, overlap_seconds: int = 0, idempotency_key: str | None = None) -> Call[a.RotatedKey]:
    """Gives a key a new secret, which the answer alone has. Without an answer, rotate again, under a new `idempotency_key`."""
    body = {"overlap_seconds": overlap_seconds}
    return Call("POST", f"/admin/keys/{key_id}/rotate", a.RotatedKey, body, idempotency_key=idempotency_key)


def revoke_key(key_id: int, idempotency_key: str | None = None) -> Call[m.Answer]:
    """Revokes an API key for ever."""
    return Call("DELETE", f"/admin/keys/{key_id}", m.Answer, idempotency_key=idempotency_key, again=True)


def claim_runs(key_id: int) -> Call[a.Claim]:
    """Gives the runs of open mode to a key, once for a deployment and not to be undone."""
    return Call("POST", "/admin/runs/claim", a.Claim, {"key_id": key_id}, again=True)


def publish(run_id: int) -> Call[a.Published]:
    """Publishes a run of this admin key."""
    return Call("POST", f"/admin/runs/{run_id}/publish", a.Published, again=True)


def unpublish(run_id: int) -> Call[m.Answer]:
    """Withdraws a published run."""
    return Call("POST", f"/admin/runs/{run_id}/unpublish", m.Answer, again=True)


def share(run_id: int, expires_in_seconds: int = 86_400, idempotency_key: str | None = None) -> Call[a.NewShare]:
    """Shares a run under a link that needs no key, for seven days at most. The token is in the answer alone."""
    body = {"expires_in_seconds": expires_in_seconds}
    return Call("POST", f"/admin/runs/{run_id}/share", a.NewShare, body, idempotency_key=idempotency_key)


def shares(
    limit: int = 50, before: int | None = None, key: int | None = None, run: int | None = None
) -> Call[a.SharePage]:
    """The links that work now, newest first."""
    query = given({"limit": limit, "before": before, "key": key, "run": run})
    return Call("GET", "/admin/shares", a.SharePage, query=query)


def revoke_share(share_id: int, idempotency_key: str | None = None) -> Call[m.Answer]:
    """Ends a link at once."""
    return Call("DELETE", f"/admin/shares/{share_id}", m.Answer, idempotency_key=idempotency_key, again=True)


def policies(limit: int = 50, before: int | None = None) -> Call[a.PolicyPage]:
    """Every policy that was in force, newest first."""
    return Call("GET", "/admin/policies", a.PolicyPage, query=given({"limit": limit, "before": before}))


def load_policy(policy: Body) -> Call[a.Policy]:
    """Puts a policy in force."""
    return Call("POST", "/admin/policies", a.Policy, {"policy": policy}, again=True)


def try_policy(policy: Body, last: int = 200) -> Call[a.DryRun]:
    """What a policy would change on the newest runs; nothing changes."""
    return Call("POST", "/admin/policies/dry-run", a.DryRun, {"policy": policy, "last": last}, again=True)


def policy() -> Call[a.PolicyInForce]:
    """The policy in force."""
    return Call("GET", "/admin/policy", a.PolicyInForce)


def all_runs(limit: int = 50, before: int | None = None, **filters: object) -> Call[a.AllRuns]:
    """Runs of all keys, newest first; filters are those of GET /admin/runs, `from_` for `from`."""
    named = {name.removesuffix("_"): value for name, value in filters.items()}
    return Call("GET", "/admin/runs", a.AllRuns, query=given({"limit": limit, "before": before, **named}))


def any_run(run_id: int) -> Call[a.RunOfKey]:
    """A run of any key."""
    return Call("GET", f"/admin/runs/{run_id}", a.RunOfKey)


def check_any_run(run_id: int) -> Call[m.SelfCheck]:
    """The service's own check of the manifest of a run of any key."""
    return Call("GET", f"/admin/runs/{run_id}/verify", m.SelfCheck)


def any_bundle(run_id: int, full: bool = False, witnessed: bool = False) -> Call[bytes]:
    """The record of a run of any key."""
    return Call("GET", f"/admin/runs/{run_id}/artifacts", bytes, query=bundle_query(full, witnessed))


def any_artifact(run_id: int, name: Artifact) -> Call[bytes]:
    """The token or receipt of a run of any key."""
    return Call("GET", f"/admin/runs/{run_id}/{segment(name)}", bytes)


def any_report(run_id: int, form: ReportFormat = "comprehensive") -> Call[bytes]:
    """The audit report of a run of any key."""
    return Call("GET", f"/admin/runs/{run_id}/report.pdf", bytes, query={"format": form})


def any_statement(run_id: int) -> Call[bytes]:
    """The run statement of a run of any key."""
    return Call("GET", f"/admin/runs/{run_id}/statement.intoto.json", bytes)


def export_of_key(key: int, since: str | None = None, until: str | None = None) -> Call[bytes]:
    """All documents of a key, as `export`; 0 is open mode."""
    return Call("GET", "/admin/runs/export", bytes, query=given({"key": key, "from": since, "to": until}))


def all_permits(
    limit: int = 50, before: str | None = None, key: int | None = None, state: str | None = None
) -> Call[a.AllPermits]:
    """Permits of all keys, newest first."""
    query = given({"limit": limit, "before": before, "key": key, "state": state})
    return Call("GET", "/admin/permits", a.AllPermits, query=query)


def any_permit(permit_id: str) -> Call[a.PermitOfKey]:
    """A permit of any key."""
    return Call("GET", f"/admin/permits/{segment(permit_id)}", a.PermitOfKey)


def published_runs(limit: int = 50, before: int | None = None, key: int | None = None) -> Call[a.PublishedPage]:
    """Runs that are published, newest first."""
    query = given({"limit": limit, "before": before, "key": key})
    return Call("GET", "/admin/published", a.PublishedPage, query=query)


def usage() -> Call[a.Usage]:
    """What every key has used."""
    return Call("GET", "/admin/usage", a.Usage)


def overview(range: str = "7d") -> Call[a.Overview]:
    """Runs by outcome over time, what denied them, and how the log grew: `24h`, `7d`, `30d` or `90d`."""
    return Call("GET", "/admin/overview", a.Overview, query={"range": range})


def admin_events(
    limit: int = 50,
    before: int | None = None,
    action: str | None = None,
    subject_kind: str | None = None,
    subject_id: str | None = None,
) -> Call[a.AdminEventPage]:
    """What administrators did, newest first."""
    query = {"limit": limit, "before": before, "action": action}
    query |= {"subject_kind": subject_kind, "subject_id": subject_id}
    return Call("GET", "/admin/audit", a.AdminEventPage, query=given(query))


def admin_event(ordinal: int) -> Call[bytes]:
    """A sealed event, which verifies by itself."""
    return Call("GET", f"/admin/audit/{ordinal}", bytes)


def export_admin_events(since: str | None = None, until: str | None = None) -> Call[bytes]:
    """All of them as an export."""
    return Call("GET", "/admin/audit/export", bytes, query=given({"from": since, "to": until}))


def events(after: int | None = None, limit: int = 100, form: str | None = None) -> Call[bytes]:
    """The events after a position, one a line; `form` is `standard`, `ocsf` or `cef`."""
    return Call("GET", "/admin/events", bytes, query=given({"after": after, "limit": limit, "format": form}))


def make_destination(body: Body, idempotency_key: str | None = None) -> Call[a.NewDestination]:
    """Makes a destination of events; the answer alone has a webhook's secret, and without `idempotency_key` the call is never retried."""
    return Call("POST", "/admin/destinations", a.NewDestination, body, idempotency_key=idempotency_key)


def destinations() -> Call[a.DestinationList]:
    """All destinations, oldest first."""
    return Call("GET", "/admin/destinations", a.DestinationList)


def change_destination(
    destination_id: int, changes: Body, idempotency_key: str | None = None
) -> Call[a.ChangedDestination]:
    """Changes the members that are given; `active` false pauses."""
    path = f"/admin/destinations/{destination_id}"
    return Call("PATCH", path, a.ChangedDestination, changes, idempotency_key=idempotency_key, again=True)


def delete_destination(destination_id: int, idempotency_key: str | None = None) -> Call[m.Answer]:
    """Deletes a destination. One that is deleted stays so: a retry gets the same answer."""
    path = f"/admin/destinations/{destination_id}"
    return Call("DELETE", path, m.Answer, idempotency_key=idempotency_key, again=True)


def rotate_destination(
    destination_id: int, overlap_seconds: int = 86_400, idempotency_key: str | None = None
) -> Call[a.RotatedDestination]:
    """Gives a webhook another secret. Without an answer, rotate again, under a new `idempotency_key`."""
    path, body = f"/admin/destinations/{destination_id}/rotate", {"overlap_seconds": overlap_seconds}
    return Call("POST", path, a.RotatedDestination, body, idempotency_key=idempotency_key)


def test_destination(destination_id: int) -> Call[a.TestedDestination]:
    """Sends a test event now."""
    return Call("POST", f"/admin/destinations/{destination_id}/test", a.TestedDestination)


def resume_destination(
    destination_id: int, position: int, idempotency_key: str | None = None
) -> Call[a.ResumedDestination]:
    """Sets the next position to deliver: back to send again, forward to skip."""
    path = f"/admin/destinations/{destination_id}/resume"
    return Call("POST", path, a.ResumedDestination, {"from": position}, idempotency_key=idempotency_key, again=True)


def deliveries() -> Call[a.DeliveryList]:
    """How far each delivery is."""
    return Call("GET", "/admin/deliveries", a.DeliveryList)
