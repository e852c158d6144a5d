"""Verdicts of earlier runs: taken over whole, never in the way, closed to others."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.core import cache as cache_file
from echoless.core.cache import checked, pair_key, text_print, unchecked
from echoless.core.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Related,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
)
from echoless.core.run_notes import Tally
from echoless.matching.base import Repeatable
from echoless.matching.batch.serialisation import packed, unpacked
from echoless.matching.batch.verdict_cache import CachedVerdicts, VerdictCache
from echoless.matching.guards import GuardJudge
from echoless.matching.rule_judge import RuleJudge
from tests.matching.rule_pairs import ADDS, APART, SAME

texts = st.text(max_size=30)
differences = st.builds(
    Difference,
    st.sampled_from(DifferenceKind),
    st.lists(texts, max_size=3).map(tuple),
    st.lists(texts, max_size=3).map(tuple),
)
evidence = st.builds(
    Evidence,
    rule=texts,
    how=texts,
    similarity=st.floats(0, 1),
    differences=st.lists(differences, max_size=3).map(tuple),
    note=texts,
    veto=st.booleans(),
    chance=st.none() | st.floats(0, 1),
)
sides = st.sampled_from(["a", "b"])
verdicts: st.SearchStrategy[Verdict] = st.one_of(
    *(
        st.builds(kind, evidence)
        for kind in (Duplicate, Contradiction, Sibling, Related, Distinct, Unsure)
    ),
    st.builds(Subsumes, evidence, sides),
    st.builds(Update, evidence, sides),
)


def tea(a: str, b: str, **measured: float) -> Pair:
    return Pair(Memory(id="a", content=a), Memory(id="b", content=b), measured or {"lexical": 0.5})


PAIRS = [tea(*both) for table in (SAME, ADDS, APART) for both in table.values()]


@pytest.fixture
def cache(tmp_path: Path) -> VerdictCache:
    return VerdictCache(tmp_path / "cache" / "verdicts.sqlite3")


def told(cache: VerdictCache, tally: Tally | None = None) -> CachedVerdicts:
    return CachedVerdicts(RuleJudge(), cache, tally or Tally())


def keep(cache: VerdictCache, pairs: list[Pair]) -> list[Verdict]:
    judge = RuleJudge()
    made = judge.judge_all(pairs)
    told(cache).keep(pairs, made)
    return made


# ------------------------------------------------------------------ packing


@settings(max_examples=150)
@given(verdicts, texts, texts)
def test_a_verdict_comes_back_as_it_was(verdict: Verdict, a: str, b: str) -> None:
    key = pair_key(text_print(a), text_print(b), "x")
    data = unchecked(key, checked(key, packed(verdict)))
    assert data is not None
    assert unpacked(data, verdict.evidence.how, verdict.evidence.similarity) == verdict


@given(st.binary(max_size=60), st.integers(0, 300))
def test_what_is_damaged_or_of_other_texts_is_not_taken_over(data: bytes, bit: int) -> None:
    whole = checked(b"key", data)
    at = bit % (8 * len(whole))
    broken = bytearray(whole)
    broken[at // 8] ^= 1 << at % 8
    assert unchecked(b"key", bytes(broken)) is None
    assert unchecked(b"other", whole) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'["x","r","",false,null,[]]', b'["sc","r","",false,null,[]]',
     b'["d",1,"",false,null,[]]', b'["d","r","",0,null,[]]', b'["d","r","",false,"1",[]]',
     b'["d","r","",false,NaN,[]]', b'["d","r","",false,null,[["tea",[],[]]]]',
     b'["d","r","",false,null,[["name"]]]', b'["","r","",false,null,[]]', b"[" * 1_100],
)  # fmt: skip
def test_what_is_no_verdict_is_none(data: bytes) -> None:
    assert unpacked(data, "lexical", 0.5) is None


# ------------------------------------------------------------------ taking over


def test_what_was_judged_is_taken_over_with_what_is_measured_now(cache: VerdictCache) -> None:
    keep(cache, PAIRS)
    now = [replace(pair, signals={"lexical": 0.25, "exact": 0.75}) for pair in PAIRS]
    again = told(cache)
    assert again.recall(now) == RuleJudge().judge_all(now)
    assert again.remembered == len(PAIRS)


def test_nothing_is_known_before_anything_was_kept(cache: VerdictCache) -> None:
    assert told(cache).recall(PAIRS) == [None] * len(PAIRS)
    assert not cache.path.parent.exists()


@pytest.mark.parametrize(
    "other",
    [
        tea("Tea is at four", "Tea is at five o'clock"),
        tea("Tea is at five", "Tea is at four"),
        Pair(
            Memory(id="a", content="Tea is at four", created_at="2026-01-02"),
            Memory(id="b", content="Tea is at five"),
            {"lexical": 0.5},
        ),
    ],
    ids=["a text", "the order", "a time"],
)
def test_another_pair_is_judged_anew(cache: VerdictCache, other: Pair) -> None:
    keep(cache, [tea("Tea is at four", "Tea is at five")])
    assert told(cache).recall([other]) == [None]


def test_one_instant_written_in_two_ways_is_one(cache: VerdictCache) -> None:
    at = [
        Pair(replace(p.a, created_at=time), replace(p.b, created_at="2026-02-01"), p.signals)
        for p in [tea("The demo is tomorrow", "The demo is on 2 May 2026")]
        for time in ("2026-05-01T00:00:00Z", "2026-05-01 00:00:00")
    ]
    assert keep(cache, at[:1])
    assert told(cache).recall(at[1:]) == RuleJudge().judge_all(at[1:])


def test_another_edition_of_the_judge_starts_anew(
    cache: VerdictCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(cache, PAIRS)
    monkeypatch.setattr("echoless.matching.rule_judge.edition", lambda _stage: "later")
    assert told(cache).recall(PAIRS) == [None] * len(PAIRS)


def test_a_judge_that_only_trusts_a_similarity_is_quicker_than_a_look() -> None:
    assert isinstance(RuleJudge(), Repeatable)
    assert not isinstance(GuardJudge(), Repeatable)


@pytest.mark.parametrize("pair", PAIRS[::5], ids=lambda pair: pair.a.content)
def test_a_verdict_hangs_on_nothing_that_is_not_in_its_key(pair: Pair) -> None:
    judge = RuleJudge()
    plain = judge.judge(pair)
    dressed = Pair(
        replace(pair.a, id="z", namespace="n", tags=("t",), importance=1.0, pinned=True),
        replace(pair.b, id="y", access_count=9, updated_at="2026-01-01", metadata={"k": 1}),
        {"lexical": 0.5, "exact": 0.1},
    )
    assert judge.judge(dressed) == plain
    assert flipped(judge.judge(Pair(pair.b, pair.a, pair.signals))) == plain


# ------------------------------------------------------------------ the file


def test_others_cannot_read_the_file_and_no_whole_text_is_kept(cache: VerdictCache) -> None:
    pair = tea("The password is swordfish", "The password is marlinspike")
    (verdict,) = keep(cache, [pair])
    assert "swordfish" in verdict.evidence.line()
    for path in cache.path.parent.iterdir():
        assert b"The password" not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("rubbish", [b"no database" * 99, b"SQLite format 3\0" + b"x" * 5000])
def test_what_is_no_cache_is_set_aside_and_told_once(cache: VerdictCache, rubbish: bytes) -> None:
    cache.path.parent.mkdir(mode=0o700)
    cache.path.write_bytes(rubbish)
    tally = Tally()
    kept = told(cache, tally)
    assert kept.recall(PAIRS) == [None] * len(PAIRS)
    kept.keep(PAIRS[:1], [RuleJudge().judge(PAIRS[0])])
    assert len(tally.notes) == 1
    assert str(cache.path) in tally.notes[0]
    (aside,) = cache.path.parent.glob("*.set-aside-*")
    assert aside.read_bytes() == rubbish


def test_a_folder_that_cannot_be_made_is_noted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    tally = Tally()
    told(VerdictCache(tmp_path / "file" / "v.sqlite3"), tally).keep(
        PAIRS[:1], [RuleJudge().judge(PAIRS[0])]
    )
    assert len(tally.notes) == 1


def test_a_file_of_a_later_version_is_not_touched(cache: VerdictCache) -> None:
    keep(cache, PAIRS[:1])
    write(cache, "PRAGMA user_version = 99")
    tally = Tally()
    assert told(cache, tally).recall(PAIRS[:1]) == [None]
    assert "another version" in tally.notes[0]


@pytest.mark.parametrize("column", ["data", "used"])
@pytest.mark.parametrize("value", ["x''", "x'00'", "'text'", "7"])
def test_a_broken_entry_is_judged_anew_and_counted(
    cache: VerdictCache, column: str, value: str
) -> None:
    made = keep(cache, PAIRS[:1])
    write(cache, f"UPDATE verdicts SET {column} = {value}")
    tally = Tally()
    assert told(cache, tally).recall(PAIRS[:1]) in ([None], made)
    assert ["1 entries are damaged" in note for note in tally.notes] == [True] * (column == "data")


def write(cache: VerdictCache, statement: str) -> None:
    connection = sqlite3.connect(cache.path)
    with connection:
        connection.execute(statement)
    connection.close()


def entries(count: int, at: str) -> dict[bytes, bytes]:
    return {f"{at} {n}".encode(): bytes(200) for n in range(count)}


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    today = [1000]
    monkeypatch.setattr(cache_file, "_today", lambda: today[0])
    return today


def test_what_was_not_asked_for_longest_leaves_first(tmp_path: Path, days: list[int]) -> None:
    cache, tally = VerdictCache(tmp_path / "v.sqlite3", most_bytes=100_000), Tally()
    for day in range(20):
        days[0] = 1000 + 10 * day
        cache.put(entries(30, str(day)), tally)
        assert len(cache.get(list(entries(30, "0")), tally)) == 30  # asked for every day
    assert cache.path.stat().st_size < 300_000
    assert len(cache.get(list(entries(30, "19")), tally)) == 30
    assert not cache.get(list(entries(30, "1")), tally)
    assert any("left the cache" in note for note in tally.notes)


def test_a_full_cache_takes_nothing_more_of_the_day_and_says_so(tmp_path: Path) -> None:
    cache, tally = VerdictCache(tmp_path / "v.sqlite3", most_bytes=50_000), Tally()
    for batch in range(20):
        cache.put(entries(100, str(batch)), tally)
    assert cache.path.stat().st_size < 150_000
    assert [note for note in tally.notes if "is full" in note] == list(tally.notes)
    assert len(VerdictCache(cache.path).get(list(entries(100, "0")), tally)) == 100


WRITER = """
import sys
from pathlib import Path
from echoless.matching.batch.verdict_cache import VerdictCache
from echoless.core.run_notes import Tally
from echoless.core import cache as cache_file
cache, tally = VerdictCache(Path(sys.argv[1])), Tally()
for n in range(25):
    mine = {f"{who} {n}".encode(): b"told" for who in ("shared", sys.argv[2])}
    cache.put(mine, tally)
    cache.get(list(mine), tally)
sys.exit(len(tally.notes))
"""


def test_processes_may_write_at_the_same_time(cache: VerdictCache) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(cache.path), str(number)])
        for number in range(3)
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    wanted = [f"{who} {n}".encode() for who in ("shared", 0, 1, 2) for n in range(25)]
    assert len(cache.get(wanted, Tally())) == 100


def test_verdicts_that_name_one_word_hold_it_once() -> None:
    pairs = [_apart(20), _apart(21)]
    made = [RuleJudge().judge(pair) for pair in pairs]
    read = [
        unpacked(packed(verdict), *pair.best) for verdict, pair in zip(made, pairs, strict=True)
    ]
    for verdicts in (made, read):
        named = [v.evidence.differences[0].a[0] for v in verdicts if v is not None]
        assert named[0] == named[1]
        assert named[0] is named[1]
    assert read[0] is not None
    assert read[1] is not None
    assert read[0].evidence.rule is read[1].evidence.rule


def _apart(number: int) -> Pair:
    """Returns a pair that names 8080 on one side, in a text of its own."""
    one = Memory(id="a", content=f"The service of team {number} listens on port 8080.")
    other = Memory(id="b", content=f"The service of team {number} listens on port 9090.")
    return Pair(one, other, {"lexical": 0.9})
