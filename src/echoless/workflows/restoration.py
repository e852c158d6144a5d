"""Brings claims that were lost between two states of a memory back into the later one.

A memory that is gone comes back whole. In one that is still there each lost claim is put where it
stood: behind the claim it followed. So what lost nothing but claims becomes what it was, byte by
byte; `undo` takes the run back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from echoless.core.claims import split_claims
from echoless.core.groups import grouped
from echoless.core.model import Memory
from echoless.execution.insertions import add
from echoless.stores.base import Store
from echoless.workflows.comparison import Comparison, Fate, Said

WHY = "lost since an earlier state"


@dataclass(frozen=True, slots=True)
class Restoration:
    """What would bring lost claims back.

    Attributes:
        new: Memories that are gone, as they were.
        changed: Memories that are there, with the claims they lost.
        claims: How many claims come back.
    """

    new: tuple[Memory, ...] = ()
    changed: tuple[Memory, ...] = ()
    claims: int = 0


def restoration(before: Store, after: Store, made: Comparison) -> Restoration:
    """Returns what would bring the lost claims of a comparison back; reads only.

    Args:
        before: The earlier state.
        after: The later one.
        made: What became of the claims.
    """
    lost = [each.before for each in made.of(Fate.LOST) if each.before is not None]
    by_memory = grouped((said.memory, said) for said in lost)
    old, now = before.get(by_memory), after.get(by_memory)
    return Restoration(
        tuple(replace(old[id_], vectors=()) for id_ in by_memory if id_ not in now),
        tuple(_with(now[id_], old[id_], by_memory[id_]) for id_ in by_memory if id_ in now),
        len(lost),
    )


def restore(after: Store, wanted: Restoration) -> str:
    """Writes a restoration as one run and returns its id, for `undo`.

    Args:
        after: The later state.
        wanted: Not empty.

    Raises:
        EcholessError: As `insertions.add`; then nothing was written.
    """
    return add(after, wanted.new, profile=after.profile, why=WHY, changed=wanted.changed)


def _with(memory: Memory, old: Memory, lost: Iterable[Said]) -> Memory:
    """Returns a memory with claims of its earlier state, each behind the one it followed."""
    text = inserted(memory.content, old.content, [said.span for said in lost])
    return replace(memory, content=text, vectors=())


def inserted(text: str, old: str, spans: Sequence[tuple[int, int]]) -> str:
    """Returns a text with parts of an earlier one, each behind what it followed there.

    Args:
        text: The later text.
        old: The earlier one.
        spans: Claims of the earlier text, which the later one lacks.
    """
    wanted, done, rest = {*spans}, "", text
    for claim in split_claims(old):
        said = old[claim.start : claim.end]
        if claim.span in wanted:
            if done and not done[-1].isspace() and old[claim.start - 1] == "\n":
                done += "\n"
            if rest and not said[-1].isspace():
                said += "\n"
            while rest.startswith("\n") and said.endswith("\n\n"):
                rest = rest[1:]  # a line that was taken out left the blank ones around it
            done += said
        elif said.rstrip() in rest:
            end = rest.index(said.rstrip()) + len(said.rstrip())
            blank = len(said) - len(said.rstrip())
            end += len(rest[end : end + blank]) - len(rest[end : end + blank].lstrip())
            done, rest = done + rest[:end], rest[end:]
    return done + rest
