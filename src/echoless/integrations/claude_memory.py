"""What the memories of a project repeat or replace, for the hooks of Claude Code; reads only.

Several memories (a folder of notes, `CLAUDE.md`, `AGENTS.md`) are compared as one store that is
made in memory and holds what is visible in each. Scopes stay apart, as everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from echoless.core.errors import EcholessError
from echoless.core.model import Contradiction, Judged, Memory, Subsumes, Update, flipped
from echoless.core.settings import Choices, layered, resolve
from echoless.matching.runner import left_off
from echoless.stores import open_store
from echoless.stores.base import Store, in_context
from echoless.stores.files import refuse_leaving
from echoless.stores.ledger import Kept
from echoless.stores.live import MemoryList
from echoless.workflows.dedupe.pipeline import find

MOST: Final = 2_000
"""Largest store, in memories, that a hook reads within its second; it leaves out larger ones."""

BY_MEANING: Final = 500
"""Largest store that the start of a session compares by meaning: 5 s of a processor, once."""

WORTH_SAYING: Final = 3
WORTH_SHARE: Final = 0.05
"""Fewest redundant memories, and least share of a memory, that a person is told of."""


Relation = Literal["said already in", "this says more than", "this replaces"]
"""What was written replaces a memory with another value of the same: it was said later."""


@dataclass(frozen=True, slots=True)
class MemoryShare:
    """Repetition in one memory of a project.

    Attributes:
        path: The file or folder.
        redundant: Number of memories that repeat another memory of the file.
        visible: Number of visible memories.
    """

    path: Path
    redundant: int
    visible: int


@dataclass(frozen=True, slots=True)
class StandingMemory:
    """A memory with its file and line.

    Attributes:
        memory: With the id its own store knows it by.
        path: The file, or the store where it knows no files.
        line: From 1; 0 where it is unknown.
    """

    memory: Memory
    path: Path
    line: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """Something that was written, and a memory that says it already or says another value.

    Attributes:
        written: What was written.
        earlier: The other memory.
        relation: What the written one is to the other.
        evidence: Why, in one line, with the words of the written one first.
    """

    written: StandingMemory
    earlier: StandingMemory
    relation: Relation
    evidence: str


@dataclass(slots=True)
class _Reading:
    """What was read of the memories of a project.

    Attributes:
        project: Its folder; what leads out of it by a link is left out.
        memories: By an id that no two stores share.
        standing: The same memories with their own ids and places.
        apart: Pairs of these ids that a person keeps apart.
        troubles: Why a memory was left out, one sentence each.
    """

    project: Path
    memories: dict[str, Memory] = field(default_factory=dict)
    standing: dict[str, StandingMemory] = field(default_factory=dict)
    apart: list[Kept] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def take(self, number: int, path: Path) -> None:
        """Reads one memory of a project; one that cannot be read becomes a trouble."""
        try:
            refuse_leaving(path, self.project)
            with open_store(path) as store:
                if _is_too_large(store, path, self.troubles):
                    return
                hidden = store.ledger.marks().keys()
                for memory in store.scan():
                    if memory.id in hidden:
                        continue
                    id_ = f"{number}:{memory.id}"
                    place = store.place(memory.id)
                    judged = in_context(store, memory)
                    self.memories[id_] = replace(judged, id=id_, links=(), native={})
                    self.standing[id_] = StandingMemory(memory, *(place or (path, 0)))
                for pair in store.ledger.kept():
                    self.apart.append(replace(pair, a=f"{number}:{pair.a}", b=f"{number}:{pair.b}"))
        except EcholessError as problem:
            self.troubles.append(f"{path} was left out: {problem}")

    def beside(self, written: Collection[str]) -> dict[str, Memory]:
        """Returns the memories of the stores in which something was written, scopes apart."""
        stores = {_number(id_) for id_ in written}
        return {id_: m for id_, m in self.memories.items() if _number(id_) in stores}

    def elsewhere(self, written: Collection[str]) -> dict[str, Memory]:
        """Returns the written memories and the memories of other stores, in one scope.

        Scopes of different files, such as their headings, are not the same ones.
        """
        stores = {_number(id_) for id_ in written}
        return {
            id_: replace(memory, namespace="")
            for id_, memory in self.memories.items()
            if id_ in written or _number(id_) not in stores
        }

    def is_one(self, a: str, b: str) -> bool:
        """Returns whether two ids stand for one memory of a file that two stores read."""
        places = {(s.path.resolve(), s.line) for s in (self.standing[a], self.standing[b])}
        return len(places) == 1 and bool(self.standing[a].line)


def _number(id_: str) -> str:
    """Returns the number of the store a memory comes from."""
    return id_.partition(":")[0]


def _is_too_large(store: Store, path: Path, troubles: list[str]) -> bool:
    """Checks whether a hook has no time for a store, and says so."""
    if (held := store.count()) <= MOST:
        return False
    troubles.append(
        f"{path} was left out: it holds {held:,} memories, and a hook looks at {MOST:,} at most. "
        f"`echoless audit {path}` looks at all."
    )
    return True


def shares(
    paths: Iterable[Path], choices: Choices, project: Path
) -> tuple[list[MemoryShare], list[str]]:
    """Returns how much of each memory repeats another one in it.

    Args:
        paths: Files and folders.
        choices: Settings that were chosen.
        project: Its folder; what leads out of it by a link is left out.

    Returns:
        Those with repetition that is worth a word, and what was left out and why.
    """
    made: list[MemoryShare] = []
    troubles = _without_vectors(choices)
    for path in paths:
        try:
            refuse_leaving(path, project)
            with open_store(path) as store:
                if _is_too_large(store, path, troubles):
                    continue
                chosen = layered(choices)
                if store.count() > BY_MEANING and choices.encoder is None:
                    chosen = replace(chosen, encoder="none")
                    troubles.append(
                        f"{path}: of more than {BY_MEANING} memories only words are compared."
                    )
                dedup = find(store, resolve(chosen, proposed=store.profile))
        except EcholessError as problem:
            troubles.append(f"{path} was left out: {problem}")
            continue
        visible = len(dedup.memories) - len(dedup.marked)
        if dedup.redundant >= max(WORTH_SAYING, WORTH_SHARE * visible):
            made.append(MemoryShare(path, dedup.redundant, visible))
    return sorted(made, key=lambda share: -share.redundant), troubles


def _without_vectors(choices: Choices) -> list[str]:
    """Returns that only words are compared, where a person did not choose so; else nothing."""
    settings = resolve(layered(choices))
    return [off] if settings.encoder != "none" and (off := left_off(settings)) else []


def repeats(
    file: Path,
    lines: Collection[int] | None,
    paths: Iterable[Path],
    choices: Choices,
    project: Path,
) -> tuple[list[Repeat], list[str]]:
    """Returns what was written into a file and repeats or replaces a memory of the project.

    Args:
        file: The file that was written.
        lines: Lines that were written; None for all of them.
        paths: The memories of the project, that of the file among them.
        choices: Settings that were chosen.
        project: As for `shares`.

    Returns:
        The repetitions, sorted by place, and why memories were left out.
    """
    reading = _Reading(project, troubles=_without_vectors(choices))
    for number, path in enumerate(paths):
        reading.take(number, path)
    written = _written(reading.standing, file, lines)
    if not written:
        return [], reading.troubles
    made = [
        Repeat(
            reading.standing[a],
            reading.standing[b],
            _relation(a, judged),
            (judged.verdict if judged.a == a else flipped(judged.verdict)).evidence.line(),
        )
        for memories, same in ((reading.beside(written), True), (reading.elsewhere(written), False))
        for a, b, judged in _pairs_in(memories, reading.apart, written, choices)
        if (_number(a) == _number(b)) is same and not reading.is_one(a, b)
    ]
    made.sort(key=lambda each: (str(each.written.path), each.written.line, each.earlier.line))
    return made, reading.troubles


def _written(
    standing: Mapping[str, StandingMemory], file: Path, lines: Collection[int] | None
) -> frozenset[str]:
    """Returns the memories that stand, in part or whole, in the lines that were written.

    A memory ends where the next one of its file begins.
    """
    real = file.resolve()
    inside = sorted(
        (each.line, id_) for id_, each in standing.items() if each.path.resolve() == real
    )
    if lines is None or not inside:
        return frozenset(id_ for _, id_ in inside)
    last = max(lines, default=0) + 1
    ends = [*(line for line, _ in inside[1:]), last]
    return frozenset(
        id_
        for (line, id_), end in zip(inside, ends, strict=True)
        if not line or any(line <= each < max(end, line + 1) for each in lines)
    )


def _pairs_in(
    memories: Mapping[str, Memory],
    apart: Sequence[Kept],
    written: Collection[str],
    choices: Choices,
) -> Iterator[tuple[str, str, Judged]]:
    """Yields what was written with a memory of the same or of another value, by a direct verdict.

    Of two that were both written the survivor counts as the earlier one. Of two values that were
    both written neither replaces the other.
    """
    if len(memories) < 2:
        return
    with MemoryList(memories.values()) as joined:
        joined.url = "memory:///"
        joined.ledger.keep(apart)
        settings = resolve(layered(choices), proposed=joined.profile)
        findings = find(joined, settings, touching=lambda memory: memory.id in written)
    for group in findings.groups:
        for member in group.members:
            if member.judged is None:
                continue
            if member.id in written:
                yield member.id, group.survivor, member.judged
            elif group.survivor in written:
                yield group.survivor, member.id, member.judged
    for judged in findings.held:
        one, other = sorted((judged.a, judged.b), key=lambda id_: id_ not in written)
        if isinstance(judged.verdict, Update | Contradiction) and other not in written:
            yield one, other, judged


def _relation(written: str, judged: Judged) -> Relation:
    """Returns what was written, by its id, is to the other memory of a pair."""
    match judged.verdict:
        case Update() | Contradiction():
            return "this replaces"
        case Subsumes(superset=side) if written == (judged.a if side == "a" else judged.b):
            return "this says more than"
        case _:
            return "said already in"
