"""What the judge that reads would hold back, for the reports of other programs' commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from echoless.settings import Choices, layered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from echoless.findings import Findings
    from echoless.model import Pair


def chosen_encoder() -> str:
    """What the judge aligns words by, from the environment or `echoless.toml`."""
    return layered(Choices()).encoder or "auto"


def second_look_lines(findings: Findings) -> list[str]:
    """For a report; none where the threshold proposes nothing."""
    from echoless.second_look import look_again  # noqa: PLC0415 - brings in the judge

    second = look_again(findings, encoder=chosen_encoder())
    return list(second.lines()) if second.merges else []


def second_look_at(pairs: Iterable[Pair]) -> list[str]:
    """As `second_look_lines`, for pairs."""
    from echoless.second_look import look_at  # noqa: PLC0415 - brings in the judge

    second = look_at(pairs, encoder=chosen_encoder())
    return list(second.lines()) if second.merges else []
