"""Judges the proposed pairs of a run, and counts what its budget leaves out.

Of a hundred thousand memories on few topics a detector of meaning proposes millions of pairs, and
nearly all of them are far: with little wording in common. The rules call such a pair related or
distinct, at a cost far above that of finding it. So the budget has two limits, both for each
namespace: how many far pairs are judged at all (`MOST_FAR`), and how many pairs the pair model is
asked about (`MOST_PAIRS`). `--thorough` lifts both (ADR 0027, 0029).

What is chosen depends on the memories and the settings alone, never on what an earlier run left in
a cache: a plan made after an audit does what the audit showed (law 10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.process import cpdist

from echoless.blocking.pair_scores import Floats, Ints, PairSignals
from echoless.core.claims import is_long
from echoless.core.model import Judged, Memory
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.core.threads import workers
from echoless.matching import MOST_PAIRS
from echoless.matching.fields import fields_of
from echoless.matching.questions import Questions
from echoless.matching.rule_judge import ALIKE
from echoless.matching.runner import JUDGING, judge_all, open_judge
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.workflows.dedupe.claims import Units
from echoless.workflows.dedupe.dense_blocks import judge_in_turn
from echoless.workflows.dedupe.findings import spared_note

MOST_FAR: Final = 3 * MOST_PAIRS // 2
"""Far pairs of one namespace that are judged for each detector. Between one and two and a half
times `MOST_PAIRS` the pairs found differ by one in a hundred (ADR 0027)."""

FEW_WORDS: Final = 0.8
"""Share of words in common (`rapidfuzz.fuzz.token_set_ratio`) below which a pair is far, exclusive,
where also fewer than `ALIKE` of the letters are: of the sentences, and of the texts as written. Of
21,500 labelled pairs and 151,700 proposed ones that are far, the rules merge 88 and 3 (ADR 0027).
"""

_AT_ONCE: Final = 1 << 16
"""Pairs compared between two signs of progress."""


class Judging:
    """The judging stage of one run.

    Attributes:
        judge: The judge of the profile.
        left_out: Pairs beyond the budget that nobody judged.
        questions: Of pairs of memories; counts those that the pair model was not asked about.
    """

    def __init__(
        self,
        units: Units,
        apart: AbstractSet[tuple[str, str]],
        settings: Settings,
        vectors: MemoryVectoriser | None,
        tally: Tally,
        tell: Progress,
    ) -> None:
        """Opens the judge.

        Args:
            units: The texts that are compared.
            apart: Pairs nobody is to be asked about again.
            settings: Of the run.
            vectors: Of the memories; None where the profile wants none.
            tally: Takes what was left out or fell back.
            tell: Progress.
        """
        self._units, self._apart, self._settings = units, apart, settings
        self._read = units.read
        self._tally, self._tell = tally, tell
        self.questions = Questions(None if settings.asks_all else MOST_PAIRS)
        self.judge = open_judge(settings.profile, vectors, tally, questions=self.questions)
        self._rounds = _Rounds(tell)
        self.left_out = 0

    @property
    def unasked(self) -> int:
        """Returns how many pairs the pair model was not asked about."""
        return self.left_out + self.questions.left_out.total()

    def budgeted(self, proposed: PairSignals) -> PairSignals:
        """Returns the proposed pairs without the far ones beyond the budget; counts these."""
        if self._settings.profile.judge != "full" or self._settings.asks_all:
            return proposed
        signals = within_budget(
            proposed,
            self._read,
            lambda done, whole: self._tell("comparing wording", done, whole),
            most=MOST_FAR,
        )
        self.left_out += len(proposed) - len(signals)
        return signals

    def verdicts(self, signals: PairSignals) -> list[Judged]:
        """Returns the verdicts on pairs within the budget, save those a dense memory did without.

        Args:
            signals: See `budgeted`.
        """
        # of crowded memories some pairs are never judged, so the whole is a bound there
        self._rounds = _Rounds(self._tell, 0 if signals.crowds is None else len(signals))
        judged, spared = judge_in_turn(signals, self.ask)
        if spared:
            self._tally.note(spared_note(sum(spared.values())))
        return judged

    def ask(self, some: PairSignals) -> list[Judged]:
        """Returns the verdicts on some more pairs, by ids."""
        self._rounds.begin()
        judged = judge_all(self.judge, self._read, some.blocks(), self._apart, self._rounds)
        return self._units.in_place(judged)


class _Rounds:
    """Progress of judging over all rounds; each round tells of its own pairs only."""

    def __init__(self, tell: Progress, least: int = 0) -> None:
        """Starts before the first round.

        Args:
            tell: Takes the progress over all rounds.
            least: Pairs there are at least in all rounds; 0 where that is not known.
        """
        self._tell, self._least = tell, least
        self._before = self._round = 0

    def begin(self) -> None:
        """Begins the next round."""
        self._before, self._round = self._before + self._round, 0

    def __call__(self, stage: str, done: int, whole: int) -> None:
        """Tells how far a round is."""
        if stage == JUDGING:
            self._round = done
            done, whole = self._before + done, max(self._least, self._before + whole)
        self._tell(stage, done, whole)


# ------------------------------------------------------------------ far pairs


def within_budget(
    signals: PairSignals,
    memories: Mapping[str, Memory],
    pulse: Callable[[int, int], None] = lambda _done, _whole: None,
    *,
    most: int,
) -> PairSignals:
    """Returns the pairs without the far ones beyond the budget of their namespace.

    For each detector the far pairs with its highest similarities stay; what another detector keeps
    stays as well. Pairs across namespaces share one budget. Long texts are never far.

    Args:
        signals: All pairs that were proposed.
        memories: As the judge reads them, by id.
        pulse: Told (pairs looked at, pairs in all).
        most: Far pairs of a namespace that stay for each detector.
    """
    if len(signals) <= most:
        return signals
    keep = np.ones(len(signals), dtype=np.bool_)
    wording, similarities, done = _Wording(signals, memories), signals.similarities(), 0
    for rows in _large(signals, memories, most):
        far = []
        for start in range(0, len(rows), _AT_ONCE):
            pulse(done, len(signals))
            some = rows[start : start + _AT_ONCE]
            far.append(wording.far(some))
            done += len(some)
        gone = np.concatenate(far)
        keep[gone] = False
        for values in similarities:
            measured = gone[~np.isnan(values[gone])]
            ranked = measured[np.argsort(-values[measured], kind="stable")]
            keep[ranked[:most]] = True
    return signals if keep.all() else signals.some(np.flatnonzero(keep), crowds=signals.crowds)


def _large(signals: PairSignals, memories: Mapping[str, Memory], most: int) -> Iterator[Ints]:
    """Yields the rows of the pairs of each namespace that has more than stay in any case."""
    names: dict[str | None, int] = {None: 0}  # pairs of two namespaces
    own = np.array([names.setdefault(memories[i].namespace, len(names)) for i in signals.ids])
    low, high = own[signals.low], own[signals.high]
    low[low != high] = names[None]
    pairs = np.bincount(low, minlength=len(names))
    for number in np.flatnonzero(pairs > most):
        yield np.flatnonzero(low == number)


class _Wording:
    """The texts of the pairs, and as the rules compare them."""

    def __init__(self, signals: PairSignals, memories: Mapping[str, Memory]) -> None:
        self._texts = [memories[id_].content for id_ in signals.ids]
        self._ends = signals.low, signals.high
        self._sentences: dict[int, str | None] = {}

    def far(self, rows: Ints) -> Ints:
        """Returns the rows of pairs with little wording in common."""
        unlike = rows[_share(fuzz.ratio, *self.texts(rows)) < ALIKE]
        sides = [[self._sentence(at) for at in ends[unlike].tolist()] for ends in self._ends]
        far = _share(fuzz.ratio, *sides) < ALIKE
        far &= _share(fuzz.token_set_ratio, *sides) < FEW_WORDS
        far &= np.array([None not in pair for pair in zip(*sides, strict=True)], np.bool_)
        return unlike[far]

    def texts(self, rows: Ints) -> list[list[str]]:
        """Returns the texts of both sides of some pairs."""
        return [[self._texts[at] for at in ends[rows].tolist()] for ends in self._ends]

    def _sentence(self, at: int) -> str | None:
        """Returns what the rules compare of a text, read once; None where it is long."""
        if at not in self._sentences:
            text = self._texts[at]
            sentence = None if is_long(text) else fields_of(text).sentence
            self._sentences[at] = text if sentence == text else sentence  # one string, not two
        return self._sentences[at]


def _share(
    scorer: Callable[..., float], ones: Sequence[str | None], others: Sequence[str | None]
) -> Floats:
    """Returns what the texts of each pair have in common, 0 to 1; 0 where there is none."""
    shares: Floats = cpdist(ones, others, scorer=scorer, dtype=np.float64, workers=workers())
    return shares / 100
