"""wt-memory: whatever breaks at whatever step, no note is lost, and undo brings everything back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from echoless import check, open_store
from echoless.cli.main import main
from echoless.core.model import Memory
from tests.echoless_programs.shodh_stores import FOUR, A, B, D, build, texts, told

Call = Callable[..., Result]
Answer = Callable[..., dict[str, Any]]
Make = Callable[..., Path]
Break = Callable[..., None]


class Crash(BaseException):
    """The process is gone; nothing behind it runs."""


class Countdown:
    """Lets so many calls of the library through that write, and then none of any kind."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def writes(self, name: str) -> Callable[..., object]:
        def call(real: Any, *words: object, **more: object) -> object:
            if self.left <= 0:
                self.left = -1
                raise Crash
            self.left -= 1
            return getattr(real, name)(*words, **more)

        return call

    def reads(self, name: str) -> Callable[..., object]:
        def call(real: Any, *words: object) -> object:
            if self.left < 0:
                raise Crash
            return getattr(real, name)(*words)

        return call

    @property
    def faults(self) -> dict[str, Callable[..., object]]:
        return {
            **{name: self.writes(name) for name in ("remember", "forget", "flush")},
            **{name: self.reads(name) for name in ("list_memories", "get_memory")},
        }


def memories(folder: Path) -> list[Memory]:
    """All memories as echoless sees them, without what the library's own guess adds."""
    with open_store(folder) as store:
        return list(store.scan())


def undo_last(folder: Path, *options: str) -> Result:
    result = CliRunner().invoke(main, ["undo", f"shodh:///{folder}", "last", *options])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize("step", range(8))
def test_a_crash_between_any_two_steps_loses_no_note(
    wt: Call, answer: Answer, four: Path, library: Break, step: int
) -> None:
    """Remember, flush, forget the old, forget two others, flush: six steps; then it is done."""
    every = sorted(text for text, _ in FOUR)
    library(**Countdown(step).faults)
    result = wt("dedup")
    crashed = isinstance(result.exception, Crash) or "Crash" in result.output
    assert crashed == (step < 6)
    library()
    tags = {tag for note in told(four).values() for tag in note.get("tags", ())}
    assert tags == {"a", "b", "c", "d", "db"}
    assert D in texts(four)
    with open_store(four) as store:
        assert check(store).sound
    after = texts(four)
    assert after == every or len(after) == 2
    again = answer("dedup")
    assert again["deleted_count"] == (2 if after == every else 0)
    (merged,) = [n for n in told(four).values() if n["content"] != D]
    assert merged["tags"] == ["a", "b", "c", "d"]
    if again["deleted_count"] or step >= 6:
        undo_last(four)
        assert texts(four) == every


@pytest.mark.parametrize("lying", [1, 2, 3])
def test_a_forget_that_lies_once_rolls_its_cluster_back(
    answer: Answer, four: Path, library: Break, lying: int
) -> None:
    """The first forget is of the old survivor, the others are of its duplicates."""
    calls = 0

    def forget(real: Any, id_: str) -> bool:
        nonlocal calls
        calls += 1
        return True if calls == lying else bool(real.forget(id_))

    before = memories(four)
    library(forget=forget)
    found = answer("dedup", code=1)
    assert (found["deleted_count"], found["merged_count"]) == (0, 0)
    assert "did not remove" in found["errors"][0]["error"]
    assert sorted(texts(four)) == sorted(text for text, _ in FOUR)
    assert [m.id for m in memories(four)] == [m.id for m in before]
    library()
    assert answer("dedup") == {"deleted_count": 2, "merged_count": 1}


def test_one_failing_cluster_does_not_stop_the_others(
    answer: Answer, store: Make, library: Break
) -> None:
    folder = store((A, {"tags": ["x"]}), (B, {"tags": ["y"]}), (D, {"tags": ["y"]}), D + "!")

    def remember(real: Any, text: str, *words: object, **more: object) -> str:
        if "hook" in text:
            raise RuntimeError("embedding failed")
        return str(real.remember(text, *words, **more))

    library(remember=remember)
    found = answer("dedup", code=1)
    assert (found["deleted_count"], len(found["errors"])) == (1, 1)
    assert "embedding failed" in found["errors"][0]["error"]
    library()
    undo_last(folder)
    assert texts(folder) == sorted([A, B, D, D + "!"])


def test_a_library_that_folds_equal_notes_does_not_lose_the_survivor(
    answer: Answer, store: Make, library: Break
) -> None:
    """Newer versions hand back the id of a note that says the same: it is never forgotten."""
    folder = store((A, {"tags": ["x"]}), (A, {"tags": ["y"]}))

    def remember(real: Any, text: str, *_words: object, **_more: object) -> str:
        return next(str(n["id"]) for n in real.list_memories() if n["content"] == text)

    before = told(folder)
    library(remember=remember)
    found = answer("dedup", code=1)
    assert found["deleted_count"] == 0
    assert told(folder) == before


# ------------------------------------------------------------------ undo


def test_undo_brings_removed_notes_back_under_their_lasting_ids(answer: Answer, four: Path) -> None:
    before, old = memories(four), told(four)
    answer("dedup")
    said = undo_last(four).output
    assert "gives every note it takes a new id and a new time of creation" in said
    after = memories(four)
    assert after == [but_faded(m, n) for m, n in zip(before, after, strict=True)]
    new = told(four)
    assert len(new.keys() & old.keys()) == 1  # D was not touched
    for note in new.values():
        if note["content"] != D:
            (lasting,) = json.loads(note["metadata"]["echoless.replaces"])
            assert note["metadata"]["original_id"] == lasting
            assert note["metadata"]["echoless.created_at"] == old[lasting]["created_at"]
            assert note["tags"] == old[lasting]["tags"]
            assert note["experience_type"] == old[lasting]["experience_type"]


