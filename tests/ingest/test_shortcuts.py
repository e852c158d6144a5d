"""The guard's shortcuts, kept index, groups and fewer reads, give what the plain way gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import Choices, open_store, resolve
from echoless.core.checked_arrays import read_arrays
from echoless.core.errors import DuplicateId, UsageError
from echoless.core.model import Json, Memory, Pair, Verdict
from echoless.core.settings import Settings
from echoless.ingest import Admitted, AlreadyKnown, Guard, Remembered
from echoless.ingest.index import MemoryIndex
from echoless.ingest.ngram_index import WordingIndex
from echoless.ingest.request import Details
from echoless.matching.rule_judge import RuleJudge
from echoless.stores.sqlite import SqliteStore

PLAIN = resolve(Choices(encoder="none", cache=False))
KEPT = resolve(Choices(encoder="none", cache=True))
TEAMS = ("alpha", "bravo", "charlie", "delta")
TEXTS = [
    *(f"The {team} server has {n} GB of memory." for team in TEAMS for n in (16, 32)),
    *(f"The {team} team meets in the {place} room." for team in TEAMS for place in ("red", "big")),
    "Note: the alpha server has 16 GB of memory.",
    "Tea is in the kitchen.",
]
STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(TEXTS)),
    st.tuples(st.just("change"), st.sampled_from(TEXTS)),
    st.tuples(st.just("remove"), st.just("")),
    st.tuples(st.just("reopen"), st.just("")),
)


def shown(answer: object) -> Mapping[str, Json] | str:
    """An answer without what is made anew each time."""
    if isinstance(answer, Exception):
        return type(answer).__name__
    data = answer.to_json()  # type: ignore[attr-defined]
    return {name: value for name, value in data.items() if name not in {"run", "override"}}


def details(number: int) -> Details:
    return {"id": f"s-{number:03d}", "created_at": f"2026-01-{number + 1:02d}"}


@pytest.fixture
def keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache folder in which every index is kept, however small."""
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("echoless.ingest.index_cache.WORTH_KEEPING", 1)
    monkeypatch.setattr("echoless.ingest.ngram_index.LATER", 3)
    return tmp_path


def edit(store: SqliteStore, step: str, text: str, number: int) -> None:
    """Changes or removes a memory behind the guard's back."""
    ids = sorted(memory.id for memory in store.scan())
    if not ids:
        return
    chosen = ids[number % len(ids)]
    with store.writing():
        if step == "change":
            store.put([replace(store.get([chosen])[chosen], content=text)])
        else:
            store.remove([chosen])


def told(path: Path, steps: Sequence[tuple[str, str]], *, plain: bool) -> Iterator[object]:
    """The answers over a history; the plain way makes a guard with an empty index for each text."""
    with closing(SqliteStore.create(str(path))) as store:
        guard = Guard(store, KEPT)
        for number, (step, text) in enumerate(steps):
            if step == "reopen":
                guard.close()
                guard = Guard(store, KEPT)
            elif step != "say":
                edit(store, step, text, number)
            elif plain:
                yield shown(Guard(store, PLAIN).remember(text, **details(number)))
            else:
                yield shown(guard.remember(text, **details(number)))


@given(st.lists(STEPS, min_size=1, max_size=14))
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_a_kept_index_answers_as_one_made_anew_for_each_text(
    keeping: Path, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    kept = list(told(folder / "kept.db", steps, plain=False))
    assert kept == list(told(folder / "plain.db", steps, plain=True))


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12), st.integers(2, 5))
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
def test_a_group_is_answered_as_its_texts_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], at_once: int
) -> None:
    folder = tmp_path_factory.mktemp("group")
    given_ = [(text, details(number)) for number, text in enumerate(texts)]
    given_.insert(len(texts) // 2, ("Tea is out.", {"id": "s-000"}))  # may be taken
    given_.append((" ", {}))
    answers, contents = [], []
    for name, size in (("alone", 1), ("together", at_once)):
        with open_store(f"sqlite:///{folder / name}.db", create=True) as store:
            with Guard(store, PLAIN) as guard:
                answers.append([shown(a) for a in guard.remember_many(given_, at_once=size)])
            contents.append([replace(m, native=None) for m in store.scan()])
            assert not store.ledger.open_runs()
    assert answers[0] == answers[1]
    assert [(m.id, m.content) for m in contents[0]] == [(m.id, m.content) for m in contents[1]]


def test_an_error_of_one_text_takes_back_nothing_of_the_others(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'agent.db'}", create=True) as store:
        guard = Guard(store, PLAIN)
        one, taken, blank, two = guard.remember_many(
            [(TEXTS[0], {"id": "a"}), (TEXTS[8], {"id": "a"}), ("", {}), (TEXTS[-1], {"id": "b"})]
        )
        assert isinstance(one, Admitted)
        assert isinstance(taken, DuplicateId)
        assert isinstance(blank, UsageError)
        assert isinstance(two, Admitted)
        assert {m.id for m in store.scan()} == {"a", "b"}


def test_a_stopped_group_leaves_nothing_and_is_answered_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(f"sqlite:///{tmp_path / 'agent.db'}", create=True) as store:
        guard = Guard(store, PLAIN)
        guard.remember("Tea is in the kitchen.", id="t")
        before = len(list(store.ledger.events()))
        texts = [(text, details(number)) for number, text in enumerate(TEXTS[8:12])]
        plain, calls = SqliteStore.put, []

        def stopping(self: SqliteStore, memories: Sequence[Memory]) -> None:
            plain(self, memories)
            calls.append(memories)
            if len(calls) == 3:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "put", stopping)
            with pytest.raises(KeyboardInterrupt):
                list(guard.remember_many(texts))
        assert [m.id for m in store.scan()] == ["t"]
        assert len(list(store.ledger.events())) == before
        assert all(isinstance(answer, Admitted) for answer in guard.remember_many(texts))
        assert store.count() == 5


