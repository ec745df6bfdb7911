"""A queue on disk of what could not be sealed in time: bounded, safe with several processes, never dropped silently.

A folder holds one file for each close that the service did not answer, and one for each act that was done without a
permit. Acts without a permit are sealed together as a gap: one run that says how many there were, and which. A file that
is damaged is set aside, and counted in a gap as one that was not kept. docs/doors/litellm.md lists the files.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import rfc8785

from .api.calls import close_permit, execute
from .api.operations import AsyncOperations
from .errors import RunsealError
from .sealing import program_of

MAX_FILES = 10_000
# So many entries of the longest routes are a request of less than 1 MiB.
MAX_GAP_ENTRIES = 250
# A 404 is also the answer to another key than the one that opened the permit.
_LATER = (401, 403, 404, 408, 429)
# A file that failed is dated before this, in 1973, each two seconds after the one that failed before it: what every file system can write.
_FAILED_BEFORE_NS = 10**17
_STEP_NS = 2_000_000_000
_LOG = logging.getLogger("runseal_client")


def _is_final(error: RunsealError) -> bool:
    """Whether the service has read a request and refused it: it will refuse it again."""
    pending = error.code in ("request_in_progress", "bad_answer")
    return 400 <= error.status < 500 and error.status not in _LATER and not pending


class Spool:
    """A folder of what is to be sealed later. Processes of one machine may share it if they use the same service and key."""

    def __init__(self, folder: str | None = None, door: str = "python") -> None:
        place = folder or os.environ.get("RUNSEAL_SPOOL_DIR") or str(Path.home() / ".cache" / "runseal" / "spool")
        self.folder = Path(place)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._door = door
        # Each door counts for itself, so that its gaps are its own, also where another one sends them.
        self._lost = f"lost.{re.sub(r'[^a-z0-9-]', '-', door.lower())[:64]}.count"
        self._lock = threading.Lock()
        # How many are lost and not yet in the file that counts them.
        self._uncounted = 0
        self._said: set[str] = set()

    def forget(self) -> None:
        """The child of a fork: what its parent has in memory, the parent counts."""
        self._lock = threading.Lock()
        self._uncounted = 0

    def put_close(self, permit_id: str, body: dict[str, Any]) -> None:
        """Stores a close that had no answer."""
        self._put("close", {"permit_id": permit_id, "body": body})

    def put_unsealed(self, route_id: str, payload: str, reason: str) -> None:
        """Counts an act that was done without a permit."""
        self._put("act", self._act(route_id, payload, reason))

    def put_lost(self, number: int) -> None:
        """Counts acts of which nothing but their number is known."""
        self._lose(number)

    def waiting(self) -> int:
        """Files that are still to be sent."""
        with os.scandir(self.folder) as files:
            return sum(1 for file in files if file.name.endswith(".json"))

    def is_empty(self) -> bool:
        """Whether there is nothing to send, and nothing to count."""
        try:
            with os.scandir(self.folder) as files:
                return self._uncounted == 0 and not any(file.name.endswith((".json", ".count")) for file in files)
        except FileNotFoundError:
            return self._uncounted == 0
        except OSError:
            # It cannot be read now.
            return False

    def _act(self, route_id: str, payload: str, reason: str) -> dict[str, Any]:
        payload_hash = hashlib.sha256(payload.encode("utf-8", "replace")).hexdigest()
        return {"door": self._door, "route_id": route_id, "payload_hash": payload_hash, "reason": reason, "at": _now()}

    def _put(self, kind: str, content: dict[str, Any]) -> None:
        try:
            if self.waiting() >= MAX_FILES:
                raise OSError(f"it holds {MAX_FILES} files")
            self._write(f"{kind}-{time.time_ns()}-{uuid.uuid4().hex}.json", content)
        except OSError as error:
            _LOG.error("runseal: the spool %s takes no more (%s): one %s is lost and counted", self.folder, error, kind)
            self._lose(1)

    def _lose(self, number: int) -> None:
        """Counts what is lost, in one file of the door for all processes, and in memory until that file can be written."""
        with self._lock:
            self._uncounted += number
            try:
                with self._counting():
                    file = self.folder / self._lost
                    counted = _lost_in(file, self._door)[1] if file.exists() else 0
                    self._write(self._lost, {"door": self._door, "count": counted + self._uncounted, "at": _now()})
            except OSError as error:
                _LOG.error("runseal: %d lost files are counted in memory alone (%s)", self._uncounted, error)
            else:
                self._uncounted = 0

    def _write(self, name: str, content: dict[str, Any]) -> None:
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.folder / name)
        except BaseException:
            os.unlink(temporary)
            raise
        # Without this a power failure may lose the name of the file. Some file systems cannot do it.
        folder = os.open(self.folder, os.O_RDONLY)
        with suppress(OSError):
            os.fsync(folder)
        os.close(folder)

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

    def _whole(self, paths: list[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
        """The files that can be read. One that is damaged is counted, and set aside so that it holds up nothing."""
        for path in paths:
            try:
                content = _content_of(path)
            except OSError as error:
                self._say(f"{path.name} of the spool cannot be read ({error.strerror})")
                continue
            if content is not None:
                yield path, content
                continue
            os.replace(path, f"{path}.damaged")
            # The name of a gap says how many calls are in it.
            calls = re.fullmatch(r"gap-\w+-([0-9]{1,9})\.json", path.name)
            self._lose(int(calls[1]) if calls else 1)
            _LOG.error("runseal: the file %s of the spool is damaged: it is counted, and set aside", path.name)

    def _say(self, problem: str) -> None:
        """Logs what keeps files waiting, once until none waits."""
        if problem not in self._said:
            self._said.add(problem)
            _LOG.warning("runseal: %s; %d files wait in %s", problem, self.waiting(), self.folder)

    async def drain(self, client: AsyncOperations) -> bool:
        """Sends what waits, and says whether nothing waits any more. One process at a time does it.

        It ends at the first file that the service does not take. That file is the last one of the next pass, so it holds up
        no other.
        """
        with self._alone() as alone:
            if not alone:
                return self.waiting() == 0
            if self._uncounted > 0:
                self._lose(0)
            sent = True
            while sent:
                # Again, since a close that is refused becomes an act.
                try:
                    self._gather()
                except OSError as error:
                    # A full disk: what is sent makes room.
                    self._say(f"no gap can be written ({error.strerror})")
                sent = False
                for path, content in self._whole(self._queue()):
                    try:
                        await self._send(client, path, content)
                    except (RunsealError, OSError) as error:
                        self._move_to_end(path)
                        code = error.code if isinstance(error, RunsealError) else error.strerror
                        self._say(f"a file of the spool was not sent ({code})")
                        return False
                    sent = True
        if self.waiting() > 0:
            return False
        self._said.clear()
        return True

    def _queue(self) -> list[Path]:
        """Closes and gaps: first those that never failed. No clock decides which of the others is next."""
        files = [*self.folder.glob("close-*.json"), *self.folder.glob("gap-*.json")]
        times = {path: _changed_at(path) for path in files}
        return sorted(files, key=lambda path: (times[path] < _FAILED_BEFORE_NS, times[path], path.name))

    def _move_to_end(self, path: Path) -> None:
        failed = [changed for changed in map(_changed_at, self._queue()) if changed < _FAILED_BEFORE_NS]
        last = max(failed, default=0) + _STEP_NS
        with suppress(FileNotFoundError):
            os.utime(path, ns=(last, last))

    async def _send(self, client: AsyncOperations, path: Path, content: dict[str, Any]) -> None:
        if path.name.startswith("close-"):
            await self._send_close(client, path, content)
        else:
            await client.send(execute(_gap_run(path.stem, content), path.stem))
        path.unlink(missing_ok=True)

    async def _send_close(self, client: AsyncOperations, path: Path, content: dict[str, Any]) -> None:
        permit_id = content["permit_id"]
        try:
            await client.send(close_permit(permit_id, content["body"]))
        except RunsealError as error:
            if not _is_final(error):
                raise
            if error.status == 409 and (await client.get_permit(permit_id)).state == "closed":
                # It was sealed, and its answer lost for longer than the service knows idempotency keys.
                return
            # Too late: the service has ended the permit and says so; that this act was done is part of the gap.
            act = self._act("close", permit_id, f"close {error.code}")
            self._write(f"act-{path.name.removeprefix('close-')}", act)

    def _gather(self) -> None:
        """Makes gaps of acts. A gap names its files, so that a process killed in between counts none twice."""
        for _, gap in self._whole(sorted(self.folder.glob("gap-*.json"))):
            self._remove(gap["files"])
        doors: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for path, act in self._whole(sorted(self.folder.glob("act-*.json"))):
            doors.setdefault(act["door"], []).append((path.name, act))
        for door, acts in doors.items():
            for at in range(0, len(acts), MAX_GAP_ENTRIES):
                part = acts[at : at + MAX_GAP_ENTRIES]
                self._write_gap(door, [name for name, _ in part], [act for _, act in part], 0)
        with self._counting():
            for counting in self.folder.glob("lost.*.count"):
                # Away from its name, it no longer changes.
                os.replace(counting, self.folder / f"lost-{uuid.uuid4().hex}.count")
        for path in sorted(self.folder.glob("lost-*.count")):
            door, number = _lost_in(path, self._door)
            self._write_gap(door, [path.name], [], number)

    def _write_gap(self, door: str, files: list[str], acts: list[dict[str, Any]], not_kept: int) -> None:
        gap = {"door": door, "files": files, "acts": acts, "not_kept": not_kept}
        self._write(f"gap-{uuid.uuid4().hex}-{len(acts) + not_kept}.json", gap)
        self._remove(files)

    def _remove(self, files: list[str]) -> None:
        for name in files:
            (self.folder / name).unlink(missing_ok=True)


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


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


def _content_of(path: Path) -> dict[str, Any] | None:
    """What a file holds; None of one that is damaged. Raises OSError for one that cannot be read."""
    text = path.read_bytes()
    try:
        content = json.loads(text)
        # What no request can carry would stop every pass.
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return content if _is_whole(re.split("[-.]", path.name)[0], content) else None


def _lost_in(path: Path, reader: str) -> tuple[str, int]:
    """Whose calls a file of lost ones counts, and how many; of one that is damaged, one of the door that reads it."""
    content = _content_of(path)
    if content is None:
        _LOG.error("runseal: the file %s of the spool is damaged: it counts as one", path.name)
        return reader, 1
    return str(content["door"]), int(content["count"])


def _gap_run(name: str, gap: dict[str, Any]) -> dict[str, Any]:
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
