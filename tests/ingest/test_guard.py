"""The door of a store, by what it answers and what it leaves behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import (
    Admitted,
    AlreadyKnown,
    Choices,
    Guard,
    Memory,
    NeedsReview,
    Settings,
    Updates,
    apply,
    check,
    find,
    open_store,
    plan,
    remember,
    resolve,
    undo,
)
from echoless.core.errors import DuplicateId, InputError, StoreLocked, UsageError
from echoless.stores.base import Store
from tests.conformance.encoders import WordBag

WORDS = resolve(Choices(encoder="none"))
STAGING = "The staging server has 16 GB of memory."
LARGER = "The staging server has 32 GB of memory."
TEA = "Anna drinks green tea in the morning."


@pytest.fixture(params=["sqlite", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with open_store(f"{request.param}:///{tmp_path / 'agent'}", create=True) as opened:
        yield opened


def contents(store: Store) -> list[str]:
    return sorted(memory.content for memory in store.scan())


def say(store: Store, text: str, **details: object):  # type: ignore[no-untyped-def]
    return remember(store, text, settings=WORDS, **details)  # type: ignore[arg-type]


# ------------------------------------------------------------------ the four answers


def test_a_new_fact_is_stored_with_all_its_details(store: Store) -> None:
    answer = say(
        store, STAGING, namespace="ops", type="fact", tags=["infra"], importance=0.5,
        metadata={"from": "chat"}, created_at="2026-01-31T10:00:00Z",
    )  # fmt: skip
    assert isinstance(answer, Admitted)
    (there,) = store.scan()
    assert there == Memory(
        id=answer.id, content=STAGING, namespace="ops", type="fact", tags=("infra",),
        importance=0.5, metadata={"from": "chat"}, created_at="2026-01-31T10:00:00Z",
    )  # fmt: skip


@pytest.mark.parametrize(
    "again",
    [
        STAGING,
        "the staging server has 16 GB of memory",
        f"Note: {STAGING}",
        "**The staging server has 16 GB of memory**",
        "The staging server has 16 gigabytes of memory.",
    ],
)
def test_a_fact_said_again_is_known_and_counted_and_its_record_stays(
    store: Store, again: str
) -> None:
    first = say(store, STAGING)
    before = list(store.scan())
    known = [say(store, again), say(store, again)]
    assert [type(each) for each in known] == [AlreadyKnown, AlreadyKnown]
    assert [each.survivor for each in known] == [first.id, first.id]
    assert [each.confirmations for each in known] == [1, 2]
    assert list(store.scan()) == before
    assert check(store).sound


def test_another_value_is_stored_and_names_the_older_memory(store: Store) -> None:
    old = say(store, STAGING)
    answer = say(store, LARGER)
    assert isinstance(answer, Updates)
    assert (answer.old, answer.match.id) == (old.id, old.id)
    assert answer.changed == ("number: 32 GB | 16 GB",)
    assert contents(store) == [STAGING, LARGER]
    assert store.ledger.marks() == {}


def test_supersede_hides_the_older_memory_and_undo_shows_it_again(store: Store) -> None:
    old = say(store, STAGING)
    answer = say(store, LARGER, supersede=True)
    assert isinstance(answer, Updates)
    assert store.ledger.marks()[old.id].survivor == answer.new
    assert check(store).sound
    undo(store, answer.hidden)
    assert store.ledger.marks() == {}
    assert contents(store) == [STAGING, LARGER]


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        ("The staging server in Frankfurt has 16 GB of memory.", LARGER, "Frankfurt"),
        (STAGING, "The staging server in Frankfurt has 32 GB of memory.", "Frankfurt"),
    ],
)
def test_supersede_hides_nothing_where_more_than_the_older_value_would_be_lost(
    store: Store, older: str, newer: str, why: str
) -> None:
    say(store, older)
    answer = say(store, newer, supersede=True)
    assert isinstance(answer, Updates)
    assert not answer.hidden
    assert why in answer.notes[-1]
    assert "supersede, and force" in answer.override
    assert store.ledger.marks() == {}
    insists = say(store, newer.replace("32", "64"), supersede=True, force=True)
    assert isinstance(insists, Updates)
    assert {mark.survivor for mark in store.ledger.marks().values()} == {insists.new}


def test_older_values_are_hidden_together_or_not_at_all(store: Store) -> None:
    say(store, "The staging server in Frankfurt has 8 GB of memory.")
    say(store, STAGING, force=True)
    answer = say(store, LARGER, supersede=True)
    assert isinstance(answer, Updates)
    assert len(answer.older) == 1
    assert store.ledger.marks() == {}


def test_a_value_that_was_superseded_is_news_when_it_comes_back(store: Store) -> None:
    say(store, STAGING)
    newer = say(store, LARGER, supersede=True)
    back = say(store, STAGING)
    assert isinstance(back, Updates)
    assert back.old == newer.new


def test_what_says_all_of_a_memory_and_more_is_stored(store: Store) -> None:
    old = say(store, STAGING)
    more = say(store, "The staging server has 16 GB of memory and runs Debian.")
    assert isinstance(more, Updates)
    assert more.old == old.id
    assert more.match.verdict == "unsure"  # for the rules; the pair model merges it


def test_what_limits_a_memory_is_stored_and_names_it(store: Store) -> None:
    old = say(store, DOUBTFUL[1])
    limited = say(store, DOUBTFUL[0])
    assert isinstance(limited, Updates)
    assert limited.old == old.id


def test_what_a_memory_says_with_more_is_held_back_where_no_model_reads_it(store: Store) -> None:
    full = say(store, "The staging server has 16 GB of memory and runs Debian.")
    part = say(store, STAGING)
    assert isinstance(part, NeedsReview)
    assert [match.id for match in part.candidates] == [full.id]


def test_a_doubtful_text_that_is_forced_in_links_to_each_memory_once(store: Store) -> None:
    full = say(store, "The staging server has 16 GB of memory and runs Debian.")
    part = say(store, STAGING, force=True, links=3)
    assert isinstance(part, Admitted)
    assert [match.id for match in part.linked] == [full.id]
    assert [link.target for link in store.get([part.id])[part.id].links] == [full.id]


def test_a_doubtful_text_is_held_back_and_force_stores_it(store: Store) -> None:
    held = say(store, DOUBTFUL[1]) if say(store, DOUBTFUL[0]) else None
    assert isinstance(held, NeedsReview)
    assert contents(store) == [DOUBTFUL[0]]
    assert held.candidates
    assert "force" in held.override
    assert isinstance(say(store, DOUBTFUL[1], force=True), Admitted)
    assert contents(store) == sorted(DOUBTFUL)


def test_a_doubtful_text_is_stored_where_doubt_is_to_admit(store: Store) -> None:
    say(store, DOUBTFUL[0])
    answer = say(store, DOUBTFUL[1], unsure="admit")
    assert isinstance(answer, Admitted)
    assert [match.verdict for match in answer.linked] == [DOUBTFUL_VERDICT]


DOUBTFUL = (
    "Deploys are announced in the team channel only on weekends.",
    "Deploys are announced in the team channel.",
)
DOUBTFUL_VERDICT = "unsure"


# ------------------------------------------------------------------ what came out of memory


def test_recalled_text_is_never_stored_again_and_confirms_nothing(store: Store) -> None:
    known = say(store, STAGING)
    answer = say(store, f"I remember: {STAGING}", origin="recalled")
    assert isinstance(answer, AlreadyKnown)
    assert (answer.survivor, answer.confirmations, answer.source) == (known.id, 0, "recalled")
    stranger = say(store, TEA, origin="recalled")
    assert isinstance(stranger, NeedsReview)
    assert contents(store) == [STAGING]
    assert say(store, STAGING).confirmations == 1


def test_text_that_was_just_handed_out_confirms_nothing(store: Store) -> None:
    with Guard(store, WORDS) as guard:
        guard.remember(STAGING)
        guard.note_recalled(list(store.scan()))
        again = guard.remember(STAGING.lower())
        assert isinstance(again, AlreadyKnown)
        assert (again.source, again.confirmations) == ("recalled", 0)
        assert not list(store.ledger.events(kind="confirmed"))


def test_what_a_boot_file_says_is_known(store: Store, tmp_path: Path) -> None:
    boot = tmp_path / "AGENTS.md"
    boot.write_text(f"# Rules\n\n- {STAGING}\n- Run the tests before you push.\n", "utf-8")
    answer = say(store, STAGING, boot=[boot], namespace="ops")
    assert isinstance(answer, AlreadyKnown)
    assert (answer.survivor, answer.source) == (None, "boot file")
    assert answer.match.id == f"{boot}:3"
    assert isinstance(say(store, TEA, boot=[boot]), Admitted)
    with pytest.raises(InputError, match=r"gone\.md"):
        say(store, TEA, boot=[tmp_path / "gone.md"])


# ------------------------------------------------------------------ retries, scopes, errors


def test_a_retry_under_one_key_is_told_the_same_and_counts_nothing(store: Store) -> None:
    first = say(store, STAGING, key="turn-7")
    assert say(store, STAGING, key="turn-7") == first
    known = say(store, STAGING, key="turn-8")
    assert [say(store, STAGING, key="turn-8") for _ in range(3)] == [known] * 3
    asked = resolve(Choices(encoder="fast"))
    newer = remember(store, LARGER, settings=asked, key="turn-9")
    assert isinstance(newer, Updates)
    assert newer.match.chance is not None
    assert remember(store, LARGER, settings=asked, key="turn-9") == newer
    assert store.ledger.confirmations(first.id) == 1
    with pytest.raises(UsageError, match="'turn-7'"):
        say(store, TEA, key="turn-7")


def test_a_key_gives_the_same_id_wherever_the_answer_was_lost(store: Store, tmp_path: Path) -> None:
    one = say(store, STAGING, key="turn-7")
    with open_store(f"sqlite:///{tmp_path / 'other.db'}", create=True) as other:
        assert say(other, STAGING, key="turn-7").id == one.id


@pytest.mark.parametrize("known", [False, True], ids=["a new text", "a known text"])
def test_a_retry_counts_nothing_where_the_first_call_ended_before_its_answer_was_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    if known:
        say(store, STAGING, key="turn-6")

    def power_fails(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(store.ledger), "keep_answer", power_fails)
        say(store, STAGING, key="turn-7")
    answer = say(store, STAGING, key="turn-7")
    (memory,) = store.scan()
    assert store.ledger.confirmations(memory.id) == known
    assert say(store, STAGING, key="turn-7") == answer


def test_a_fact_of_another_namespace_is_another_fact(store: Store) -> None:
    say(store, STAGING, namespace="a")
    assert isinstance(say(store, STAGING, namespace="b"), Admitted)
    assert isinstance(say(store, STAGING, namespace="a"), AlreadyKnown)


def test_a_dry_run_answers_the_same_and_writes_nothing(store: Store, tmp_path: Path) -> None:
    say(store, STAGING)
    store.close()
    before = sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir() if p.is_file())
    with open_store(store.url) as again:
        kinds = [type(say(again, text, dry_run=True)) for text in (STAGING, LARGER, TEA)]
    assert kinds == [AlreadyKnown, Updates, Admitted]
    assert sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir() if p.is_file()) == before


@pytest.mark.parametrize(
    ("text", "details", "error"),
    [
        ("  ", {}, UsageError),
        ("\u200b", {}, UsageError),
        ("a\0b", {}, InputError),
        ("\ud800", {}, InputError),
        ("x" * 1_000_001, {}, InputError),
        ("x", {"origin": "heard"}, UsageError),
        ("x", {"unsure": "maybe"}, UsageError),
        ("x", {"links": -1}, UsageError),
        ("x", {"created_at": "soon"}, UsageError),
        ("x", {"key": " "}, UsageError),
    ],
)
def test_what_cannot_be_remembered_is_refused_and_nothing_is_written(
    store: Store, text: str, details: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        say(store, text, **details)
    assert store.count() == 0


def test_an_id_that_is_taken_is_refused(store: Store) -> None:
    say(store, STAGING, id="m-1")
    with pytest.raises(DuplicateId, match="'m-1'"):
        say(store, TEA, id="m-1")
    assert contents(store) == [STAGING]


def test_links_go_to_memories_on_the_same_matter(store: Store) -> None:
    near = say(store, "The user's cat is called Minka.")
    answer = say(store, "The user's dog is called Rex.", links=3, unsure="admit", force=True)
    (there,) = store.get([answer.id]).values()
    assert [link.target for link in there.links] == [near.id][: len(there.links)]
    assert [link.target for link in there.links] == [match.id for match in answer.linked]


def test_a_hidden_duplicate_answers_with_the_memory_it_stands_behind(store: Store) -> None:
    with store.writing():
        store.put([Memory(id=i, content=STAGING) for i in ("a", "b")])
    apply(store, plan(find(store, WORDS)))
    (mark,) = store.ledger.marks().values()
    answer = say(store, STAGING)
    assert isinstance(answer, AlreadyKnown)
    assert answer.survivor == mark.survivor


def test_undo_of_what_was_remembered_leaves_the_store_as_it_was(store: Store) -> None:
    say(store, TEA)
    before = list(store.scan())
    answer = say(store, STAGING)
    undo(store, answer.run)
    assert list(store.scan()) == before
    assert isinstance(say(store, STAGING), Admitted)


# ------------------------------------------------------------------ others write too


def test_the_guard_follows_what_others_do_to_the_store(store: Store) -> None:
    with Guard(store, WORDS) as guard:
        guard.remember(STAGING)
        with open_store(store.url) as other, other.writing():
            other.put([Memory(id="theirs", content=TEA)])
        assert isinstance(guard.remember(TEA), AlreadyKnown)
        with open_store(store.url) as other, other.writing():
            other.put([replace(other.get(["theirs"])["theirs"], content="Bob drinks coffee.")])
        assert isinstance(guard.remember(TEA), Admitted)
        with open_store(store.url) as other, other.writing():
            other.remove(["theirs"])
        assert isinstance(guard.remember("Bob drinks coffee."), Admitted)


def test_a_writer_that_does_not_end_is_told(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'agent.db'}"
    with open_store(url, create=True) as store, open_store(url) as other:
        with Guard(store, WORDS, wait=0) as guard, other.writing():
            guard.remember(TEA)
            other.ledger.database.change("BEGIN IMMEDIATE")
            store._writer.connection.execute("PRAGMA busy_timeout = 0")  # type: ignore[attr-defined]
            with pytest.raises(StoreLocked):
                guard.remember(STAGING)
            other.ledger.database.change("ROLLBACK")
        assert contents(store) == [TEA]


def test_the_kept_index_answers_as_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("echoless.ingest.index_cache.WORTH_KEEPING", 1)
    texts = [f"The {word} server has {n} GB of memory." for n, word in enumerate(NAMES)]
    with open_store(f"sqlite:///{tmp_path / 'agent.db'}", create=True) as store:
        with store.writing():
            store.put([Memory(id=f"m-{n}", content=text) for n, text in enumerate(texts)])
        first = [remember(store, text, settings=WORDS, dry_run=True) for text in texts]
        assert list((tmp_path / "cache" / "door").glob("*.index"))
        with store.writing():
            store.remove(["m-0"])
        after = [remember(store, text, settings=WORDS, dry_run=True) for text in texts]
    assert [each.survivor for each in first] == [f"m-{n}" for n in range(len(texts))]
    assert [each.survivor for each in after[1:]] == [f"m-{n}" for n in range(1, len(texts))]
    assert not isinstance(after[0], AlreadyKnown)


def _flipped(data: bytes) -> bytes:
    """Flips a bit in each of more bytes than can lie unused between two arrays."""
    middle = len(data) // 2
    return data[:middle] + bytes(b ^ 1 for b in data[middle : middle + 64]) + data[middle + 64 :]


def _as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "flipped": lambda path: path.write_bytes(_flipped(path.read_bytes())),
    "garbage": lambda path: path.write_bytes(b"\x93NUMPY\x01\x00\xff\xff(((((" * 50),
    "brackets": lambda path: path.write_bytes(b"[" * 1_100),
    "gone": Path.unlink,
    "a folder": _as_folder,
    "a pipe": _as_fifo,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    damage: str,
) -> None:
    """F4: an empty file of the index ended each later `remember` as an interruption."""
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("echoless.ingest.index_cache.WORTH_KEEPING", 1)
    door = tmp_path / "cache" / "door"
    with open_store(f"sqlite:///{tmp_path / 'agent.db'}", create=True) as store:
        say(store, STAGING)
        say(store, TEA)
        (path,) = door.iterdir()
        DAMAGES[damage](path)
        caplog.clear()
        assert isinstance(say(store, STAGING), AlreadyKnown)
        assert ("made anew" in caplog.text) == (damage != "gone")
        say(store, "Another fact, told after the index was damaged.")
        assert isinstance(say(store, STAGING), AlreadyKnown)
        assert path.is_file()


NAMES = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel")
FACTS = [
    f"The {name} team meets in the {place} room." for name in NAMES for place in ("red", "big")
]


@given(st.lists(st.tuples(st.sampled_from(FACTS), st.integers(0, 3)), max_size=12))
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_whatever_is_said_how_often_each_fact_is_there_once_and_all_can_be_undone(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, int]]
) -> None:
    dressed = (str, str.lower, "Note: {}".format, "- {}".format)
    path = tmp_path_factory.mktemp("once") / "agent.db"
    with open_store(f"sqlite:///{path}", create=True) as store:
        with Guard(store, WORDS) as guard:
            answers = [guard.remember(dressed[how](fact)) for fact, how in said]
        keys = sorted(memory.content.casefold().removeprefix("note: ").removeprefix("- ")
                      for memory in store.scan())  # fmt: skip
        assert keys == sorted({fact.casefold() for fact, _ in said})
        assert check(store).sound
        for answer in reversed(answers):
            if run := getattr(answer, "run", ""):
                undo(store, run)
        assert store.count() == 0


def test_settings_name_profile_and_encoder(store: Store) -> None:
    chosen: Settings = resolve(Choices(profile="wt-memory", encoder="none"))
    remember(store, STAGING, settings=chosen)
    answer = remember(store, "The staging server has 16 GB of the memory.", settings=chosen)
    assert isinstance(answer, AlreadyKnown)
    assert answer.match.how == "sequence"


def port(number: int) -> str:
    return f"The API server listens on port {number}."


def test_of_several_older_values_the_newest_is_updated_and_all_are_named(store: Store) -> None:
    first = say(store, port(8070), created_at="2025-01-03T00:00:00Z", force=True)
    second = say(store, port(8080), created_at="2025-06-03T00:00:00Z", force=True)
    third = say(
        store,
        "The API server now listens on port 8090.",
        created_at="2025-09-03T00:00:00Z",
        force=True,
    )
    other = say(store, "The staging database listens on port 5432.")
    before = list(store.scan())
    answer = say(store, port(9000), supersede=True)
    assert isinstance(answer, Updates)
    assert answer.old == third.id
    assert [match.id for match in answer.older] == [second.id, first.id]
    marks = store.ledger.marks()
    assert {id_: mark.survivor for id_, mark in marks.items()} == dict.fromkeys(
        (first.id, second.id, third.id), answer.new
    )
    assert other.id not in marks
    assert check(store).sound
    undo(store, answer.hidden)
    undo(store, answer.run)
    assert list(store.scan()) == before
    assert store.ledger.marks() == {}


def test_a_retry_is_told_the_older_values_again(store: Store) -> None:
    for month, number in enumerate((8070, 8080), 1):
        say(store, port(number), created_at=f"2025-0{month}-03T00:00:00Z", force=True)
    first = say(store, port(9000), key="once")
    again = say(store, port(9000), key="once")
    assert isinstance(first, Updates)
    assert len(first.older) == 1
    assert again == first


def test_elsewhere_names_other_namespaces_that_say_a_text_and_reads_only(store: Store) -> None:
    there = say(store, STAGING, namespace="ops")
    say(store, LARGER, namespace="ops", force=True)
    before = list(store.scan())
    with Guard(store, WORDS) as guard:
        assert [each.id for each in guard.elsewhere(STAGING.lower())] == [there.id]
        assert guard.elsewhere(STAGING, namespace="ops") == ()
    assert list(store.scan()) == before


def test_elsewhere_encodes_nothing_where_there_is_no_other_namespace(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = WordBag()
    monkeypatch.setattr("echoless.models.encoders.registry.open_encoder", lambda _spec: encoder)
    with Guard(store, resolve(Choices(cache=False))) as guard:
        guard.remember(STAGING)
        before = len(encoder.asked)
        assert guard.elsewhere(STAGING) == ()
    assert before
    assert len(encoder.asked) == before
