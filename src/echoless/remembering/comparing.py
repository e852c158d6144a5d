"""A new text against what it may repeat: named by the detectors, read from the store, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from echoless.model import Memory, Pair
from echoless.profiles import Profile
from echoless.recovery import outdated
from echoless.remembering.asking import FIRST, JUDGED, Named, Question
from echoless.remembering.index import MemoryIndex
from echoless.remembering.ruling import Compared, is_updated, says_it_all
from echoless.stores.base import Store
from echoless.tally import Tally

if TYPE_CHECKING:
    from echoless.matching.base import Judge
    from echoless.vectors.base import Matrix

_TAKEN_OVER: Final = frozenset({"update", "contradiction"})
"""Verdicts of marks whose hidden memory says another thing than the visible one."""


class Comparing:
    """Asks the judge about the memories a text may repeat. Reads only."""

    def __init__(
        self, store: Store, profile: Profile, judge: Judge, lines: Mapping[str, Memory]
    ) -> None:
        """Compare by a profile.

        Args:
            store: Where the memories are.
            profile: Names the detectors.
            judge: Decides.
            lines: Statements that lie in no store, by id.
        """
        self._store, self._profile, self._judge, self._lines = store, profile, judge, lines

    def compared(
        self, index: MemoryIndex, memory: Memory, matrices: Sequence[Matrix], tally: Tally
    ) -> list[Compared]:
        """The verdicts on a new record and what it may repeat.

        Memories of the very text come first, then those the detectors name, in turns. Once one of
        them says it all, or is updated by it, the others need no judge: the closest decide.

        Args:
            index: Of the store, or of lines.
            memory: The record.
            matrices: Its vectors, by model.
            tally: Takes what was not asked, and why.
        """
        asked = Question(memory, index, self._profile, matrices, self.texts, tally)
        compared = self._judged(index, memory, asked.of_the_same_text()[:FIRST])
        if any(map(says_it_all, compared)):
            return compared
        done = {each.memory.id for each in compared}
        named = [each for each in asked.named(JUDGED) if index.ids[each.place] not in done]
        for some in (named[:FIRST], named[FIRST:]):
            compared += self._judged(index, memory, some)
            if any(says_it_all(each) or is_updated(each) for each in compared):
                break
        return compared

    def _judged(self, index: MemoryIndex, memory: Memory, named: Sequence[Named]) -> list[Compared]:
        if not named:
            return []
        found = self._read([index.ids[each.place] for each in named])
        shown = self._shown(found)
        there = [each for each in named if index.ids[each.place] in shown]
        pairs = [Pair(memory, found[index.ids[n.place]], n.signals) for n in there]
        verdicts = self._judge.judge_all(pairs)
        return [
            Compared(pair.b, verdict, shown[pair.b.id])
            for pair, verdict in zip(pairs, verdicts, strict=True)
        ]

    def _shown(self, found: Mapping[str, Memory]) -> dict[str, str]:
        """The visible memory for each that counts, by id.

        One that is hidden because a newer word took its place says nothing any more: to say it
        again is news. One that joined its survivor by a chain is known by itself.
        """
        marks = self._store.ledger.marks_of(list(found))
        there = {**self._store.get({m.survivor for m in marks.values()}), **found} if marks else {}
        stale = {mark.duplicate for mark in outdated(marks.values(), there)}
        shown = {id_: id_ for id_ in found}
        for id_, mark in marks.items():
            if id_ in stale or mark.survivor not in there:
                continue
            if mark.verdict in _TAKEN_OVER:
                del shown[id_]
            elif mark.verdict:
                shown[id_] = mark.survivor
        return shown

    def _read(self, ids: Sequence[str]) -> dict[str, Memory]:
        lines = {id_: self._lines[id_] for id_ in ids if id_ in self._lines}
        return {**self._store.get(ids), **lines} if len(lines) < len(ids) else lines

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Texts of memories and lines that are there, by id."""
        return {id_: memory.content for id_, memory in self._read(ids).items()}