# ------------------------------------------------------------------ damage


@pytest.mark.parametrize("name", [*WordingIndex.ARRAYS, "exact", "states"])
def test_damage_anywhere_in_a_kept_index_changes_no_answer(
    keeping: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_store(f"sqlite:///{keeping / 'agent.db'}", create=True) as store:
        with Guard(store, KEPT) as guard:
            for number, text in enumerate(TEXTS):
                guard.remember(text, **details(number))
        (path,) = keeping.rglob("*.index")
        data = path.read_bytes()
        part = read_arrays(path)[1][name].tobytes()
        place = data.index(part) + len(part) // 2
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :])
        new = "The alpha server has 64 GB of memory."
        plain = Guard(store, PLAIN).remember(new, dry_run=True, id="x")
        with Guard(store, KEPT) as guard:
            assert shown(guard.remember(new, dry_run=True, id="x")) == shown(plain)
    assert "made anew" in caplog.text


# ------------------------------------------------------------------ counts


@pytest.fixture
def large(keeping: Path) -> Iterator[tuple[SqliteStore, Settings]]:
    """A store of 3,000 memories with a kept index."""
    names = [a + b + c for a in "bdfgk" for b in ("anu", "ero", "ilo") for c in ("x", "rt", "ss")]
    texts = [f"{a} hands the {b} list number {n} to {names[(7 * n) % 45]}." for n, (a, b) in
             enumerate((a, b) for a in names for b in names) for _ in "12"][:3000]  # fmt: skip
    with closing(SqliteStore.create(str(keeping / "agent.db"))) as store:
        with store.writing():
            store.put([Memory(id=f"m-{n:04d}", content=text) for n, text in enumerate(texts)])
        with Guard(store, KEPT) as guard:
            guard.remember("What is this?", dry_run=True)
        yield store, KEPT


def test_one_text_reads_few_texts(
    large: tuple[SqliteStore, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, settings_ = large
    read: list[str] = []
    get = SqliteStore.get

    def counting(self: SqliteStore, ids: Sequence[str]) -> Mapping[str, Memory]:
        read.extend(ids)
        return get(self, ids)

    monkeypatch.setattr(SqliteStore, "get", counting)
    monkeypatch.setattr(MemoryIndex, "_compare", None)  # nothing is scanned
    with Guard(store, settings_) as guard:
        answer = guard.remember("banux hands the bilort list number 4711 to kanux.")
    assert isinstance(answer, Remembered)
    assert len(read) <= 8  # five neighbours, the id that is free, the text read back


def test_the_model_is_asked_about_three_memories_at_most_in_one_batch(
    large: tuple[SqliteStore, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Layers:
        """Rules, and a model that finds nothing more."""

        rules = RuleJudge()

        def judge(self, pair: Pair) -> Verdict:
            return self.judge_all([pair])[0]

        def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
            asked.append(len(pairs))
            return self.rules.judge_all(pairs)

    monkeypatch.setattr("echoless.ingest.guard.open_judge", lambda *_: Layers())
    store, settings_ = large
    with Guard(store, settings_) as guard:
        answer = guard.remember("banux hands the bilort list number 4711 to kanux.")
        assert not isinstance(answer, AlreadyKnown)
    assert asked == [3]
