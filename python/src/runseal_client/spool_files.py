"""What the files of a spool hold, and the run that is made of a gap."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import rfc8785

from .sealing import program_of

_LOG = logging.getLogger("runseal_client")
# What a file holds at least, by the first word of its name.
_MEMBERS: dict[str, dict[str, type]] = {
    "close": {"permit_id": str, "body": dict},
    "act": {"door": str, "route_id": str, "payload_hash": str, "reason": str, "at": str},
    "gap": {"door": str, "files": list, "acts": list, "not_kept": int},
    "lost": {"door": str, "count": int},
}


def _is_whole(kind: str, content: Any) -> bool:
    if not isinstance(content, dict):
        return False
    if not all(isinstance(content.get(name), member) for name, member in _MEMBERS[kind].items()):
        return False
    if kind != "gap":
        return True
    # A gap removes the files that it names: they are files of this folder.
    names = all(isinstance(name, str) and re.fullmatch(r"(act|lost)-[\w.-]+", name) for name in content["files"])
    return names and all(_is_whole("act", act) for act in content["acts"])


def content_of(path: Path) -> dict[str, Any] | None:
    """What a file holds; None of one that is damaged. Raises OSError for one that cannot be read."""
    text = path.read_bytes()
    try:
        content = json.loads(text)
        # What no request can carry would stop every pass.
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return content if _is_whole(re.split("[-.]", path.name)[0], content) else None


def lost_in(path: Path, reader: str) -> tuple[str, int]:
    """Whose calls a file of lost ones counts, and how many; of one that is damaged, one of the door that reads it."""
    content = content_of(path)
    if content is None:
        _LOG.error("runseal: the file %s of the spool is damaged: it counts as one", path.name)
        return reader, 1
    return str(content["door"]), int(content["count"])


def gap_run(name: str, gap: dict[str, Any]) -> dict[str, Any]:
    """The run of a gap, made of its file alone: every process sends the same."""
    facts = {"door": gap["door"], "gap": True}
    counts = {"unsealed": len(gap["acts"]) + gap["not_kept"], "not_kept": gap["not_kept"]}
    effects = [
        {
            "effect_kind": "unsealed_act",
            "target": act["route_id"],
            "status": act["reason"],
            "issued_at": act["at"],
            "ack_hash": act["payload_hash"],
        }
        for act in gap["acts"]
    ]
    return {
        "program_id": program_of(facts),
        "route_id": f"{gap['door']}/gap",
        "registry_record_hash": program_of(facts),
        "payload": rfc8785.dumps({**facts, **counts}).decode(),
        "causal_graph": {"effect_log": effects},
        # The id tells a reader that two runs are one gap: one sent again after the service has forgotten its idempotency key.
        "reproducibility_context": {"gap": {"id": name, **counts}},
    }
