"""The opinion slot: which unsure pairs a verifier is asked about, and what its word does.

```
not Unsure, or Unsure with a veto ....... never asked
more than the questions of a run ........ not asked, counted; the closest pairs come first
too long, or a text speaks to the model . not asked, counted
after the verifier failed, or
beyond the limits of its model .......... not asked, counted
same .................................... Duplicate
one contains the other .................. Subsumes
different ............................... Related
unsure .................................. Unsure, with its reason
no usable answer ........................ Unsure, counted as failed
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Protocol, TypeAlias, assert_never, cast, runtime_checkable

from echoless.core import plugins
from echoless.core.choices import Limits
from echoless.core.errors import VerifierError
from echoless.core.model import (
    Duplicate,
    Evidence,
    Json,
    Memory,
    Pair,
    Related,
    Subsumes,
    Unsure,
    Verdict,
)
from echoless.core.run_notes import Tally
from echoless.core.text import valid_unicode
from echoless.models.llm.counted_model import Spent
from echoless.models.llm.prompt_text import speaks_to_model


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


@runtime_checkable
class Limited(Protocol):
    """A verifier over a language model, with limits and a count of its tokens."""

    @property
    def spent(self) -> Spent:
        """Returns the questions and tokens so far."""

    @property
    def workers(self) -> int:
        """Questions on their way at a time."""

    @property
    def prompt(self) -> str:
        """Returns the version of the prompt: its name, its language, and a digest of its words."""

    def within(self, limits: Limits, locale: str) -> Verifier:
        """Returns the same verifier with other limits and language, and a total of its own."""


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


RULE: Final = "verifier-says-same"
"""Rule of the evidence where a verifier's word made the merge."""

BATCH: Final = 8
"""Pairs handed over at a time, or as many as are on their way at once; progress is told between."""

GIVE_UP: Final = 5
"""Questions in a row without a usable answer after which no more are asked: with retries and a
timeout of a minute each, a server that hangs would otherwise hold a run of 200 for days."""

LONGEST: Final = 20_000
"""Characters of both texts together. The judge reads no longer ones word by word either."""

FAILED: Final = "verifier gave no usable opinion"
BEYOND: Final = "not put to the verifier: beyond the questions of a run"
TOO_LONG: Final = "not put to the verifier: too long"
ADDRESSED: Final = "not put to the verifier: a text speaks to the model"
GIVEN_UP: Final = "not put to the verifier: it had failed too often"

_REASON: Final = 200

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """How a consultation went, in pairs.

    Attributes:
        verifier: Its name.
        asked: Put to the verifier; the sum of the next two.
        answered: Got an opinion, `unsure` included.
        failed: Got none.
        left_out: Unsure without a veto, and not asked.
        prompt: Version of the prompt, of a verifier over a language model.
        spent: Questions and tokens of the model.
    """

    verifier: str
    asked: int
    answered: int
    failed: int
    left_out: int
    prompt: str = ""
    spent: Spent | None = None

    def to_json(self) -> dict[str, Json]:
        """As in `--json`."""
        names = ("verifier", "asked", "answered", "failed", "left_out")
        counts: dict[str, Json] = {name: getattr(self, name) for name in names}
        if self.spent is not None:
            counts |= {"prompt": self.prompt, "spent": self.spent.to_json()}
        return counts


