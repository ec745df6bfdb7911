"""Every method of both clients, each written once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import admin_calls as a
from . import caller_calls as c
from . import service_calls as s
from .calls import Call

P = ParamSpec("P")
T = TypeVar("T")


class Sender:
    """A client that waits."""

    def send(self, call: Call[T]) -> T:
        """Sends a call and gives its answer."""
        raise NotImplementedError


class AsyncSender:
    """A client for asyncio."""

    async def send(self, call: Call[T]) -> T:
        """Sends a call and gives its answer."""
        raise NotImplementedError


class Method(Generic[P, T]):
    """A method with the parameters of a call, which sends it: of a Sender it gives the answer, of an AsyncSender a coroutine."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: None, owner: object) -> Method[P, T]: ...
    @overload
    def __get__(self, client: Sender, owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: object) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: object) -> Any:
        if client is None:
            return self

        @functools.wraps(self.make)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.make(*args, **kwargs))

        return method


class Operations:
    """The public API. What each method takes and gives is said where its call is made."""

    execute = Method(c.execute)
    verify_determinism = Method(c.verify_determinism)
    verify_by_service = Method(c.verify_by_service)
    open_permit = Method(c.open_permit)
    close_permit = Method(c.close_permit)
    redeem_permit = Method(c.redeem_permit)
    permits = Method(c.permits)
    get_permit = Method(c.get_permit)
    runs = Method(c.runs)
    run = Method(c.run)
    check_run = Method(c.check_run)
    bundle = Method(c.bundle)
    artifact = Method(c.artifact)
    report = Method(c.report)
    statement = Method(c.statement)
    export = Method(c.export)
    attest = Method(c.attest)
    attestations = Method(c.attestations)
    public_bundle = Method(c.public_bundle)
    public_statement = Method(c.public_statement)
    shared_bundle = Method(c.shared_bundle)
    shared_report = Method(c.shared_report)
    open_session = Method(c.open_session)
    session = Method(c.session)
    close_session = Method(c.close_session)

    make_key = Method(a.make_key)
    keys = Method(a.keys)
    change_key = Method(a.change_key)
    rotate_key = Method(a.rotate_key)
    revoke_key = Method(a.revoke_key)
    claim_runs = Method(a.claim_runs)
    publish = Method(a.publish)
    unpublish = Method(a.unpublish)
    share = Method(a.share)
    shares = Method(a.shares)
    revoke_share = Method(a.revoke_share)
    policies = Method(a.policies)
    load_policy = Method(a.load_policy)
    try_policy = Method(a.try_policy)
    policy = Method(a.policy)
    all_runs = Method(a.all_runs)
    any_run = Method(a.any_run)
    check_any_run = Method(a.check_any_run)
    any_bundle = Method(a.any_bundle)
    any_artifact = Method(a.any_artifact)
    any_report = Method(a.any_report)
    any_statement = Method(a.any_statement)
    export_of_key = Method(a.export_of_key)
    all_permits = Method(a.all_permits)
    any_permit = Method(a.any_permit)
    published_runs = Method(a.published_runs)
    usage = Method(a.usage)
    overview = Method(a.overview)
    admin_events = Method(a.admin_events)
    admin_event = Method(a.admin_event)
    export_admin_events = Method(a.export_admin_events)
    events = Method(a.events)
    make_destination = Method(a.make_destination)
    destinations = Method(a.destinations)
    change_destination = Method(a.change_destination)
    delete_destination = Method(a.delete_destination)
    rotate_destination = Method(a.rotate_destination)
    test_destination = Method(a.test_destination)
    resume_destination = Method(a.resume_destination)
    deliveries = Method(a.deliveries)

    trust_document = Method(s.trust_document)
    trusted_root = Method(s.trusted_root)
    service_key = Method(s.service_key)
    jwks = Method(s.jwks)
    checkpoint = Method(s.checkpoint)
    witnessed_checkpoint = Method(s.witnessed_checkpoint)
    outside_logs = Method(s.outside_logs)
    witnesses = Method(s.witnesses)
    genesis = Method(s.genesis)
    key_changes = Method(s.key_changes)
    tile = Method(s.tile)
    entry_bundle = Method(s.entry_bundle)
    log_entry = Method(s.log_entry)
    consistency = Method(s.consistency)
    about = Method(s.about)
    health = Method(s.health)
    ready = Method(s.ready)
    version = Method(s.version)
    openapi = Method(s.openapi)


class AsyncOperations(Operations, AsyncSender):
    """The public API for a coroutine, however it is sent."""
