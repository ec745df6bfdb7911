"""A service whose policy leaves acts to people, and a person who decides on them."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from service import running_service

from runseal_client import Runseal

# Routes whose acts need the approval of one person.
ASKED = ["payments/transfer", "tools/transfer", "agents/langchain/double", "litellm/m-1"]
POLICY = {
    "policy_id": "asking",
    "policy_name": "Asking",
    "required_attested_fields": [],
    "rules": [
        {"id": "permit", "effect": "allow"},
        {
            "id": "one-person",
            "effect": "require_approval",
            "when": f"{json.dumps(ASKED)}.contains(context.bound.route_id)",
            "approval": {"by": ["treasury"], "count": 1, "within_seconds": 3600, "end_user": "optional"},
        },
    ],
}


@dataclass
class Place:
    """A service, the key of an agent, and a person who decides."""

    url: str
    key: str
    person: Runseal

    def waiting(self) -> list[str]:
        return [each.approval_id for each in self.person.approvals(state="waiting").approvals]

    def decide(self, approval_id: str, decision: Literal["approve", "reject"]) -> None:
        digest = self.person.get_approval(approval_id).request_digest
        self.person.decide_approval(approval_id, digest, decision)

    def decide_soon(self, decision: Literal["approve", "reject"]) -> threading.Thread:
        """Decides on the next request."""

        def work() -> None:
            while not (found := self.waiting()):
                time.sleep(0.1)
            self.decide(found[0], decision)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread


@contextmanager
def running_place(folder: Path) -> Iterator[Place]:
    """A service that ends with the block, and the keys of an agent and of the person."""
    (folder / "policy.json").write_text(json.dumps(POLICY))
    options = ("--policy", str(folder / "policy.json"), "--approvals", "on", "--permit-rate-limit", "100000")
    with running_service(folder, *options) as running, Runseal(running.url) as first:
        admin = Runseal(running.url, first.make_key("ops", scope="admin", confirm_admin_scope=True).secret)
        agent = admin.make_key("agent", tier="production")
        person = admin.make_key("key of anna", scope="approver", person="anna", groups=["treasury"])
        yield Place(running.url, agent.secret, Runseal(running.url, person.secret))
