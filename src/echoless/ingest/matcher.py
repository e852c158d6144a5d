"""Compares a new text with the memories it may repeat: named by detectors, read, judged.

Each detector names some, and they take turns. Similarities of different detectors have no common
scale, so their lists are interleaved, never averaged: a pair only meaning can find is looked at as
early as one only wording can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Final, TypeAlias

from echoless.blocking.pair_scores import CASE_FOLDED, CASE_KEPT
from echoless.blocking.pair_scores import LEXICAL_THRESHOLD as LEXICAL
from echoless.core.model import Memory, Pair, Update, Verdict, later
from echoless.core.profiles import DetectorUse, Profile
from echoless.core.run_notes import Tally
from echoless.core.text import normalise
from echoless.ingest.index import EXACT, KEYS, LOOSE, NORMALISED, MemoryIndex, forms
from echoless.ingest.policy import Compared, says_it_all
from echoless.matching import Judge, Layered
from echoless.matching.runner import verdicts_on
from echoless.models.encoders.base import Matrix, Vectoriser
from echoless.stores.base import Store, in_context
from echoless.stores.ledger import outdated

JUDGED: Final = 5
"""Memories judged for one text. In the replay (`benchmarks/results/replay.md`), with 40 judged,
what said all of a known text stood among the first 3 in each of 774 cases, what was updated among
the first 5 in 256 of 258."""

COPIES: Final = 60
"""Memories of the very text that are read, until some are in force as long as the new one."""

FIRST: Final = 3
"""Memories judged before the others, the only ones the pair model is asked about, in one batch.
Where one of them says it all, the others need no judge; else the rules alone judge them, for the
values they may hold."""

_LOOKED_UP: Final = ("exact", "normalised")

Ranked: TypeAlias = list[tuple[int, float]]
"""Places with similarities, closest first."""


@dataclass(frozen=True, slots=True)
class Named:
    """Memory that is worth judging.

    Attributes:
        place: In the index.
        signals: Similarity by detector, 0 to 1.
    """

    place: int
    signals: Mapping[str, float]


class Question:
    """New text, with what each detector needs to find memories like it."""

    def __init__(
        self,
        memory: Memory,
        index: MemoryIndex,
        profile: Profile,
        matrices: Sequence[Matrix],
        texts: Callable[[Sequence[str]], Mapping[str, str]],
        tally: Tally,
        *,
        elsewhere: bool = False,
    ) -> None:
        """Takes the text.

        Args:
            memory: The record it would become.
            index: Of the memories it is compared with.
            profile: Names the detectors.
            matrices: Vectors of the text, by model.
            texts: Reads the texts of memories, by id.
            tally: Takes what was not asked, and why.
            elsewhere: Find memories in other scopes than that of the text, not in its own.
        """
        self._memory, self._index, self._profile = memory, index, profile
        self._matrices, self._texts, self._tally = matrices, texts, tally
        self._allowed = index.allowed(memory, elsewhere=elsewhere)
        self._forms = forms(memory.content)
        self._matches: dict[str, list[int]] = {}

    def of_the_same_text(self) -> list[Named]:
        """Returns memories of the very text, or what the profile takes for it, without a search.

        Where every detector compares vectors the text alone says nothing.
        """
        names = {use.name for use in self._profile.detectors}
        lists: dict[str, Ranked] = {
            name: self._ranked(DetectorUse(name)) for name in _LOOKED_UP if name in names
        }
        return self._in_turns(self._with_loose(lists))

    def named(self, limit: int = JUDGED) -> list[Named]:
        """Returns the memories to judge, in the order in which detectors take turns."""
        if not self._allowed.any():
            return []
        lists = {use.name: self._ranked(use) for use in self._profile.detectors}
        return self._in_turns(self._with_loose(lists))[:limit]

    def _with_loose(self, lists: dict[str, Ranked]) -> dict[str, Ranked]:
        if self._profile.folding != "loose":
            return lists
        return {EXACT: self._keyed(LOOSE, 1.0), **lists}

    def _in_turns(self, lists: Mapping[str, Ranked]) -> list[Named]:
        signals: dict[int, dict[str, float]] = {}
        for name, ranked in lists.items():
            for place, similarity in ranked:
                signals.setdefault(place, {})[name] = similarity
        ranks = zip_longest(*lists.values())  # the first of each list, then the second of each
        order = dict.fromkeys(hit[0] for rank in ranks for hit in rank if hit is not None)
        return [Named(place, signals[place]) for place in order]

    def _ranked(self, use: DetectorUse) -> Ranked:
        match use.name:
            case "exact":
                return self._keyed(EXACT, 1.0)
            case "normalised":
                return self._normalised()
            case "lexical":
                return self._passing(use, self._by_wording, LEXICAL)
            case "semantic":
                return self._by_meaning(use)
            case "sequence":
                return self._by_sequence(use)
            case _:
                self._tally.note(
                    f"The detector {use.name!r} compares whole stores and is not asked at the door."
                )
                return []

    def _same(self, form: str) -> list[int]:
        """Returns places of the memories that are the same text in one of its forms."""
        if form not in self._matches:
            key = self._forms[KEYS.index(form)]
            self._matches[form] = self._index.same(form, key, self._allowed)
        return self._matches[form]

    def _keyed(self, form: str, similarity: float) -> Ranked:
        return self._ordered((place, similarity) for place in self._same(form))

    def _ordered(self, hits: Iterable[tuple[int, float]]) -> Ranked:
        """Returns hits closest first, ties by id: places tell in which order texts came in.

        Ids are read where there is a tie only: to read one takes as long as to sort ten hits.
        """
        ids = self._index.ids
        ranked: Ranked = []
        for _, tied in groupby(sorted(hits, key=itemgetter(1), reverse=True), key=itemgetter(1)):
            same = list(tied)
            ranked += same if len(same) == 1 else sorted(same, key=lambda hit: ids[hit[0]])
        return ranked

    def _normalised(self) -> Ranked:
        """Returns places of the same normal form; the judge, who reads both, sees the case."""
        if not normalise(self._memory.content, fold_case=True):
            return []
        exact = set(self._same(EXACT))
        same = self._keyed(NORMALISED, CASE_FOLDED)
        return [(place, CASE_KEPT if place in exact else score) for place, score in same]

    @cached_property
    def _by_wording(self) -> Ranked:
        return self._ordered(self._index.wording.nearest(self._memory.content, self._allowed))

    def _passing(self, use: DetectorUse, ranked: Ranked, default: float) -> Ranked:
        limit = default if use.threshold is None else use.threshold
        return [hit for hit in ranked if hit[1] > limit or (use.inclusive and hit[1] == limit)]

    def _by_sequence(self, use: DetectorUse) -> Ranked:
        """Compares memories of like wording; those without a word in common pass no ratio."""
        places = {self._index.ids[place]: place for place, _ in self._by_wording}
        texts = self._texts(list(places))
        from echoless.blocking.detectors import sequence

        ratios = [
            (places[id_], sequence.ratio(self._memory.content, text)) for id_, text in texts.items()
        ]
        return self._passing(use, self._ordered(ratios), sequence.DEFAULT_THRESHOLD)

    def _by_meaning(self, use: DetectorUse) -> Ranked:
        best: dict[int, float] = {}
        for matrix in self._matrices:
            for place, cosine in self._close(matrix, use):
                best[place] = max(cosine, best.get(place, 0.0))
        return self._ordered(best.items())

    def _close(self, matrix: Matrix, use: DetectorUse) -> Iterator[tuple[int, float]]:
        """Yields places and cosines of the vectors of one model that pass the threshold."""
        known = self._index.vectors.get(matrix.model)
        if known is None or known.dimensions != matrix.rows.shape[1]:
            return
        from echoless.models.encoders.base import DEFAULT_OPERATING_POINT

        limit = use.threshold or matrix.operating_point or DEFAULT_OPERATING_POINT
        close = known.nearest(matrix.rows, self._allowed)
        passing = close.one_way > limit
        if use.inclusive:
            passing |= close.one_way == limit
        hits = zip(close.places[passing].tolist(), close.both_ways[passing].tolist(), strict=True)
        yield from ((place, max(0.0, cosine)) for place, cosine in hits)


def vectors_of(memory: Memory, vectoriser: Vectoriser | None, tally: Tally) -> Sequence[Matrix]:
    """Returns vectors of a text that is about to be compared; made before any lock is taken."""
    return () if vectoriser is None else vectoriser.matrices([memory], tally)


def _as_said_later(verdict: Verdict, new: Memory, old: Memory) -> Verdict:
    """Returns a verdict in which the new text is the newer side if its time is later.

    The judge goes by words such as `now` first; in a memory they were true when it was written.
    """
    match verdict:
        case Update(newer="b") if later(new, old) == "a":
            return replace(verdict, newer="a")
        case _:
            return verdict


_TAKEN_OVER: Final = frozenset({"update", "contradiction"})
"""Verdicts of marks whose hidden memory says another thing than the visible one."""


class Comparing:
    """Asks the judge about the memories that a text may repeat. Reads only."""

    def __init__(
        self, store: Store, profile: Profile, judge: Judge, lines: Mapping[str, Memory]
    ) -> None:
        """Takes what to compare by.

        Args:
            store: Where the memories are.
            profile: Names the detectors.
            judge: Decides.
            lines: Statements that lie in no store, by id.
        """
        self._store, self._profile, self._judge, self._lines = store, profile, judge, lines
        self._rules = judge.rules if isinstance(judge, Layered) else judge

    def compared(
        self, index: MemoryIndex, memory: Memory, matrices: Sequence[Matrix], tally: Tally
    ) -> list[Compared]:
        """Returns the verdicts on a new record and the memories it may repeat.

        Memories of the very text come first, then those the detectors name, in turns. Once one of
        them says it all, the others need no judge. Where one is updated the others are judged too:
        the newest value is the one in force, and the closest memory may hold an older one.

        Args:
            index: Of the store, or of lines.
            memory: The record.
            matrices: Its vectors, by model.
            tally: Takes what was not asked, and why.
        """
        question = Question(memory, index, self._profile, matrices, self.texts, tally)
        same = question.of_the_same_text()[:COPIES]
        compared: list[Compared] = []
        done: set[int] = set()
        while not compared and len(done) < len(same):  # the first may end before the new one
            some = same[len(done) : len(done) + FIRST]
            compared = self._judged(index, memory, some)
            done.update(each.place for each in some)
        if any(map(says_it_all, compared)):
            return compared
        named = [each for each in question.named(JUDGED + len(done)) if each.place not in done]
        named = named[: JUDGED - len(compared)]
        compared += self._judged(index, memory, named[:FIRST])
        if not any(map(says_it_all, compared)):
            compared += self._judged(index, memory, named[FIRST:], by_rules=True)
        return compared

    def closest(
        self,
        index: MemoryIndex,
        memory: Memory,
        matrices: Sequence[Matrix],
        tally: Tally,
        *,
        elsewhere: bool,
    ) -> list[Compared]:
        """Returns the verdicts on a record and the closest memories of its own or other scopes.

        Args:
            index: Of the store.
            memory: The record.
            matrices: Its vectors, by model.
            tally: Takes what was not asked, and why.
            elsewhere: In other scopes than that of the record.
        """
        question = Question(
            memory, index, self._profile, matrices, self.texts, tally, elsewhere=elsewhere
        )
        return self._judged(index, memory, question.named(JUDGED if elsewhere else COPIES))

    def _judged(
        self, index: MemoryIndex, memory: Memory, named: Sequence[Named], *, by_rules: bool = False
    ) -> list[Compared]:
        if not named:
            return []
        memories = self._read([index.ids[each.place] for each in named])
        shown = self._shown(memories)
        counting = [each for each in named if index.ids[each.place] in shown]
        others = [memories[index.ids[each.place]] for each in counting]
        new = in_context(self._store, memory)
        pairs = [
            Pair(new, in_context(self._store, other), each.signals)
            for other, each in zip(others, counting, strict=True)
        ]
        judge = self._rules if by_rules else self._judge
        verdicts = verdicts_on(judge, self._profile, pairs)
        compared = (
            Compared(other, _as_said_later(verdict, memory, other), shown[other.id].id)
            for other, verdict in zip(others, verdicts, strict=True)
        )
        promise = memory.promise
        # a copy without one stands for it: else it is stored ever again
        if not (memory.vectors or self._store.makes_vectors):
            promise = replace(promise, unfound="it has no vector yet")
        return [
            each
            for each in compared
            if shown[each.memory.id].promise.covers(promise) or not says_it_all(each)
        ]

    def _shown(self, memories: Mapping[str, Memory]) -> dict[str, Memory]:
        """Returns the visible memory for each that counts, by id.

        One that is hidden because a newer word took its place says nothing any more: to say it
        again is news. One that joined its survivor by a chain is known by itself.
        """
        marks = self._store.ledger.marks_of(list(memories))
        survivors = self._store.get({m.survivor for m in marks.values()}) if marks else {}
        present = {**survivors, **memories}
        stale = {mark.duplicate for mark in outdated(marks.values(), present)}
        shown = dict(memories)
        for id_, mark in marks.items():
            if id_ in stale or mark.survivor not in present:
                continue
            if mark.verdict in _TAKEN_OVER:
                del shown[id_]
            elif mark.verdict:
                shown[id_] = present[mark.survivor]
        return shown

    def _read(self, ids: Sequence[str]) -> dict[str, Memory]:
        lines = {id_: self._lines[id_] for id_ in ids if id_ in self._lines}
        return {**self._store.get(ids), **lines} if len(lines) < len(ids) else lines

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Returns texts of memories and lines that exist, by id."""
        return {id_: memory.content for id_, memory in self._read(ids).items()}
