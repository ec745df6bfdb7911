"""What all answers of the service have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

# A sealed document, as it was received: every member of it is checked.
Document = dict[str, Any]


class Answer(BaseModel):
    """An answer. Members that are not listed are there too: `model_extra` has them."""

    # An error of a wrong answer repeats nothing of it: it may be the answer with a secret.
    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=(), hide_input_in_errors=True)
