"""The public benchmark on invented stand-ins of each format: no text of a corpus is here."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.baselines import Cosine, Measure, TokenSet
from benchmarks.public import __main__ as command
from benchmarks.public import corpora, page, tasks
from benchmarks.public.corpora import BadCorpus, Dialogues, Facts, Memories, News, Pairs, Question
from benchmarks.public.picture import picture
from benchmarks.public.tools import TOOLS, Opening, opened

ROOT = Path(__file__).parents[2]
SAMPLE = {
    "sample_id": "conv-1",
    "observation": {
        "session_1_observation": {
            "Ada": [["Ada keeps two bees.", "D1:1"], ["Ada moved to Oslo.", ["D1:3", "D1:4"]]],
            "Bo": [["Bo paints doors.", "D1:2"]],
        },
        "session_2_observation": {"Ada": [["Ada sold her hives.", "D2:5"]]},
    },
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2_date_time": "9:05 am on 2 June, 2023",
    },
    "qa": [
        {"question": "What does Bo paint?", "evidence": ["D1:2"], "category": 4},
        {"question": "Where did Ada go?", "evidence": ["D1:3; D1:4"], "category": 1},
        {"question": "What is nowhere?", "evidence": ["D9:9"], "category": 4},
        {"question": "Who was not there?", "evidence": ["D1:1"], "category": 5},
    ],
}
FACTS = {
    "context": "Here is a list of facts:\n0. Oslo is located in the continent of Africa.\n"
    "1. The mayor of Ulm is Ada Kern.\n2. The mayor of Ulm is Bo Lind.\n",
    "questions": ["Who is the mayor of Ulm?"],
    "answers": [["Bo Lind"]],
    "metadata": {"source": "factconsolidation_sh_6k"},
}
PLAN = """BATCH 1 PLAN
• **Time Anchor:** March 15, 2024
• **Goals:Reading:** Aiming for ten books by May.
• I keep the list in a notebook.
• **Information Update:** The goal is now twelve books by May.

BATCH 2 PLAN
• **Time Anchor:** April 2, 2024
• **Logical Contradiction:** I have never kept a list.
• I keep the list in a notebook.
"""
PROBES = {
    "knowledge_update": [
        {
            "conversation_references": [
                "Goals:Reading: Aiming for ten books by May.",
                "Information Update: The goal is now twelve books by May.",
            ]
        },
        {"conversation_references": ["Something quite different.", "That nobody wrote here."]},
    ]
}
NOTES = [
    ("k", "kiel", "2026-01-01", "Kiel uses tabs."),
    ("b", "ulm", "2026-01-02", "Ulm uses spaces."),
    ("a", "ulm", "2026-01-01", "Ulm uses tabs."),
]
LABELS = {
    "judgments": [{"sourceId": "b", "role": "answer"}, {"sourceId": "k", "role": "support"}],
    "harmful": [
        {"sourceId": "a", "reason": "superseded"},
        {"sourceId": "k", "reason": "cross_project"},
    ],
}
CASES = [
    {"initial_fact": "It is at 2pm.", "contradicting_fact": "It is at 3pm."},
    {"initial_fact": "It is due today.", "contradicting_fact": "Tomorrow."},
]
FILES = {
    "locomo": {"data/locomo10.json": json.dumps([SAMPLE])},
    "evomembench": {"facts.json": json.dumps([FACTS])},
    "beam": {
        "chats/100K/7/plan_new.txt": PLAN,
        "chats/100K/7/probing_questions/probing_questions.json": json.dumps(PROBES),
    },
    "knowl": {
        "records.ndjson": "\n".join(
            json.dumps(
                dict(zip(("sourceId", "projectId", "occurredAt", "content"), note, strict=True))
            )
            for note in NOTES
        ),
        "labels.ndjson": json.dumps(LABELS),
    },
    "memtrust": {"cases.json": json.dumps({"cases": CASES})},
    "dataset-sts": {
        "msr.tsv": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        "1\t1\t2\tIt rains.\tRain falls.\n",
        "sick.txt": "pair_ID\tA\tB\tscore\tjudgment\n4\tA dog runs\tIt rests\t2\tCONTRADICTION\n",
    },
    "csts": {"paws.tsv": "id\tsentence1\tsentence2\tlabel\n1\t甲胜乙。\t乙胜甲。\t0\n"},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of corpora whose files are the known ones."""
    sources = {}
    for name, files in FILES.items():
        for path, content in files.items():
            place = tmp_path / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content, "utf-8")
        digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
        sources[name] = {**corpora.SOURCES[name], "files": digests}
    monkeypatch.setattr(corpora, "SOURCES", sources)
    return tmp_path


