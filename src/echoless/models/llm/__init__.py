"""Language models: their interface, adapters to servers, and limits.

A model answers one prompt, and never removes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

from echoless.core.choices import TIMEOUT
from echoless.core.model import Json

Complete: TypeAlias = Callable[[str], str]
"""The plainest model: from a prompt to the answer."""

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""From texts to one vector for each, all of one length."""

LONGEST: Final = 4_096
"""Tokens of an answer, thoughts included; an answer itself has about two hundred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A question to a model.

    Attributes:
        instruction: What to do, in words of ours.
        data: What to do it with, behind a fence; see `fenced`. May be empty.
        schema: JSON Schema of the object the answer has to be; None asks for plain text.
        longest: Tokens the answer may have.
        timeout: Seconds the answer may take.
    """

    instruction: str
    data: str = ""
    schema: Mapping[str, Json] | None = None
    longest: int = LONGEST
    timeout: float = TIMEOUT

    @property
    def whole(self) -> str:
        """Returns instruction and data in one text."""
        return "\n\n".join(filter(None, (self.instruction, self.data)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a model.

    Attributes:
        text: As it came; a JSON object where a schema was asked for and kept.
        cut: It ends where the longest answer ends.
        tokens_in: Tokens of the prompt, as counted by the server; None if it did not say.
        tokens_out: Tokens of the answer, likewise.
    """

    text: str
    cut: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None


@runtime_checkable
class Model(Protocol):
    """Answers prompts.

    Registered as an entry point of the group `echoless.models`: a callable that takes what stands
    behind the colon of `name:argument` (or an empty text) and returns a model. It is called from
    several threads. It makes its own retries; `open_model` counts around it.
    """

    @property
    def name(self) -> str:
        """Returns adapter and model for the evidence, for example `openai:gpt-x`; no secrets."""

    def answer(self, prompt: Prompt) -> Answer:
        """Returns the answer to one prompt.

        Raises:
            ModelUnavailable: No prompt can be answered.
            ModelError: This prompt cannot be answered.
        """
