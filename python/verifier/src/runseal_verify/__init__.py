"""Verifies the records of Runseal: `verify_text(record, [read_trust(trust_document)])` gives an `Outcome`."""

from .checks import Outcome
from .documents import verify_document, verify_text
from .json_text import Unreadable
from .trust import Trust, read_trust

__all__ = ["Outcome", "Trust", "Unreadable", "read_trust", "verify_document", "verify_text"]