# --------------------------------------------------------------------------------------- files


def test_files_of_the_known_content_are_taken(folder: Path) -> None:
    corpora.check(folder, corpora.TASKS)


def test_a_missing_file_is_named_with_the_lines_that_fetch_it(folder: Path) -> None:
    place = folder / "csts" / "paws.tsv"
    place.unlink()
    place.parent.rmdir()
    with pytest.raises(BadCorpus) as problem:
        corpora.check(folder, corpora.TASKS)
    said, commit = str(problem.value), corpora.SOURCES["csts"]["commit"]
    assert f"{place} is missing." in said
    assert f"git clone https://github.com/zejunwang1/CSTS {folder / 'csts'}" in said
    assert f"git -C {folder / 'csts'} checkout {commit}" in said
    assert said.endswith("Or leave it out: --tasks evidence,current,updates")


def test_a_file_of_other_content_is_named_with_both_digests(folder: Path) -> None:
    place = folder / "locomo" / "data" / "locomo10.json"
    place.write_text("[]", "utf-8")
    with pytest.raises(BadCorpus) as problem:
        corpora.check(folder, ["evidence"])
    said = str(problem.value)
    assert f"{place} has other content: SHA-256 {hashlib.sha256(b'[]').hexdigest()}" in said
    assert f"git -C {folder / 'locomo'} checkout {corpora.SOURCES['locomo']['commit']}" in said


def test_files_of_tasks_that_are_not_asked_for_may_be_missing(tmp_path: Path) -> None:
    with pytest.raises(BadCorpus, match="and 37 more"):
        corpora.check(tmp_path, ["updates"])
    corpora.check(tmp_path, [])


def test_every_pinned_file_has_a_digest_and_its_repository_a_commit() -> None:
    for source in corpora.SOURCES.values():
        assert source["task"] in corpora.TASKS
        assert re.fullmatch("[0-9a-f]{40}", source["commit"])
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in source["files"].values())


# ------------------------------------------------------------------------------------- formats


def test_observations_are_memories_with_their_turns_oldest_first(folder: Path) -> None:
    told = corpora.dialogues(folder)
    assert told.memories.texts == (
        "Ada keeps two bees.", "Ada moved to Oslo.", "Bo paints doors.", "Ada sold her hives.",
    )  # fmt: skip
    assert told.memories.times[0] == "2023-05-08T13:56:00+00:00"
    assert list(told.memories.times) == sorted(told.memories.times)
    assert told.turns[1] == {"D1:3", "D1:4"}


def test_only_questions_that_an_observation_answers_are_asked(folder: Path) -> None:
    asked = corpora.dialogues(folder).questions
    assert [(each.kind, each.turns) for each in asked] == [
        ("one turn", {"D1:2"}),
        ("several turns", {"D1:3", "D1:4"}),
    ]


def test_a_fact_with_another_value_of_one_slot_supersedes_the_earlier_one(folder: Path) -> None:
    facts = corpora.facts(folder, "6k")
    assert facts.superseded == {1: 2}
    assert facts.questions == [("Who is the mayor of Ulm?", ["Bo Lind"])]


def test_a_size_that_is_not_there_is_answered_with_those_that_are(folder: Path) -> None:
    with pytest.raises(BadCorpus, match=r"no size '7k' .* Known: 6k\."):
        corpora.facts(folder, "7k")


