"""Compares a new text with the memories it may repeat: named by detectors, read, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from echoless.core.model import Memory, Pair
from echoless.core.profiles import Profile
from echoless.core.run_notes import Tally
from echoless.execution.recovery import outdated
from echoless.ingest.candidates import FIRST, JUDGED, Named, Question
from echoless.ingest.index import MemoryIndex
from echoless.ingest.policy import Compared, is_updated, says_it_all
from echoless.stores.base import Store

if TYPE_CHECKING:
    from echoless.matching.base import Judge
    from echoless.models.encoders.base import Matrix

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

    def compared(
        self, index: MemoryIndex, memory: Memory, matrices: Sequence[Matrix], tally: Tally
    ) -> list[Compared]:
        """Returns the verdicts on a new record and the memories it may repeat.

        Memories of the very text come first, then those the detectors name, in turns. Once one of
        them says it all, or is updated by it, the others need no judge: the closest decide.

        Args:
            index: Of the store, or of lines.
            memory: The record.
            matrices: Its vectors, by model.
            tally: Takes what was not asked, and why.
        """
        question = Question(memory, index, self._profile, matrices, self.texts, tally)
        compared = self._judged(index, memory, question.of_the_same_text()[:FIRST])
        if any(map(says_it_all, compared)):
            return compared
        done = {each.memory.id for each in compared}
        named = [each for each in question.named(JUDGED) if index.ids[each.place] not in done]
        for some in (named[:FIRST], named[FIRST:]):
            compared += self._judged(index, memory, some)
            if any(says_it_all(each) or is_updated(each) for each in compared):
                break
        return compared

    def _judged(self, index: MemoryIndex, memory: Memory, named: Sequence[Named]) -> list[Compared]:
        if not named:
            return []
        memories = self._read([index.ids[each.place] for each in named])
        shown = self._shown(memories)
        counting = [each for each in named if index.ids[each.place] in shown]
        pairs = [Pair(memory, memories[index.ids[n.place]], n.signals) for n in counting]
        verdicts = self._judge.judge_all(pairs)
        return [
            Compared(pair.b, verdict, shown[pair.b.id])
            for pair, verdict in zip(pairs, verdicts, strict=True)
        ]

    def _shown(self, memories: Mapping[str, Memory]) -> dict[str, str]:
        """Returns the visible memory for each that counts, by id.

        One that is hidden because a newer word took its place says nothing any more: to say it
        again is news. One that joined its survivor by a chain is known by itself.
        """
        marks = self._store.ledger.marks_of(list(memories))
        survivors = self._store.get({m.survivor for m in marks.values()}) if marks else {}
        present = {**survivors, **memories}
        stale = {mark.duplicate for mark in outdated(marks.values(), present)}
        shown = {id_: id_ for id_ in memories}
        for id_, mark in marks.items():
            if id_ in stale or mark.survivor not in present:
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
        """Returns texts of memories and lines that exist, by id."""
        return {id_: memory.content for id_, memory in self._read(ids).items()}
