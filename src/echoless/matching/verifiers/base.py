"""The contract of a verifier, which reads two memories and returns an opinion on their relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias, cast, runtime_checkable

from echoless.core import plugins
from echoless.core.choices import Limits
from echoless.core.model import Memory
from echoless.models.llm.counted_model import Spent


class Says(StrEnum):
    """What an opinion can be."""

    SAME = "same"
    A_CONTAINS_B = "a_contains_b"
    B_CONTAINS_A = "b_contains_a"
    DIFFERENT = "different"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a verifier thinks of a pair.

    Attributes:
        says: One of five words.
        reason: Why, in one line.
    """

    says: Says
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NoOpinion:
    """A question without a usable answer; the pair stays unsure.

    Attributes:
        reason: What went wrong, in one line.
    """

    reason: str


Reply: TypeAlias = Opinion | NoOpinion


class Verifier(Protocol):
    """Gives opinions.

    Registered as an entry point of the group `echoless.verifiers`: a callable that takes what
    stands after the colon in `--verifier name:argument` (or an empty text) and returns a verifier.
    An opinion must depend on the two texts alone: it is taken for every memory with these texts.

    A plug-in that computes on this machine alone sets `sends_texts = False` on that callable; any
    other counts as one that hands texts to a server, which is announced.
    """

    @property
    def name(self) -> str:
        """Returns name and model for evidence, such as `openai:gpt-x`. No secrets."""
        ...

    def verify(self, pairs: Sequence[tuple[Memory, Memory]]) -> Sequence[Reply]:
        """Reads pairs; texts may be long, and hold anything.

        Args:
            pairs: A few pairs, at least one; a is the first of each.

        Returns:
            One reply for each pair, in order.

        Raises:
            VerifierError: No pair can be answered at all: no such model, no server, a wrong key.
                What concerns one pair is a `NoOpinion`.
        """
        ...


@runtime_checkable
class Limited(Protocol):
    """A verifier over a language model, with limits and a count of its tokens."""

    @property
    def spent(self) -> Spent:
        """Returns the questions and tokens so far."""
        ...

    @property
    def workers(self) -> int:
        """Questions on their way at a time."""
        ...

    @property
    def prompt(self) -> str:
        """Returns the version of the prompt: its name, its language, and a digest of its words."""
        ...

    def within(self, limits: Limits, locale: str) -> Verifier:
        """Returns the same verifier with other limits and language, and a total of its own."""
        ...


def turned(opinion: Opinion) -> Opinion:
    """Returns the same opinion with the two sides exchanged."""
    match opinion.says:
        case Says.A_CONTAINS_B:
            return Opinion(Says.B_CONTAINS_A, opinion.reason)
        case Says.B_CONTAINS_A:
            return Opinion(Says.A_CONTAINS_B, opinion.reason)
        case _:
            return opinion


def open_verifier(
    spec: str, limits: Limits | None = None, *, locale: str = "en"
) -> Verifier | None:
    """Returns the verifier a specification names.

    Args:
        spec: `none`, a name, or `name:argument`. Names are the entry points of the group
            `echoless.verifiers`.
        limits: How its model is asked, for a verifier that keeps to limits.
        locale: Language in which such a verifier's model is asked.

    Returns:
        The verifier, its model not loaded and its server not called yet; None for `none`.

    Raises:
        UsageError: The name is unknown, or the verifier refuses the argument.
        MissingExtra: Its library is not installed.
    """
    _, made = plugins.made("verifiers", spec, without=("none",))
    if made is None:
        return None
    verifier = cast("Verifier", made)
    if limits is None or not isinstance(verifier, Limited):
        return verifier
    return verifier.within(limits, locale)
