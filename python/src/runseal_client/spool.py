"""What could not be sealed in time: on disk, bounded, safe with several processes, sent later, never dropped silently.

A folder holds one file for each close that the service did not answer, and one for each act that was done without a
permit. Acts without a permit are sealed together as a gap: one run that says how many there were, and which. A file that
is damaged is set aside, and counted in a gap as one that was not kept.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import logging
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .async_client import AsyncRunseal
from .errors import RunsealError
from .sealing import program_of
from .verifier.json_text import canonical

MAX_FILES = 10_000
# So many entries of the longest routes are a request of less than 1 MiB.
MAX_GAP_ENTRIES = 250
_LOST = "lost.count"
_LATER = (401, 403, 408, 429)
_LOG = logging.getLogger("runseal_client")
# What a file holds at least, by the first word of its name.
_MEMBERS: dict[str, dict[str, type]] = {
    "close": {"permit_id": str, "body": dict},
    "act": {"route_id": str, "payload_hash": str, "reason": str, "at": str},
    "gap": {"files": list, "acts": list, "not_kept": int},
    "lost": {"count": int},
}


def _content(path: Path) -> dict[str, Any] | None:
    """What a file holds; None of one that is damaged."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    members = _MEMBERS[re.split("[-.]", path.name)[0]]
    whole = isinstance(content, dict) and all(isinstance(content.get(name), kind) for name, kind in members.items())
    return content if whole else None


def _is_final(error: RunsealError) -> bool:
    """Whether the service has read a request and refused it: it will refuse it again."""
    pending = error.code in ("request_in_progress", "bad_answer")
    return 400 <= error.status < 500 and error.status not in _LATER and not pending


class Spool:
    """A folder of what is to be sealed later. Every process of a machine may use the same one."""

    def __init__(self, folder: str | None = None, door: str = "python") -> None:
        place = folder or os.environ.get("RUNSEAL_SPOOL_DIR") or str(Path.home() / ".cache" / "runseal" / "spool")
        self.folder = Path(place)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._door = door
        self._number = itertools.count()

    def put_close(self, permit_id: str, body: dict[str, Any]) -> None:
        """Keeps a close that had no answer."""
        self._put("close", {"permit_id": permit_id, "body": body})

    def put_unsealed(self, route_id: str, payload: str, reason: str, name: str | None = None) -> None:
        """Counts an act that was done without a permit; of one `name` once."""
        payload_hash = hashlib.sha256(payload.encode("utf-8", "replace")).hexdigest()
        self._put("act", {"route_id": route_id, "payload_hash": payload_hash, "reason": reason, "at": _now()}, name)

    def waiting(self) -> int:
        """Files that are still to be sent."""
        return sum(1 for _ in self.folder.glob("*.json"))

    def _put(self, kind: str, content: dict[str, Any], name: str | None = None) -> None:
        name = f"{kind}-{name or f'{time.time_ns()}-{os.getpid()}-{next(self._number)}.json'}"
        try:
            if self.waiting() >= MAX_FILES:
                raise OSError("full")
            self._write(name, content)
        except OSError:
            # A full folder, or a full disk.
            self._lose()

    def _lose(self) -> None:
        """Counts what is lost, in one file of all processes."""
        with self._counting():
            file = self.folder / _LOST
            self._write(_LOST, {"count": (_lost_in(file) if file.exists() else 0) + 1, "at": _now()})

    def _write(self, name: str, content: dict[str, Any]) -> None:
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
        with os.fdopen(handle, "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.folder / name)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether this process may send. The system frees the lock of a process that was killed."""
        with (self.folder / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Alone with the count of what was lost."""
        with (self.folder / "lost.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _whole(self, pattern: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """The files that can be read, oldest first. Any other is counted, and set aside so that it holds up nothing."""
        for path in sorted(self.folder.glob(pattern)):
            content = _content(path)
            if content is not None:
                yield path, content
                continue
            self._lose()
            os.replace(path, f"{path}.damaged")
            _LOG.warning("runseal: the file %s of the spool is damaged", path.name)

    async def drain(self, client: AsyncRunseal) -> bool:
        """Sends what waits; false when the service does not answer. One process at a time does it."""
        with self._alone() as alone:
            if not alone:
                return True
            try:
                for path, content in self._whole("close-*.json"):
                    await self._send_close(client, path, content)
                self._gather()
                for path, gap in self._whole("gap-*.json"):
                    await self._send_gap(client, path, gap)
            except RunsealError:
                return False
        return True

    async def _send_close(self, client: AsyncRunseal, path: Path, content: dict[str, Any]) -> None:
        try:
            await client.close_permit(content["permit_id"], content["body"])
        except RunsealError as error:
            if not _is_final(error):
                raise
            # Too late: the service has ended the permit and says so; that this act was done is part of the gap.
            self.put_unsealed("close", content["permit_id"], f"close {error.code}", path.name.removeprefix("close-"))
        path.unlink()

    def _gather(self) -> None:
        """Makes gaps of acts. A gap names its files, so that a process killed in between counts none twice."""
        for _, gap in self._whole("gap-*.json"):
            for name in gap["files"]:
                (self.folder / name).unlink(missing_ok=True)
        acts = dict(itertools.islice(self._whole("act-*.json"), MAX_GAP_ENTRIES))
        with self._counting():
            if (self.folder / _LOST).exists():
                # Away from its name, it no longer changes.
                os.replace(self.folder / _LOST, self.folder / f"lost-{time.time_ns()}.count")
        lost = sorted(self.folder.glob("lost-*.count"))
        if not acts and not lost:
            return
        names = [each.name for each in (*acts, *lost)]
        gap = {"files": names, "acts": [*acts.values()], "not_kept": sum(map(_lost_in, lost))}
        name = hashlib.sha256(f"{time.time_ns()} {names}".encode()).hexdigest()[:32]
        self._write(f"gap-{name}.json", gap)
        for path in (*acts, *lost):
            path.unlink(missing_ok=True)

    async def _send_gap(self, client: AsyncRunseal, path: Path, gap: dict[str, Any]) -> None:
        facts = {"door": self._door, "gap": True}
        count = len(gap["acts"]) + gap["not_kept"]
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
        body = {
            "program_id": program_of(facts),
            "route_id": f"{self._door}/gap",
            "registry_record_hash": program_of(facts),
            "payload": canonical({**facts, "unsealed": count, "not_kept": gap["not_kept"]}),
            "causal_graph": {"effect_log": effects},
            "reproducibility_context": {"gap": {"unsealed": count, "not_kept": gap["not_kept"]}},
        }
        try:
            await client.execute(body, path.stem)
        except RunsealError as error:
            if not _is_final(error):
                raise
            # It stays in the folder, and holds up nothing behind it.
            _LOG.warning("runseal: a gap of %d calls was refused by the service (%s)", count, error.code)
            return
        path.unlink()


def _lost_in(path: Path) -> int:
    """How many a file of lost ones counts; of one that is damaged, that there was one."""
    content = _content(path)
    return 1 if content is None else int(content["count"])


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