def but_faded(before: Memory, after: Memory) -> Memory:
    """The library lowers the importance of untouched notes by itself when it takes others."""
    return replace(before, importance=after.importance) if before.content == D else before


def test_dedup_after_an_undo_that_keeps_nothing_apart_finds_and_does_the_same(
    answer: Answer, four: Path
) -> None:
    first = answer("audit", "--json")
    for _ in range(3):
        assert answer("dedup") == {"deleted_count": 2, "merged_count": 1}
        undo_last(four, "--no-keep-both")
        assert answer("audit", "--json") == first
    assert len(told(four)) == 4


def test_a_recall_after_the_run_is_kept_by_undo(answer: Answer, four: Path, library: Break) -> None:
    """Counts of the merged note are those of all, and grow on."""
    survivor = answer("audit", "--json")["top_clusters"][0]["survivor_id"]
    answer("dedup")
    (new,) = [n["id"] for n in told(four).values() if n["content"] != D]
    recalled = {"access_count": 3, "last_accessed": "2027-01-01T00:00:00+00:00"}

    def counted(record: Any) -> Any:
        return {**record, **recalled} if record["id"] == new else record

    library(
        list_memories=lambda real: [counted(r) for r in real.list_memories()],
        get_memory=lambda real, id_: counted(real.get_memory(id_)),
    )
    with open_store(four) as store:
        assert store.get([survivor])[survivor].access_count == 3
    undo_last(four)
    (back,) = [n for n in told(four).values() if n["metadata"].get("original_id") == survivor]
    assert back["metadata"]["echoless.access_count"] == "3"


def test_counts_and_importance_are_carried_over_to_the_new_note(
    answer: Answer, store: Make
) -> None:
    """Metadata keys of an earlier merge count as the note's own."""
    kept = {"echoless.access_count": "4", "echoless.importance": "0.9"}
    folder = store((A, {"metadata": kept, "tags": ["x"]}), (B, {"metadata": {**kept, "k": "v"}}))
    (cluster,) = answer("audit", "--json")["top_clusters"]
    assert cluster["preview"] == A
    answer("dedup")
    (note,) = told(folder).values()
    assert note["metadata"]["echoless.access_count"] == "8"
    assert note["metadata"]["echoless.importance"] == "0.9"
    assert note["metadata"]["echoless.created_at"] < note["created_at"]
    assert note["metadata"]["k"] == "v"
    (memory,) = memories(folder)
    assert (memory.access_count, memory.importance) == (8, 0.9)


# ------------------------------------------------------------------ hundreds of notes

TOPICS = (
    "The nightly build fails when the cache volume is full",
    "Tests of the parser need the fixture folder mounted",
    "Review requests go to the platform channel first",
    "The staging database is reset every Sunday evening",
    "Feature flags are read once at start-up",
    "Log lines longer than a page are cut by the collector",
)


def messy() -> list[tuple[str, dict[str, object]]]:
    """240 notes as hooks leave them: copies, small edits, other numbers, lone ones, empty ones."""
    rng = random.Random(11)
    notes: list[tuple[str, dict[str, object]]] = []
    for number in range(240):
        topic = TOPICS[number % len(TOPICS)]
        text = (
            topic + ".",
            topic,
            topic + "!",
            topic.lower() + ".",
            f"{topic} since release {number % 5}.",
            f"note {rng.choice('abcdefgh') * 9} {rng.randint(100, 999)}",
            "   ",
        )[rng.choices(range(7), weights=(40, 20, 10, 10, 10, 8, 2))[0]]
        more: dict[str, object] = {
            "memory_type": rng.choice(["Learning", "Decision", "Context"]),
            "tags": rng.sample(["hook", "auto", "ci", "ops", "ü"], rng.randint(0, 3)),
            "metadata": {rng.choice("klm"): str(rng.randint(0, 3))} if rng.random() < 0.3 else {},
        }
        notes.append((text, more))
    return notes


@pytest.fixture(scope="module")
def hundreds(swift: Path) -> Path:
    folder = swift / "messy"
    build(folder, messy())
    return folder


def everything(folder: Path) -> dict[str, tuple[Any, ...]]:
    """What each note says, by its lasting id, apart from the library's fading importance."""
    return {
        m.id: (m.content, m.type, m.tags, dict(m.metadata), m.access_count, m.created_at, m.extra)
        for m in memories(folder)
    }


def known(notes: dict[str, tuple[Any, ...]], place: int) -> set[str]:
    return {word for note in notes.values() for word in note[place]}


def test_hundreds_of_messy_notes_are_cleaned_and_come_back(answer: Answer, hundreds: Path) -> None:
    words = ("--store", str(hundreds))
    before = everything(hundreds)
    planned = answer("dedup", "--dry-run", *words)
    assert planned["would_delete"] > 150
    assert planned["held"] > 0
    assert everything(hundreds) == before
    done = answer("dedup", *words)
    assert done["deleted_count"] == planned["would_delete"]
    after = everything(hundreds)
    assert len(after) == 240 - done["deleted_count"]
    assert {tag for v in after.values() for tag in v[2]} == {
        t for v in before.values() for t in v[2]
    }
    assert {k for v in after.values() for k in v[3]} == {k for v in before.values() for k in v[3]}
    assert answer("dedup", *words)["deleted_count"] == 0
    undo_last(hundreds)
    assert everything(hundreds) == before
    with open_store(hundreds) as store:
        assert check(store, mend=False).sound
    assert len(told(hundreds)) == 240