def test_notes_of_a_plan_lose_their_labels_and_take_the_time_of_their_part(folder: Path) -> None:
    plans = corpora.plans(folder)
    assert plans.memories.texts == (
        "Aiming for ten books by May.", "I keep the list in a notebook.",
        "The goal is now twelve books by May.", "I have never kept a list.",
        "I keep the list in a notebook.",
    )  # fmt: skip
    assert [time[:10] for time in plans.memories.times] == [
        *["2024-03-15"] * 3,
        *["2024-04-02"] * 2,
    ]
    assert plans.labelled == {2, 3}
    assert (plans.updates, plans.asked) == ([(0, 2)], 2)


def test_a_note_that_misleads_is_the_older_side_of_an_update_in_its_project(folder: Path) -> None:
    news = corpora.histories(folder)
    assert news.memories.texts == ("Kiel uses tabs.", "Ulm uses tabs.", "Ulm uses spaces.")
    assert (news.updates, news.asked) == ([(1, 2)], 1)
    assert news.labelled == {1, 2}


def test_cases_are_facts_of_one_scope_and_what_contradicts_each_comes_later(folder: Path) -> None:
    news = corpora.corrections(folder)
    said = ["It is at 2pm.", "It is due today.", "It is at 3pm.", "Tomorrow."]
    assert [*news.memories.texts] == said
    assert [*news.memories.times] == sorted(news.memories.times)
    assert (news.updates, len({*news.memories.scopes})) == ([(0, 2), (1, 3)], 1)


def test_of_written_stores_what_can_be_seen_either_way_is_labelled_and_a_trap_is_not() -> None:
    news = corpora.written(ROOT)
    times, scopes = news.memories.times, news.memories.scopes
    assert (len(times), len({*scopes}), len(news.updates)) == (560, 11, 149)
    assert all(times[a] < times[b] and scopes[a] == scopes[b] for a, b in news.updates)
    alarm = next(pair for pair in news.updates if not news.labelled & {*pair})
    trap = (alarm[0], next(n for n in range(560) if n not in {*news.labelled, *alarm}))
    figures = tasks.updates(news, {}, [alarm, trap])
    assert (figures["named"], figures["alarms"], figures["false_alarms"]) == (1, 2, 1)


