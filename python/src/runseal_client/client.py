"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

import httpx

from . import calls
from . import models as m
from .acts import Act
from .calls import Body, Call, ReportFormat
from .errors import ActRefused, RunsealError
from .transport import no_answer, pause_after, read_answer, request_of
from .verifier.checks import Outcome
from .verifier.documents import verify_text
from .verifier.trust import read_trust

T = TypeVar("T")
Permit = Act


class Runseal:
    """The public API of a Runseal service.

    `url` and `api_key` come from RUNSEAL_URL and RUNSEAL_API_KEY when they are not given. `timeout` bounds each wait for
    the service, in seconds. Reads, and posts under an idempotency key, are retried at most three times. Raises RunsealError.
    """

    def __init__(
        self, url: str | None = None, api_key: str | None = None, timeout: float = calls.TIMEOUT_SECONDS
    ) -> None:
        self._http = httpx.Client(base_url=calls.address(url), headers=calls.headers(api_key), timeout=timeout)

    def __enter__(self) -> Runseal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """Sends a call and gives its answer."""
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._http.send(request_of(self._http, call))
            except httpx.HTTPError as error:
                pause = pause_after(call, attempt, None)
                if pause is None:
                    raise no_answer(error) from None
            else:
                pause = pause_after(call, attempt, response)
                if pause is None:
                    return read_answer(call, response)
            time.sleep(pause)

    @contextmanager
    def permit(self, body: Body, idempotency_key: str | None = None) -> Iterator[Act]:
        """Opens a permit for the block and always closes it: as failed when the block raises.

        Raises ActRefused before the block when a gate refuses the act, and after it when one refuses the close: then the
        output must not be used.
        """
        act = Act(self.open_permit(body, idempotency_key))
        try:
            yield act
        except BaseException as error:
            try:
                act.answer = self.close_permit(act.permit_id, act.closing(error))
            except RunsealError as problem:
                error.add_note(f"The permit {act.permit_id} could not be closed: {problem.code}.")
            raise
        act.answer = self.close_permit(act.permit_id, act.closing(None))
        if not act.answer.ok:
            raise ActRefused(act.answer, 422)

    def execute(self, body: Body, idempotency_key: str | None = None) -> m.RunAnswer:
        """Takes a run through the pipeline; the answer of a refused run has `ok` false."""
        return self.send(calls.execute(body, idempotency_key))

    def open_permit(self, body: Body, idempotency_key: str | None = None) -> m.OpenedPermit:
        """Decides on an act before it is done; raises ActRefused when a gate refuses it."""
        return self.send(calls.open_permit(body, idempotency_key))

    def close_permit(self, permit_id: str, body: Body, idempotency_key: str | None = None) -> m.RunAnswer:
        """Seals what became of the act."""
        return self.send(calls.close_permit(permit_id, body, idempotency_key))

    def redeem_permit(self, permit_id: str, permit: str) -> m.RedeemedPermit:
        """Makes the act single. Never retried: without an answer the act must not be done."""
        return self.send(calls.redeem_permit(permit_id, permit))

    def permits(self, limit: int = 50, offset: int = 0, state: str | None = None) -> m.PermitPage:
        """Permits of this key, newest first."""
        return self.send(calls.permits(limit, offset, state))

    def get_permit(self, permit_id: str) -> m.PermitSummary:
        """One permit with its sealed documents."""
        return self.send(calls.permit(permit_id))

    def runs(self, limit: int = 50, offset: int = 0, **filters: str) -> m.RunPage:
        """Runs of this key, newest first; filters are those of GET /runs/search."""
        return self.send(calls.runs(limit, offset, filters))

    def run(self, run_id: int) -> m.RunSummary:
        """One run."""
        return self.send(calls.run(run_id))

    def bundle(self, run_id: int, full: bool = False) -> bytes:
        """The record, byte for byte as it was sealed, or with `full` in full."""
        return self.send(calls.bundle(run_id, full))

    def report(self, run_id: int, form: ReportFormat = "comprehensive") -> bytes:
        """The audit report in PDF."""
        return self.send(calls.report(run_id, form))

    def statement(self, run_id: int) -> bytes:
        """The run statement, for in-toto tools."""
        return self.send(calls.statement(run_id))

    def export(self, since: str | None = None, until: str | None = None) -> bytes:
        """All own documents, one a line, of at most 64 MiB; larger exports are for curl."""
        return self.send(calls.export(since, until))

    def attest(self, digest: str, subject_ref: str | None = None, idempotency_key: str | None = None) -> m.Attestation:
        """Anchors a SHA-256."""
        return self.send(calls.attest(digest, subject_ref, idempotency_key))

    def attestations(self, limit: int = 50, offset: int = 0) -> m.AttestationPage:
        """Attestations of this key, newest first."""
        return self.send(calls.attestations(limit, offset))

    def make_key(self, name: str, admin: bool = False, tier: str | None = None) -> m.NewKey:
        """Makes an API key. Needs an admin key once there is one."""
        return self.send(calls.make_key(name, admin, tier))

    def keys(self) -> m.KeyList:
        """All API keys. Needs an admin key."""
        return self.send(calls.keys())

    def revoke_key(self, key_id: int) -> m.Answer:
        """Revokes an API key for ever. Needs an admin key."""
        return self.send(calls.revoke_key(key_id))

    def publish(self, run_id: int) -> m.Published:
        """Publishes a run of this admin key."""
        return self.send(calls.publish(run_id))

    def unpublish(self, run_id: int) -> m.Answer:
        """Withdraws a published run."""
        return self.send(calls.unpublish(run_id))

    def trust_document(self) -> bytes:
        """The trust document. Get it once, and compare its fingerprints by another way."""
        return self.send(calls.document("/.well-known/runseal-trust.json"))

    def jwks(self) -> bytes:
        """The keys with which permits are checked."""
        return self.send(calls.document("/.well-known/jwks.json"))

    def verify_run(self, run_id: int, trust: bytes) -> Outcome:
        """Verifies the record of a run offline, with a trust document that did not come with it."""
        return verify_text(self.bundle(run_id), [read_trust(trust)])