class Consultation:
    """Sends the unsure pairs of one run to one verifier."""

    def __init__(self, verifier: Verifier, *, limit: int, progress: Progress | None = None) -> None:
        """Asks nothing yet.

        Args:
            verifier: Whom to ask.
            limit: Pairs asked about in all, however often `settle` is called.
            progress: Told (pairs asked, pairs to ask) of a call.
        """
        self._verifier = verifier
        self._limit = limit
        self._progress = progress or (lambda _done, _all: None)
        self._answered = self._failed = self._left_out = self._in_a_row = 0
        self._broken = self._first_failure = ""

    def settle(
        self, pairs: Sequence[Pair], verdicts: Sequence[Verdict], tally: Tally
    ) -> list[Verdict]:
        """Verdicts with the verifier's word on those that are open.

        Which pairs are asked about does not depend on their order, nor does it matter which memory
        of a pair is called a.

        Args:
            pairs: What was judged.
            verdicts: The judge's, in the same order.
            tally: Takes ids of pairs that got no opinion, by reason.

        Raises:
            VerifierError: The verifier failed before it had answered anything.
        """
        settled = list(verdicts)
        chosen = self._choose(pairs, verdicts, tally)
        batch = max(BATCH, self._verifier.workers) if isinstance(self._verifier, Limited) else BATCH
        for start in range(0, len(chosen), batch):
            self._progress(start, len(chosen))
            places = chosen[start : start + batch]
            if self._broken or self._in_a_row >= GIVE_UP:
                self._leave_out(GIVEN_UP, [pairs[place] for place in places], tally)
                continue
            for place, reply in zip(
                places, self._ask([pairs[place] for place in places]), strict=True
            ):
                settled[place] = self._take(reply, pairs[place], verdicts[place], tally)
        self._progress(len(chosen), len(chosen))
        return settled

    @property
    def heard(self) -> Heard:
        """Returns the counts of the consultation so far."""
        limited = self._verifier if isinstance(self._verifier, Limited) else None
        return Heard(
            verifier=self._verifier.name,
            asked=self._answered + self._failed,
            answered=self._answered,
            failed=self._failed,
            left_out=self._left_out,
            prompt=limited.prompt if limited else "",
            spent=limited.spent if limited else None,
        )

    def report(self, tally: Tally) -> None:
        """Puts the counts, and what went wrong first, into the tally."""
        heard = self.heard
        tally.note(
            f"The verifier {heard.verifier} was asked about {heard.asked} unsure pairs: "
            f"{heard.answered} answered, {heard.failed} failed; {heard.left_out} not asked."
        )
        trouble = self._broken or self._first_failure
        if trouble:
            tally.note(f"The verifier {heard.verifier} failed: {trouble}")
        if heard.spent is not None:
            tally.note(heard.spent.line())

    def _choose(
        self, pairs: Sequence[Pair], verdicts: Sequence[Verdict], tally: Tally
    ) -> list[int]:
        """Places of the pairs to ask about, closest first."""
        open_: list[int] = []
        too_long: list[int] = []
        addressed: list[int] = []
        for place, verdict in enumerate(verdicts):
            if isinstance(verdict, Unsure) and not verdict.evidence.veto:
                texts = (pairs[place].a.content, pairs[place].b.content)
                if sum(map(len, texts)) > LONGEST:
                    too_long.append(place)
                elif any(map(speaks_to_model, texts)):
                    addressed.append(place)
                else:
                    open_.append(place)
        open_.sort(key=lambda place: _priority(pairs[place], verdicts[place]))
        left = max(0, self._limit - self._answered - self._failed)
        self._leave_out(TOO_LONG, [pairs[place] for place in too_long], tally)
        self._leave_out(ADDRESSED, [pairs[place] for place in addressed], tally)
        self._leave_out(BEYOND, [pairs[place] for place in open_[left:]], tally)
        return open_[:left]

    def _leave_out(self, reason: str, pairs: Sequence[Pair], tally: Tally) -> None:
        self._left_out += len(pairs)
        for pair in pairs:
            tally.skip(reason, pair.a.id, pair.b.id)

    def _ask(self, pairs: Sequence[Pair]) -> list[Reply]:
        """Replies with the sides as in the pairs; the smaller text is always shown first."""
        swapped = [pair.b.content < pair.a.content for pair in pairs]
        shown = [
            (pair.b, pair.a) if swap else (pair.a, pair.b)
            for pair, swap in zip(pairs, swapped, strict=True)
        ]
        try:
            replies = self._verifier.verify(shown)
        except VerifierError as problem:
            if not self._answered:
                raise
            self._broken = str(problem)
            return [NoOpinion(self._broken)] * len(pairs)
        if len(replies) != len(pairs):
            raise VerifierError(
                f"The verifier {self._verifier.name!r} gave {len(replies)} replies to {len(pairs)} "
                "questions. It is broken; choose another."
            )
        return [
            turned(reply) if swap and isinstance(reply, Opinion) else reply
            for reply, swap in zip(replies, swapped, strict=True)
        ]

    def _take(self, reply: Reply, pair: Pair, verdict: Verdict, tally: Tally) -> Verdict:
        match reply:
            case NoOpinion(reason=reason):
                self._failed += 1
                self._in_a_row += 1
                self._first_failure = self._first_failure or _one_line(reason)
                tally.skip(FAILED, pair.a.id, pair.b.id)
                return verdict
            case Opinion():
                self._answered += 1
                self._in_a_row = 0
                return _with_opinion(verdict.evidence, reply, self._verifier.name)
            case _:
                assert_never(reply)


def _priority(pair: Pair, verdict: Verdict) -> tuple[float | str, ...]:
    texts = sorted((pair.a.content, pair.b.content))
    ids = sorted((pair.a.id, pair.b.id))
    return (-verdict.evidence.similarity, *texts, *ids)


def _with_opinion(old: Evidence, opinion: Opinion, name: str) -> Verdict:
    words = "one contains the other" if "contains" in opinion.says.value else opinion.says.value
    said = ": ".join(filter(None, (f"{name} says {words}", _one_line(opinion.reason))))
    merged = replace(old, rule=RULE, note=said)
    new = replace(old, note="; ".join(filter(None, (old.note, said))))
    match opinion.says:
        case Says.SAME:
            return Duplicate(merged)
        case Says.A_CONTAINS_B:
            return Subsumes(merged, "a")
        case Says.B_CONTAINS_A:
            return Subsumes(merged, "b")
        case Says.DIFFERENT:
            return Related(new)
        case Says.UNSURE:
            return Unsure(new)
        case _:
            assert_never(opinion.says)


def _one_line(text: str) -> str:
    """Returns a foreign text in the form of the ledger: valid Unicode, one line, cut."""
    flat = " ".join(valid_unicode(text).replace("\0", " ").split())
    return flat if len(flat) <= _REASON else flat[: _REASON - 1] + "…"