@pytest.fixture
def never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of never-seen sets: one of written pairs, one of labels by digest."""
    written = {"a": "Mia is tall.", "b": "Mia is not tall.", "class": "contradiction"}
    known = {"a": corpora.digest("Use tabs."), "b": corpora.digest("Tabs, please."), "label": "D"}
    for path, row in (("written/hard_en.jsonl", written), ("third/labels.jsonl", known)):
        place = tmp_path / "never_seen" / path
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(row) + "\n", "utf-8")
    monkeypatch.setattr(corpora, "NEVER_SEEN", tmp_path / "never_seen")
    return tmp_path


def test_labelled_pairs_are_scopes_of_two(folder: Path, never_seen: Path) -> None:
    notes = {"a": "Use tabs.", "b": "Tabs, please.", "label": "D"}
    (folder / "notes.jsonl").write_text(json.dumps(notes) + "\n", "utf-8")
    pairs = corpora.labelled(folder)
    assert dict(zip(pairs.sets, pairs.mergeable, strict=True)) == {
        "written, hard": False, "real notes": True,
        "MRPC": True, "SICK": False, "PAWS-X, Chinese": False,
    }  # fmt: skip
    assert pairs.memories.scopes == [str(place // 2) for place in range(10)]


def test_a_pair_of_notes_that_is_in_no_never_seen_set_is_refused(
    folder: Path, never_seen: Path
) -> None:
    notes = {"a": "Use tabs.", "b": "Use spaces.", "label": "C"}
    (folder / "notes.jsonl").write_text(json.dumps(notes) + "\n", "utf-8")
    with pytest.raises(BadCorpus, match=r"notes\.jsonl, line 1: the pair is in no never-seen set"):
        corpora.labelled(folder)


# ------------------------------------------------------------------------------------- figures

THREE = Memories(["a", "b", "c"], ["1", "2", "3"], ["s", "s", "s"])


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([(0, 3)], "from 0 to 2"),
        ([(0, 1), (0, 2)], "hidden before"),
        ([(0, 1), (1, 0)], "behind itself"),
        ([(1, 1)], "behind itself"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(pairs: list[tuple[int, int]], why: str) -> None:
    with pytest.raises(tasks.WrongAnswer, match=why):
        tasks.settled(pairs, THREE)


def test_a_memory_behind_one_of_another_scope_is_refused() -> None:
    with pytest.raises(tasks.WrongAnswer, match="different scopes"):
        tasks.settled([(0, 1)], Memories(["a", "b"], ["1", "2"], ["s", "t"]))


def test_what_stands_behind_a_hidden_memory_stands_behind_the_last_one() -> None:
    assert tasks.settled([(0, 1), (1, 2)], THREE) == {0: 2, 1: 2}


def told() -> Dialogues:
    memories = Memories(
        ["Bo paints red doors.", "Bo paints doors.", "Ada keeps bees."], ["1", "2", "3"], ["s"] * 3
    )
    turns = [frozenset({"D1:1"}), frozenset({"D1:1", "D1:2"}), frozenset({"D1:3"})]
    asked = [
        Question("s", "Who keeps bees?", "one turn", turns[2]),
        Question("s", "Which doors does Bo paint?", "several turns", turns[1]),
    ]
    return Dialogues(memories, turns, asked)


def test_a_question_loses_evidence_only_when_no_visible_memory_has_the_turn() -> None:
    assert tasks.evidence(told(), {})["lost"] == 0
    assert tasks.evidence(told(), {0: 1})["lost"] == 0
    assert tasks.evidence(told(), {1: 0})["lost"] == 1
    assert tasks.evidence(told(), {1: 0, 2: 0})["lost"] == 2


def test_search_before_and_after_finds_the_turns_that_are_left() -> None:
    before, after = tasks.evidence(told(), {}), tasks.evidence(told(), {1: 0})
    assert before["recall_5"] == 1.0
    assert after["recall_5: several turns"] == 0.5
    assert before["tokens"]["saved"] == 0.0
    assert after["tokens"]["saved"] > 0


def test_figures_are_the_same_each_time() -> None:
    assert tasks.evidence(told(), {1: 0}) == tasks.evidence(told(), {1: 0})


def facts() -> Facts:
    texts = ["The mayor of Ulm is Ada.", "The mayor of Bonn is Cy.", "The mayor of Ulm is Bo."]
    slots = ["Ulm", "Bonn", "Ulm"]
    asked = [("Who is the mayor of Ulm?", ["Bo"])]
    return Facts(Memories(texts, ["1", "2", "3"], ["f"] * 3), slots, asked)


def test_a_superseded_fact_behind_the_current_one_is_hidden_rightly() -> None:
    made = tasks.current(facts(), {0: 2}, [(0, 2), (1, 2)])
    assert (made["first"], made["rightly"], made["wrongly"], made["merged"]) == (1, 1, 0, 1)
    assert (made["recognised"], made["named_wrongly"]) == (1, 1)


def test_the_current_fact_behind_the_older_one_is_hidden_wrongly() -> None:
    made = tasks.current(facts(), {2: 0}, [])
    assert (made["first_five"], made["merged"], made["wrongly"]) == (0, 1, 1)
    assert made["current_gone"] == 1


def test_groups_are_counted_once_more_as_if_their_newest_fact_stayed() -> None:
    made = tasks.current(facts(), {1: 0, 2: 0}, [])["newest"]
    assert (made["first"], made["rightly"], made["wrongly"]) == (1, 1, 1)


def test_an_alarm_about_no_labelled_note_is_false() -> None:
    memories = Memories(["a", "b", "c", "d"], ["1", "2", "3", "4"], ["s"] * 4)
    plans = News(memories, [(0, 2)], frozenset({2}), 1)
    made = tasks.updates(plans, {0: 2, 1: 3}, [(0, 2), (2, 0), (1, 3)])
    assert (made["named"], made["alarms"], made["false_alarms"]) == (1, 2, 1)
    assert made["false_of_1000_notes"] == 250.0
    assert (made["older_hidden"], made["newer_hidden"], made["hidden"]) == (1, 0, 2)


def test_precision_and_recall_come_with_bounds() -> None:
    pairs = Pairs(
        Memories(["x"] * 8, ["1"] * 8, list("aabbccdd")), ["s"] * 4, [True] * 2 + [False] * 2
    )
    made = tasks.same(pairs, {1: 0, 4: 5})["s"]
    assert (made["right"], made["merged"], made["mergeable"], made["pairs"]) == (1, 2, 2, 4)
    share, low, high = made["precision"]
    assert low < share == 0.5 < high
    assert tasks.bounded(0, 0) is None
    assert tasks.bounded(0, 40) == [0.0, 0.0, 0.088]


# --------------------------------------------------------------------------------------- tools


def hidden(name: str, memories: Memories, count: int = 0) -> dict[int, int]:
    tool = opened(name, Opening(Path("unused"), count=count))
    return tasks.settled(tool.hide(memories.texts, memories.times, memories.scopes), memories)


def test_equal_texts_are_hidden_within_their_scope() -> None:
    memories = Memories(["a", "b", "a", "a"], ["1", "2", "3", "4"], ["s", "s", "s", "t"])
    assert hidden("equal text", memories) == {2: 0}
    assert hidden("no change", memories) == {}


def test_a_threshold_of_words_knows_no_other_scope() -> None:
    texts = ["the port is open", "Port is open, the", "the port is open", "a boat"]
    memories = Memories(texts, ["1", "2", "3", "4"], ["s", "s", "t", "t"])
    assert hidden("token_set .90", memories) == {1: 0}


class Letters:
    """An encoder without a model: a vector is made of the first letters."""

    model = "letters"

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([[ord(letter) % 7 for letter in text[:5]] for text in texts], np.float32)


@pytest.mark.parametrize("measure", [TokenSet(), Cosine(Letters())])
def test_blocks_of_similarities_give_all_pairs_of_a_store(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{word} port {number}" for number in range(4) for word in ("open", "shut", "front")]
    pairs = [*combinations(range(len(texts)), 2)]
    near = measure.of([(texts[i], texts[j]) for i, j in pairs])
    expected = [pair for pair, value in zip(pairs, near, strict=True) if value >= 0.8]
    assert 0 < len(expected) < len(pairs)
    for rows in (1, 5, 100):
        monkeypatch.setattr("benchmarks.baselines.BLOCK", rows)
        assert [*measure.within(texts, 0.8)] == expected


def test_lot_hides_as_many_as_it_is_told_and_the_same_ones_each_time() -> None:
    memories = Memories(["x"] * 40, ["1"] * 40, ["s"] * 40)
    first = hidden("by lot, as many", memories, 7)
    assert len(first) == 7
    assert first == hidden("by lot, as many", memories, 7)


@pytest.fixture(scope="module")
def ports() -> Memories:
    texts = [
        "The api listens on port 8080.",
        "- The api listens on port 8080",
        "The api listens on port 9090.",
    ]
    days = [f"2026-03-0{day}T10:00:00+00:00" for day in (1, 2, 3)]
    return Memories(texts, days, ["s"] * 3)


def test_a_plan_hides_the_copy_and_with_updates_the_older_value(ports: Memories) -> None:
    copies = hidden("echoless dedup", ports)
    assert len(copies) == 1
    assert 2 not in copies
    assert hidden("echoless dedup --with-updates", ports) == {0: 2, 1: 2}


def test_the_audit_names_the_older_and_the_newer_memory(ports: Memories) -> None:
    tool = opened("echoless dedup", Opening(Path("unused")))
    assert tool.name is not None
    named = {*tool.name(ports.texts, ports.times, ports.scopes)}
    assert named
    assert all(newer == 2 for _, newer in named)


def test_what_is_written_through_the_guard_leaves_the_newest_value(ports: Memories) -> None:
    assert hidden("echoless remember --supersede", ports) == {0: 2, 1: 2}


def test_the_tool_that_the_page_shows_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (corpora.HERE / "page.md").read_text("utf-8"), re.DOTALL
    )
    assert len(code.splitlines()) <= 10
    (tmp_path / "my_tool.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    memories = Memories(["A b", "a b", "a b"], ["1", "2", "3"], ["s", "s", "t"])
    assert hidden("my_tool", memories) == {1: 0}


def test_a_module_without_the_function_is_refused() -> None:
    with pytest.raises(ImportError, match=r"json has no function hide\(texts, times, scopes\)"):
        opened("json", Opening(Path("unused")))


# ------------------------------------------------------------------------------------- command


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "public.json"
    monkeypatch.setattr(command, "KEPT", place)
    monkeypatch.setattr(page, "PAGE", tmp_path / "benchmark.md")
    monkeypatch.setattr(page, "PICTURE", tmp_path / "benchmark.svg")
    return place


def test_a_run_keeps_figures_with_their_origin_and_writes_the_page(
    folder: Path, kept: Path
) -> None:
    command.main(["--from", str(folder), "--tasks", "evidence", "--tools", "no change,equal text"])
    (first, second) = json.loads(kept.read_text("utf-8"))["lines"]
    assert (first["tool"], second["tool"]) == ("no change", "equal text")
    assert second["figures"]["hidden"] == 0
    assert first["origin"]["command"].startswith("python -m benchmarks.public --from FOLDER")
    assert str(folder) not in kept.read_text("utf-8")
    assert "| `no change`, `equal text` | 0 | 0 |" in page.PAGE.read_text("utf-8")
    command.main(["--from", str(folder), "--tasks", "evidence", "--tools", "equal text"])
    assert len(json.loads(kept.read_text("utf-8"))["lines"]) == 2


def test_a_tool_that_cannot_run_is_said_on_the_page(folder: Path, kept: Path) -> None:
    command.main(["--from", str(folder), "--tasks", "evidence", "--tools", "no_such_tool"])
    assert "no figures: ended with 1: " in page.PAGE.read_text("utf-8")
    assert "no_such_tool" in page.PAGE.read_text("utf-8")


def test_a_tool_that_takes_too_long_is_ended_and_said_on_the_page(folder: Path, kept: Path) -> None:
    arguments = ["--from", str(folder), "--tasks", "current", "--sizes", "6k"]
    command.main([*arguments, "--tools", "equal text", "--minutes", "0.0001"])
    assert "| `equal text` | no figures: ended after 0.0001 minutes |  |" in page.PAGE.read_text(
        "utf-8"
    )


def test_a_name_with_a_comma_can_be_asked_for_and_needs_what_echoless_hides(
    folder: Path, kept: Path
) -> None:
    arguments = ["--from", str(folder), "--tasks", "current", "--sizes", "6k"]
    command.main([*arguments, "--tools", "by lot, as many, equal text"])
    (lot, equal) = json.loads(kept.read_text("utf-8"))["lines"]
    assert (lot["tool"], equal["tool"]) == ("by lot, as many", "equal text")
    assert "has to be measured before it" in lot["failed"]


def test_facts_of_each_size_stand_side_by_side_and_equal_rows_are_one() -> None:
    values = {"first": 40, "rightly": 1, "wrongly": 2}
    figures = {**values, "superseded": 1_700, "recognised": 9, "newest": values}
    made = {"task": "current", "names": True, "figures": figures,
            "origin": dict.fromkeys(("command", "date", "commit", "source"), "")}  # fmt: skip
    better = {**figures, "newest": {**values, "first": 50}}
    text = page.text(
        [
            {**made, "corpus": "FactConsolidation 6k", "tool": "one"},
            {**made, "corpus": "FactConsolidation 6k", "tool": "two"},
            {**made, "corpus": "FactConsolidation 6k", "tool": "own", "figures": better},
            {**made, "corpus": "FactConsolidation 64k", "tool": "own"},
        ]
    )
    assert "| tool | 6k | 6k, the newest stays | 64k | 64k, the newest stays |" in text
    assert "| `one`, `two` | 40: 1, 2 | the same | - | - |" in text
    assert "| `own` | 40: 1, 2 | 50: 1, 2 | 40: 1, 2 | the same |" in text
    assert "Superseded facts: 1,700 (6k), 1,700 (64k)." in text
    assert "Recognised of them: 9 / - by `one`, `two`; 9 / 9 by `own`." in text


def test_an_unknown_task_and_a_missing_folder_end_the_command(folder: Path) -> None:
    with pytest.raises(SystemExit, match=r"no task 'speed'\. Known: evidence"):
        command.main(["--from", str(folder), "--tasks", "speed"])
    with pytest.raises(SystemExit, match="--from FOLDER"):
        command.main([])


def test_the_console_script_is_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tomllib.loads((ROOT / "packages" / "bench" / "pyproject.toml").read_text("utf-8"))
    ((name, target),) = project["project"]["scripts"].items()
    assert EntryPoint(name, target, "console_scripts").load() is command.main
    (root,) = project["tool"]["hatch"]["build"]["dev-mode-dirs"]
    assert (ROOT / "packages" / "bench" / root).resolve() == ROOT
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit, match="0"):
        command.main()
    assert capsys.readouterr().out.startswith(f"usage: {name} ")


def test_what_is_hidden_can_be_written_for_a_reader(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "read.jsonl"
    arguments = ["--from", str(folder), "--tasks", "updates", "--tools", "equal text", "--dry-run"]
    command.main([*arguments, "--show", str(place)])
    (row,) = map(json.loads, place.read_text("utf-8").splitlines())
    assert row["texts"] == ["I keep the list in a notebook."] * 2
    assert row["hidden"] == row["stays"] == corpora.digest("I keep the list in a notebook.")
    assert (row["label"], row["tool"]) == ("", "equal text")


def test_a_picture_has_a_dot_for_each_tool_that_hides() -> None:
    lines = [
        {"task": "evidence", "corpus": "LoCoMo", "tool": tool,
         "figures": {"hidden": count, "lost": count, "chance": 2.0 * count}}
        for tool, count in (("no change", 0), ("one", 3), ("other", 9))
    ]  # fmt: skip
    drawn = picture(lines)
    assert drawn.count("<circle") == 4  # in the chart and in the legend
    assert "no change" not in drawn


def test_tools_with_the_same_figures_share_a_dot_that_names_both() -> None:
    lines = [
        {"task": "evidence", "corpus": "LoCoMo", "tool": tool,
         "figures": {"hidden": 30, "lost": 9, "chance": 20.0}}
        for tool in ("one", "other")
    ]  # fmt: skip
    assert ">1, 2</text>" in picture(lines)


def test_a_number_stands_below_its_dot_where_another_dot_is_above() -> None:
    lines = [
        {"task": "evidence", "corpus": "LoCoMo", "tool": tool,
         "figures": {"hidden": hidden, "lost": lost, "chance": 100.0}}
        for tool, hidden, lost in (("low", 30, 9), ("near", 34, 12), ("far", 240, 90))
    ]  # fmt: skip
    drawn = picture(lines)
    dots = [int(y) for y in re.findall(r'cy="(\d+)"', drawn)[:3]]
    numbers = [int(y) for y in re.findall(r'y="(\d+)"[^>]*bold[^>]*>\d<', drawn)]
    assert [number > dot for number, dot in zip(numbers, dots, strict=True)] == [True, False, False]


def test_the_page_is_that_of_the_kept_results() -> None:
    lines = json.loads((command.RESULTS / "public.json").read_text("utf-8"))["lines"]
    assert page.PAGE.read_text("utf-8") == page.text(lines)
    assert page.PICTURE.read_text("utf-8") == picture(lines)
    assert {line["tool"] for line in lines} == {*TOOLS}
