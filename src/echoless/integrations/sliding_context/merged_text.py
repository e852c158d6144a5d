"""Text of a merged entry: a model's, if it keeps the facts, or all distinct sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from echoless.core.errors import ModelError
from echoless.models.llm import Model
from echoless.workflows.consolidation.fact_check import all_sentences
from echoless.workflows.consolidation.llm_rewrite import Proposed, Refused, propose_merge

SHORTEST: Final = 10
"""Characters a merged text has at least."""

BY_RULE: Final = "echoless, all sentences"

PROBE: Final = "Reply with the word OK."


@dataclass(frozen=True, slots=True)
class MergedText:
    """Merged text of a group.

    Attributes:
        content: The text.
        by: Who wrote it.
        refused: Why the model's text was not taken; empty if it was, or if there is no model.
    """

    content: str
    by: str
    refused: str = ""


def merged_text(summaries: Sequence[str], *, model: Model | None, locale: str = "de") -> MergedText:
    """Merges several summaries into one text.

    Args:
        summaries: Most recent first, at least one. The model gets all in full, numbered, line
            breaks as spaces.
        model: Whom to ask, or None.
        locale: Language of the prompt.

    Raises:
        ModelError: There is no answer.
        Exception: Whatever else the model raises.
    """
    rule = all_sentences(summaries)
    if model is None:
        return MergedText(rule, BY_RULE)
    shown = [f"{at}. {' '.join(s.split())}" for at, s in enumerate(summaries, 1)]
    proposal = propose_merge(model, summaries, locale=locale, prompt="summary", shown=shown)
    match proposal:
        case Refused(answered=False, reason=reason):
            raise ModelError(f"{reason[:1].upper()}{reason[1:]}.")
        case Refused(reason=reason):
            return MergedText(rule, BY_RULE, reason)
        case Proposed(text=text) if len(text) < SHORTEST:
            return MergedText(rule, BY_RULE, f"it has less than {SHORTEST} characters")
        case Proposed(text=text, by=by):
            return MergedText(text, by)
        case _:
            assert_never(proposal)
