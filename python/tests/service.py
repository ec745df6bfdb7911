"""A Runseal service as a process, for tests."""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from places import NODE, REPOSITORY

START_SECONDS = 300


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Service:
    """A running service and where it listens."""

    def __init__(self, folder: Path, *options: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._folder, self._options = folder, options
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it is ready."""
        program = REPOSITORY / "apps/server/bin/runseal-server.js"
        log = (self._folder / "service.log").open("ab")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RUNSEAL_")}
        command = [str(NODE), str(program), "--port", str(self.port), "--data-dir", str(self._folder / "data")]
        self.process = subprocess.Popen(
            [*command, *self._options], stdout=log, stderr=log, cwd=self._folder, env=environment
        )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with suppress(OSError):
                urllib.request.urlopen(f"{self.url}/ready", timeout=3)
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError((self._folder / "service.log").read_text()[-3000:])

    def stop(self) -> None:
        """Ends it."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)

    def get(self, path: str) -> Any:
        """The JSON answer of a path."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=30) as answer:
            return json.loads(answer.read())

    def count(self, path: str) -> int:
        """The total of a list."""
        return int(self.get(path)["total"])


# Options for a service that a test asks more often than its limits allow.
UNLIMITED = ("--anonymous-rate-limit", "100000", "--permit-rate-limit", "100000")


@contextmanager
def running_service(folder: Path, *options: str) -> Iterator[Service]:
    """A service that ends with the block."""
    service = Service(folder, *options)
    try:
        service.start()
        yield service
    finally:
        service.stop()
