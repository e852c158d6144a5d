"""Asks a model for one text in place of several, and checks that it loses no fact (law 12).

```
too long to be checked .................. not asked
no answer ............................... refused, not answered
no JSON object with a text, blank ....... refused
a fact of a source is not in it ......... refused, with what is lost
a figure or name is in no source ........ refused
longer than all sources ................. refused
else .................................... proposed
```
A refusal leaves the sources as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from echoless.core.errors import ModelError, ModelUnavailable, UsageError
from echoless.core.model import Json
from echoless.models.llm import Model, Prompt
from echoless.models.llm.prompt_text import fenced, objects_with, wording
from echoless.workflows.consolidation.fact_check import LostFacts, added_facts, lost_facts

LONGEST: Final = 20_000
"""Characters of all texts together: the check of lost facts reads no further."""

_SPARE: Final = 200
"""Characters a merged text may have beyond its sources: words that say where they disagree."""

SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Proposed:
    """A text that may take the place of its sources.

    Attributes:
        text: It keeps every fact that can be checked.
        by: Model and version of the prompt, for the reader of a plan.
    """

    text: str
    by: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The reason why there is no text; the sources stay.

    Attributes:
        reason: Why, as a clause without a full stop.
        lost: What the model's text left out; empty if that is not the reason.
        answered: A text came and was not taken; False if none came.
    """

    reason: str
    lost: LostFacts = field(default_factory=LostFacts)
    answered: bool = True


Proposal: TypeAlias = Proposed | Refused


def propose_merge(
    model: Model,
    texts: Sequence[str],
    *,
    locale: str = "en",
    prompt: str = "merge",
    shown: Sequence[str] = (),
) -> Proposal:
    """Asks a model for one text with the facts of several texts, and checks it.

    Args:
        model: Whom to ask.
        texts: The sources, the most important one first; at least one.
        locale: Language of the prompt: `de`, `en` or `ja`.
        prompt: Which prompt: `merge` or `summary`.
        shown: Texts for the model in place of `texts`, such as numbered ones.

    Returns:
        The text, or why there is none.

    Raises:
        ModelUnavailable: The model can answer nothing at all.
        UsageError: There are no texts, or no prompt in that language.
    """
    if not texts:
        raise UsageError("There is nothing to merge: no texts were given.")
    words = wording(prompt, locale)
    if sum(map(len, texts)) > LONGEST:
        return Refused(f"the texts have more than {LONGEST:,} characters together", answered=False)
    question = Prompt(instruction=words.text, data=fenced(list(shown or texts)), schema=SCHEMA)
    try:
        answer = model.answer(question)
    except ModelUnavailable:
        raise
    except ModelError as problem:
        return Refused(f"there was no answer: {str(problem).rstrip('.')}", answered=False)
    return _checked(answer.text, texts, f"{model.name}, {words.version}")


def _checked(answer: str, texts: Sequence[str], by: str) -> Proposal:
    """Returns the text of an answer, or why it is refused."""
    objects = objects_with(answer, "text")
    text = objects[-1]["text"] if objects else None
    if not isinstance(text, str):
        return Refused("the answer is no JSON object with a text")
    text = text.strip()
    if not text:
        return Refused("the text is blank")
    # what no store can hold: NUL, and half of a character
    if "\0" in text or any("\ud800" <= each <= "\udfff" for each in text):
        return Refused("it holds what is no text")
    lost = lost_facts(texts, text)
    if lost:
        return Refused(f"it leaves out {lost.line()}", lost)
    added = added_facts(texts, text)
    if added:
        return Refused(f"it adds {', '.join(added)}")
    if len(text) > sum(map(len, texts)) + _SPARE:
        return Refused("it is longer than its sources together")
    return Proposed(text, by)
