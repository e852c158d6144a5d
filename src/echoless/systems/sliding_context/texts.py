"""The text of a merged entry: a model's, if it keeps the facts, or all distinct sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from echoless.facts_kept import all_sentences, lost_facts
from echoless.llm import Complete
from echoless.systems.sliding_context.wording import wording

SHORTEST: Final = 10
"""Characters a merged text has at least."""

BY_RULE: Final = "echoless, all sentences"

PROBE: Final = "Reply with the word OK."


@dataclass(frozen=True, slots=True)
class MergedText:
    """A text for a group.

    Attributes:
        content: The text.
        by: Who wrote it.
        refused: Why the model's text was not taken; empty if it was, or if there is no model.
    """

    content: str
    by: str
    refused: str = ""


def merge_prompt(summaries: Sequence[str], locale: str) -> str:
    """What the model is asked: all summaries in full, numbered.

    Args:
        summaries: Most recent first.
        locale: `de`, `en` or `ja`.
    """
    numbered = "\n".join(f"{at}. {' '.join(s.split())}" for at, s in enumerate(summaries, 1))
    return wording(locale, "merge").format(count=len(summaries), summaries=numbered)


def merged_text(
    summaries: Sequence[str], *, complete: Complete | None, locale: str = "de", by: str = "a model"
) -> MergedText:
    """One text for several summaries.

    Args:
        summaries: Most recent first, at least one.
        complete: The model, or None.
        locale: Language of the prompt.
        by: Name of the model.

    Raises:
        Exception: Whatever the model raises.
    """
    rule = all_sentences(summaries)
    if complete is None:
        return MergedText(rule, BY_RULE)
    said = complete(merge_prompt(summaries, locale)).strip()
    if len(said) < SHORTEST:
        return MergedText(rule, BY_RULE, f"it has less than {SHORTEST} characters")
    lost = lost_facts(summaries, said)
    if lost:
        return MergedText(rule, BY_RULE, f"it leaves out {lost.line()}")
    return MergedText(said, by)
