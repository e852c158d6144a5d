"""Learns from a person's own memories what the cosines of a model mean, for `calibrate`.

The cosines of a store alone (`workflows/calibration/store_statistics.py`) say where to begin; a
few dozen answers of the person, about pairs only meaning can decide, say where the odds are even,
how sure that is, and whether the judge merges too much or too little of these memories.
Nothing in the store is written; what is learned lies in the user's data folder
(`models/encoders/calibration.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from echoless.blocking.candidates import eligible
from echoless.core.model import Json, Memory, Pair
from echoless.core.run_notes import Tally
from echoless.matching.base import Judge
from echoless.matching.judge import LearnedJudge, open_learned
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.calibration import (
    DEFAULT_OPERATING_POINT,
    OperatingPoint,
    Own,
    PairAnswer,
    known_point,
    read_own,
    shipped_point,
    write_own,
)
from echoless.models.encoders.vector_cache import VectorCache
from echoless.stores.base import Scope, Store, check_namespace
from echoless.workflows.calibration.labels_file import Label, labelled_pairs
from echoless.workflows.calibration.logistic_fit import (
    LEAST_EACH,
    QUESTIONS,
    RESAMPLES,
    Odds,
    Sample,
    even_odds,
    fitted_shift,
    looking_point,
    sample,
    unsettled,
)
from echoless.workflows.calibration.store_statistics import (
    StorePairs,
    Undecided,
    is_short,
    text_keys,
    undecided,
    used_of,
)

__all__ = ["QUESTIONS", "Asked", "Calibrated", "Label", "Reply", "calibrate"]

_CERTAIN: Final = 5.0
"""What all derived pairs of one kind weigh, in answers."""

_SPREAD: Final = 6
_TARGETS: Final = (0.0, 1.0, -1.0, 0.0, 2.0, -2.0)
"""Log odds at which pairs are asked about, in turn, once the first answers are there."""

Reply: TypeAlias = Literal["same", "different", "skip", "quit"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a person.

    Attributes:
        pair: The two memories.
        number: Which question of this session, from 1.
        of: How many there will be at most.
    """

    pair: Undecided
    number: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The result of a calibration.

    Attributes:
        model: Identity of the model.
        memories: How many were looked at.
        pairs: How many pairs they form.
        languages: Those the model reads among theirs.
        left_out: Memories in other languages.
        derived: Certain pairs: the same, and strangers.
        answers: All answers there are, of earlier sessions too.
        new: How many of them are new.
        unused: Labelled pairs that the calibration cannot use: decided by words, or too long.
        odds: Even odds and their interval; None with too few answers of either kind.
        usable: Whether the answers settle where the detector begins looking.
        shift: By how much the decision is shifted, in log odds; above 0 merges more. None with too
            few answers of either kind about pairs that the pair model was asked about.
        point: Where the detector begins looking; of derived pairs alone it is a guess.
        problem: Why it is not settled; empty if it is.
        more: How many more answers will probably settle it.
        before: Where the detector began looking before.
        proposed: Pairs it proposes in the memories looked at: before, and now.
        ask: Pairs worth a question, closest to even odds first.
        saved: The file, or None where nothing was to be saved.
    """

    model: str
    memories: int
    pairs: int
    languages: tuple[str, ...]
    left_out: int
    derived: tuple[int, int]
    answers: tuple[PairAnswer, ...]
    new: int
    unused: int
    odds: Odds | None
    usable: bool
    shift: float | None
    point: OperatingPoint | None
    problem: str
    more: int
    before: OperatingPoint
    proposed: tuple[int, int]
    ask: tuple[Undecided, ...]
    saved: Path | None

    def to_json(self) -> dict[str, Json]:
        """Returns the answer of `calibrate --json`; see `docs/cli.md`."""
        same = sum(answer.same for answer in self.answers)
        odds = self.odds
        return {
            "model": self.model,
            "memories": self.memories,
            "pairs": self.pairs,
            "languages": list(self.languages),
            "left_out": self.left_out,
            "derived": {"same": self.derived[0], "different": self.derived[1]},
            "answers": {
                "same": same,
                "different": len(self.answers) - same,
                "new": self.new,
                "unused": self.unused,
            },
            "even": None if odds is None else round(odds.even, 4),
            "interval": None if odds is None else [round(odds.low, 4), round(odds.high, 4)],
            "usable": self.usable,
            "shift": self.shift,
            "problem": self.problem,
            "more": self.more,
            "point": {
                "before": self.before.cosine,
                "now": None if self.point is None else self.point.cosine,
            },
            "proposed": {"before": self.proposed[0], "now": self.proposed[1]},
            "ask": [{"a": p.a.id, "b": p.b.id, "cosine": p.cosine} for p in self.ask],
            "saved": None if self.saved is None else str(self.saved),
        }


def calibrate(
    store: Store,
    encoder: Encoder,
    *,
    ask: Callable[[Asked], Reply] | None = None,
    questions: int = QUESTIONS,
    labels: Sequence[Label] = (),
    namespace: str | None = None,
    cache: VectorCache | None = None,
    save: bool = True,
    tally: Tally | None = None,
) -> Calibrated:
    """Learns what the cosines of a model mean, from a store and its owner; writes no store.

    Args:
        store: Any open store.
        encoder: The model to calibrate.
        ask: Puts a question to a person; None asks nothing.
        questions: At most.
        labels: Answers given beforehand.
        namespace: Only this one.
        cache: Of vectors.
        save: False keeps nothing, answers included.
        tally: Takes what was skipped.

    Raises:
        UsageError: The namespace does not exist.
        InputError: There are too few memories, an answer names one that is not there, or what an
            earlier session kept cannot be read.
        EncoderError: The encoder failed.
        StoreReadOnly: The data folder cannot be written.
    """
    own = read_own(encoder.model) or Own(encoder.model)
    check_namespace(store, namespace)
    memories = {memory.id: memory for memory in store.scan(Scope(namespace))}
    tally = Tally() if tally is None else tally
    comparable = eligible(memories, {}, tally)
    judge = open_learned(tally, cache=cache is not None)
    session = _Session(StorePairs(comparable, encoder, cache), own, judge, save=save)
    session.take(labelled_pairs(labels, memories))
    session.interview(ask, questions)
    return session.outcome()


class _Conclusion(NamedTuple):
    """What the answers settle; the attributes are those of `Calibrated`."""

    usable: bool
    point: OperatingPoint | None
    odds: Odds | None
    problem: str
    more: int


class _Session:
    """The answers of a session, and the calibration that follows from them."""

    def __init__(self, pairs: StorePairs, own: Own, judge: Judge, *, save: bool) -> None:
        self._pairs = pairs
        self._judge = judge if isinstance(judge, LearnedJudge) else None
        self._own = own
        self._save = save
        self._answers = {answer.texts: answer for answer in own.answers}
        self._earlier = len(self._answers)
        self._skipped: set[tuple[str, str]] = set()
        self._unused = 0
        same, others = pairs.restated(), pairs.strangers()
        self._derived = len(same), len(others)
        self._known: Sample = sample(
            [(same, True, _CERTAIN / len(same)), (others, False, _CERTAIN / len(others))]
        )
        self._start = sorted(same)[len(same) // 10]

    def take(self, labels: Sequence[tuple[Memory, Memory, bool]]) -> None:
        """Takes answers given beforehand."""
        useful = [
            (a, b, same)
            for a, b, same in labels
            if is_short(a.content) and is_short(b.content) and undecided(a.content, b.content)
        ]
        self._unused += len(labels) - len(useful)
        cosines = self._pairs.cosines_of([(a.content, b.content) for a, b, _ in useful])
        for (a, b, same), cosine in zip(useful, cosines, strict=True):
            self._keep(Undecided(a, b, cosine), same)
        self._write()

    def interview(self, ask: Callable[[Asked], Reply] | None, questions: int) -> None:
        """Asks until the questions or the pairs run out, or the person quits."""
        if ask is None:
            return
        for number in range(1, questions + 1):
            pair = self._next(self._target(len(self._answers)))
            if pair is None:
                return
            reply = ask(Asked(pair, number, questions))
            if reply == "quit":
                return
            if reply == "skip":
                self._skipped.add(text_keys(pair.a, pair.b))
                continue
            self._keep(pair, reply == "same")
            self._write()

    def outcome(self) -> Calibrated:
        """Returns the result of all answers, and saves it if requested."""
        concluded = self._concluded()
        point = concluded.point
        before = known_point(self._own.model) or OperatingPoint(
            DEFAULT_OPERATING_POINT, "the default"
        )
        upcoming = tuple(self._upcoming())
        new = len(self._answers) - self._earlier
        asked = [(e.logit, e.same) for e in self._all() if e.logit is not None]
        shift = fitted_shift(asked)
        if concluded.usable or new or self._own.point is None:
            self._own = replace(self._own, point=point, shift=shift)
        saved = self._write()
        now = point or before
        return Calibrated(
            model=self._own.model,
            memories=len(self._pairs.memories),
            pairs=len(self._pairs.cosines),
            languages=tuple(sorted(self._pairs.languages)),
            left_out=self._pairs.left_out,
            derived=self._derived,
            answers=self._all(),
            new=new,
            unused=self._unused,
            odds=concluded.odds,
            usable=concluded.usable,
            shift=shift,
            point=point,
            problem=concluded.problem,
            more=concluded.more,
            before=before,
            proposed=(self._pairs.at_least(before.cosine), self._pairs.at_least(now.cosine)),
            ask=upcoming,
            saved=saved,
        )

    # -------------------------------------------------------------- answers

    def _keep(self, pair: Undecided, same: bool) -> None:
        """Adds an answer, with the log odds of the judge if it is one that learns."""
        keys = text_keys(pair.a, pair.b)
        logit = None
        if self._judge is not None:
            logit = self._judge.same_logit(Pair(pair.a, pair.b, {"semantic": pair.cosine}))
        self._answers[keys] = PairAnswer(pair.a.id, pair.b.id, keys, pair.cosine, same, logit)

    def _write(self) -> Path | None:
        """Writes all answers; each is on disk before the next question, in case of interruption."""
        self._own = replace(self._own, answers=self._all())
        return write_own(self._own) if self._save else None

    def _all(self) -> tuple[PairAnswer, ...]:
        """Returns all answers, by ids."""
        return tuple(sorted(self._answers.values(), key=lambda each: (each.a, each.b, each.texts)))

    def _odds(self, *, resamples: int) -> Odds:
        """Returns the odds that fit the answers so far."""
        answers = sorted((each.cosine, each.same) for each in self._answers.values())
        kinds = [([c for c, same in answers if same is kind], kind, 1.0) for kind in (True, False)]
        stranger = self._pairs.stranger
        return even_odds(sample(kinds), self._known, stranger, resamples=resamples)

    # -------------------------------------------------------------- questions

    def _target(self, number: int) -> float:
        """Returns the cosine to ask about: first over the whole band, then around even odds."""
        low, high = self._pairs.band()
        if number < _SPREAD:
            high = min(high, self._start)
            return low + (high - low) * (2 * number % _SPREAD + 0.5 + number // 3) / _SPREAD
        return self._odds(resamples=0).cosine(_TARGETS[number % len(_TARGETS)])

    def _next(self, target: float, also: Sequence[Undecided] = ()) -> Undecided | None:
        """Returns the pair to ask about next, or None where no more are left.

        Args:
            target: Cosine that the pair should have.
            also: Further pairs to treat as asked.
        """
        more = {text_keys(pair.a, pair.b) for pair in also}
        used = used_of([(e.a, e.b) for e in self._answers.values()])
        used.update(used_of([(pair.a.id, pair.b.id) for pair in also]))
        passed = frozenset(self._answers) | self._skipped | more
        return self._pairs.nearest(target, passed, used)

    def _upcoming(self, many: int = QUESTIONS) -> Iterator[Undecided]:
        """Yields the pairs that would be asked about next, as far as known before the answers."""
        odds = self._odds(resamples=0)
        chosen: list[Undecided] = []
        for number in range(len(self._answers), len(self._answers) + many):
            target = odds.cosine(_TARGETS[number % len(_TARGETS)])
            if number < _SPREAD:
                target = self._target(number)
            pair = self._next(target, chosen)
            if pair is None:
                return
            chosen.append(pair)
            yield pair

    # -------------------------------------------------------------- conclusions

    def _concluded(self) -> _Conclusion:
        """Returns the operating point that the answers settle, or the missing answers."""
        odds = self._odds(resamples=RESAMPLES)
        many, same = len(self._answers), sum(each.same for each in self._answers.values())
        enough = min(same, many - same) >= LEAST_EACH
        low = odds.low if enough else 1.0
        stranger = self._pairs.stranger
        source = f"calibrated by its user: {many} answers, {sum(self._derived)} derived pairs"
        point = looking_point(stranger, odds, low, source)
        read = bool(self._pairs.languages)
        problem, more = unsettled(odds, stranger, same, many, read)
        if not problem:
            return _Conclusion(True, point, odds, "", 0)
        # What is shipped rests on more than a guess; a model without a figure gets the guess.
        guess = None if shipped_point(self._own.model) else point
        return _Conclusion(False, guess, odds if enough else None, problem, more)
