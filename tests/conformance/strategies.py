"""Hypothesis strategies for memories: messy ones, and small worlds full of repetition."""

from __future__ import annotations

import struct
from dataclasses import replace

from benchmarks.fuzz.texts import TEXTS
from hypothesis import strategies as st

from echoless.core.model import Json, Link, Memory, Provenance, Vector

_TEXT = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
)
_WORDS = st.text(alphabet="abcdefgh-ß東京 1", min_size=1, max_size=8)
_TIMES = st.one_of(
    st.none(),
    st.datetimes().map(lambda t: t.isoformat() + "Z"),
    st.sampled_from(["2026-06-11 23:59:00", "2026-06-11T04:10:00.000000001+00:00", "yesterday"]),
)
_JSON: st.SearchStrategy[Json] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        _TEXT,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(_WORDS, inner, max_size=2)
    ),
    max_leaves=3,
)
_VECTORS = st.builds(
    lambda model, numbers: Vector(model, struct.pack(f"<{len(numbers)}f", *numbers)),
    st.sampled_from(["model-a@1", "model-b@2"]),
    st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3),
)

BASES = (
    "The deploy script copies build artefacts to the staging host before running migrations.",
    "The deploy script copies build artefacts to the staging host before running migrations",
    "**The deploy script copies build artefacts to the staging host before running migrations.**",
    "The backup job starts at 02:15 and keeps 14 daily copies.",
    "The backup job starts at 02:15 and keeps 15 daily copies.",
    "The cache is shared between workers.",
    "The cache is not shared between workers.",
    "決済サーバーを止める前に、加盟店へ停止の通知を送らなければならない。",
    "Der Cache wird beim Start geleert.",
    "",
    "   ",
)
"""Texts: some are duplicates, some only look alike, and some are empty."""


def memories(content: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Memory]:
    """Returns a strategy for one memory with any metadata; the caller makes its id unique."""
    return st.builds(
        Memory,
        id=st.just("?"),
        content=_TEXT if content is None else content,
        namespace=st.sampled_from(["", "home", "work/東京"]),
        type=st.sampled_from(["", "note", "decision"]),
        tags=st.lists(_WORDS, max_size=3).map(tuple),
        importance=st.one_of(st.none(), st.integers(1, 10), st.floats(0, 1)),
        access_count=st.integers(0, 5),
        created_at=_TIMES,
        updated_at=_TIMES,
        last_accessed=_TIMES,
        provenance=st.sampled_from(Provenance),
        links=st.lists(
            st.builds(Link, st.sampled_from(["m-0", "m-1", "m-2", "elsewhere"]), _WORDS), max_size=2
        ).map(tuple),
        pinned=st.booleans(),
        metadata=st.dictionaries(_WORDS, _JSON, max_size=2),
        vectors=st.lists(_VECTORS, max_size=2, unique_by=lambda v: v.model).map(
            lambda vectors: tuple(sorted(vectors, key=lambda v: v.model))
        ),
        extra=st.dictionaries(st.sampled_from(["cluster", "seit", "x-y"]), _JSON, max_size=2),
    )


def worlds(
    max_size: int = 8, *, pinned: bool = True, content: st.SearchStrategy[str] | None = None
) -> st.SearchStrategy[list[Memory]]:
    """Returns a strategy for lists of memories: texts from `BASES`, ids from `m-0` on.

    Args:
        max_size: At most so many memories.
        pinned: Whether some may be pinned.
        content: Strategy for other texts than `BASES`, such as `hostile_texts()`.
    """
    one = memories(st.sampled_from(BASES) if content is None else content)
    return st.lists(one, max_size=max_size).map(
        lambda drawn: [
            replace(memory, id=f"m-{number}", pinned=memory.pinned and pinned)
            for number, memory in enumerate(drawn)
        ]
    )


def hostile_texts() -> st.SearchStrategy[str]:
    """Returns a strategy for texts that programs often handle badly; see `hostile.TEXTS`.

    A store keeps each of them or refuses it with a message; it never keeps another text. Give it
    to `memories` or `worlds`.
    """
    odd = st.sampled_from(TEXTS)
    return st.one_of(
        odd,
        st.builds(lambda a, b: f"{a} {b}", odd, st.sampled_from(BASES)),
        st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60),
    )
