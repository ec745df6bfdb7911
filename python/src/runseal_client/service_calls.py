"""The requests that need no key: the log, the keys it is checked with, and the state of the service."""

from __future__ import annotations

from . import models as m
from .calls import Call


def trust_document() -> Call[bytes]:
    """The trust document. Get it once, and compare its fingerprints by another way."""
    return Call("GET", "/.well-known/runseal-trust.json", bytes)


def trusted_root() -> Call[bytes]:
    """Its Sigstore `trusted_root.json` alone."""
    return Call("GET", "/.well-known/trusted-root.json", bytes)


def service_key() -> Call[bytes]:
    """The service's public key, PEM."""
    return Call("GET", "/.well-known/service.pub", bytes)


def jwks() -> Call[bytes]:
    """The keys with which permits are checked."""
    return Call("GET", "/.well-known/jwks.json", bytes)


def checkpoint() -> Call[bytes]:
    """The log's current checkpoint."""
    return Call("GET", "/log/checkpoint", bytes)


def witnessed_checkpoint() -> Call[bytes]:
    """The newest checkpoint that enough witnesses cosigned."""
    return Call("GET", "/log/witnessed-checkpoint", bytes)


def outside_logs() -> Call[m.OutsideLogs]:
    """Rekor logs that also get the entries."""
    return Call("GET", "/log/outside", m.OutsideLogs)


def witnesses() -> Call[m.Witnesses]:
    """When the witnesses of the log cosigned last, and which are silent."""
    return Call("GET", "/log/witnesses", m.Witnesses)


def genesis() -> Call[m.Genesis]:
    """The leaf of entry 0."""
    return Call("GET", "/log/genesis", m.Genesis)


def key_changes() -> Call[m.KeyChanges]:
    """The leaves that announce changes of the log's keys."""
    return Call("GET", "/log/key-changes", m.KeyChanges)


def tile(level: int, index: str, width: int | None = None) -> Call[bytes]:
    """Hashes of the log, 32 bytes each; `index` as in C2SP tlog-tiles (`x001/067`), `width` of a partial tile."""
    return Call("GET", f"/log/tile/{level}/{index}" + ("" if width is None else f".p/{width}"), bytes)


def entry_bundle(index: str, width: int | None = None) -> Call[bytes]:
    """Bodies of 256 entries, or of `width`, each after its length."""
    return Call("GET", f"/log/tile/entries/{index}" + ("" if width is None else f".p/{width}"), bytes)


def log_entry(index: int) -> Call[m.LogEntry]:
    """One entry with its proof."""
    return Call("GET", f"/log/entry/{index}", m.LogEntry)


def consistency(first: int, second: int) -> Call[m.Consistency]:
    """The proof that the log of a size goes on as the log of another."""
    return Call("GET", "/log/consistency", m.Consistency, query={"first": str(first), "second": str(second)})


def about() -> Call[m.About]:
    """The service's name, mode, log and fingerprints."""
    return Call("GET", "/", m.About, headers={"Accept": "application/json"})


def health() -> Call[m.Health]:
    """Whether the process answers."""
    return Call("GET", "/health", m.Health)


def ready() -> Call[m.Readiness]:
    """Whether the service seals; raises RunsealError with 503 when it does not."""
    return Call("GET", "/ready", m.Readiness)


def version() -> Call[m.Version]:
    """Releases of the service and its formats."""
    return Call("GET", "/version", m.Version)


def openapi() -> Call[bytes]:
    """The OpenAPI document."""
    return Call("GET", "/openapi.json", bytes)
