"""Merges that the full judge would hold back, for reports of other programs' commands."""

from __future__ import annotations

from collections.abc import Iterable

from echoless.core.model import Pair
from echoless.core.settings import Choices, layered
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.pairs.threshold_comparison import compare_with_judge, look_at


def chosen_encoder() -> str:
    """Returns the encoder of the judge, from the environment or `echoless.toml`."""
    return layered(Choices()).encoder or "auto"


def second_look_lines(findings: Findings) -> list[str]:
    """Returns lines for a report on findings; none where the threshold merges nothing."""
    second = compare_with_judge(findings, encoder=chosen_encoder())
    return list(second.lines()) if second.merges else []


def second_look_at(pairs: Iterable[Pair]) -> list[str]:
    """Returns lines for a report on pairs; none where the threshold merges nothing."""
    second = look_at(pairs, encoder=chosen_encoder())
    return list(second.lines()) if second.merges else []
