"""What becomes of an act that was permitted, for both clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .api.answers import OpenPermitAnswer, RunAnswer
from .api.requests import CausalGraph, ClosePermitRequest, ClosingSubstance
from .calls import FailureCode, spread, whole


def failure_code(error: BaseException) -> FailureCode:
    """The code by which an act is closed that ended with this.

    TIMED_OUT where nobody knows how far it came: timeouts of any library, by their names, and what stopped it from outside,
    such as a cancel (also that of `asyncio.timeout`), Ctrl-C, or the end of the process.
    """
    late = (
        not isinstance(error, Exception) or isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower()
    )
    return "TIMED_OUT" if late else "EXECUTOR_FAILED"


class Act:
    """An act under a permit: report what became of it before the block ends.

    Without a report a block that ends normally is `completed`, and one that ends with an exception `failed`.
    """

    def __init__(self) -> None:
        self.opened: OpenPermitAnswer | None = None
        self.answer: RunAnswer | None = None
        # What the act gave; CloseUnconfirmed has it.
        self.result: Any = None
        self._body: dict[str, Any] | None = None

    @property
    def permit_id(self) -> str | None:
        """Id of the permit; None where a refusal was only observed, which `answer` has."""
        return None if self.opened is None else self.opened.permit_id

    @property
    def token(self) -> str | None:
        """The signed permit, for the party that acts."""
        return None if self.opened is None else self.opened.permit

    def completed(
        self,
        ai_output_text: str | None = None,
        *,
        request_substance: ClosingSubstance | None = None,
        causal_graph: CausalGraph | None = None,
        reproducibility_context: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """The act was done. `extra` has what this version does not know, or what is sealed as it is sent."""
        if self.result is None:
            self.result = ai_output_text
        sections = _sections(request_substance, causal_graph, reproducibility_context)
        self._body = spread({"outcome": "completed", "ai_output_text": ai_output_text, **sections}, extra)

    def failed(
        self,
        code: FailureCode = "EXECUTOR_FAILED",
        *,
        request_substance: ClosingSubstance | None = None,
        causal_graph: CausalGraph | None = None,
        reproducibility_context: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """The act was not done, or not to its end. `extra` is that of `completed`."""
        sections = _sections(request_substance, causal_graph, reproducibility_context)
        self._body = spread({"outcome": "failed", "code": code, **sections}, extra)

    def closing(self, error: BaseException | None) -> dict[str, Any]:
        """The body of the close. An exception means that the act failed, whatever was reported before."""
        body = self._body or {"outcome": "completed"}
        if error is None or body["outcome"] == "failed":
            return body
        # What it did and used is sealed all the same, and its cost is charged.
        sections = {name: value for name, value in body.items() if name not in ("outcome", "ai_output_text")}
        return {
            "outcome": "failed",
            "code": failure_code(error),
            **sections,
        }


def _sections(
    substance: ClosingSubstance | None, graph: CausalGraph | None, context: Mapping[str, Any] | None
) -> dict[str, Any]:
    sections = {"request_substance": substance, "causal_graph": graph, "reproducibility_context": context}
    return whole(spread(sections, None), ClosePermitRequest)
