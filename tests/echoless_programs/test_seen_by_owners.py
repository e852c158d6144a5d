"""What echoless hides and the owner of a store still sees: said before, after, when deleting."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless import open_store
from tests.conformance.stores import simple
from tests.echoless_programs.recall_database import Recall
from tests.echoless_programs.test_ego_mcp import ONE, mem, row
from tests.echoless_stores.chroma_folders import held, make

Call = Callable[..., Result]


@pytest.fixture
def ego(place: Path) -> str:
    """Three memories of ego-mcp, two of them alike."""
    rows = [
        row(1, ONE, text="Short answers, please."),
        row(2, ONE, text="Short answers, please."),
        row(3, (0, 1, 0, 0, 0, 0), text="Tea at four."),
    ]
    make(place / "data" / "chroma", "ego_memories", rows, embedding_function=None)
    return f"{place}/data"


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_hiding_in_chroma_says_that_its_own_program_still_sees_the_memories(
    echoless: Call, ego: str
) -> None:
    """Failure 7b: `57 memories hidden`, and ego-mcp went on showing all 57."""
    preview = echoless("dedup", ego)
    assert "Marks hide memories from echoless alone" in squeezed(preview.stderr)
    move = f"echoless dedup 'chroma:///{ego}/chroma?hide=move#ego_memories' --apply"
    assert f"`{move}` moves them out of its sight" in squeezed(preview.stderr)
    done = echoless("dedup", ego, "--apply")
    assert "1 memory hidden in 1 group." in done.stdout
    said = squeezed(done.stderr)
    assert "They are hidden from echoless alone" in said
    assert f"--no-keep-both`, and then `{move}`" in said
    assert held(Path(ego) / "chroma", "ego_memories").keys() == {mem(1), mem(2), mem(3)}


def test_data_for_programs_says_it_too(echoless: Call, ego: str) -> None:
    """Failure 7b, in `--json`."""
    for words, said in (((), 1), (("--apply",), 1), ((), 0)):
        notes = json.loads(echoless("dedup", ego, *words, "--json").stdout)["notes"]
        assert sum("go on seeing them" in note for note in notes) == said


def test_apply_says_it_too(echoless: Call, ego: str, place: Path) -> None:
    """Failure 7b, where the plan was made before."""
    assert echoless("dedup", ego, "--plan", str(place / "plan.json")).exit_code == 0
    said = echoless("apply", ego, str(place / "plan.json")).stderr
    assert "They are hidden from echoless alone" in squeezed(said)


def test_deleting_what_is_hidden_already_says_why_nothing_is_found_and_what_to_do(
    echoless: Call, ego: str
) -> None:
    """Failure 7b: `0 groups`, and not a word of the hidden ones. Law 6: nothing escalates."""
    run = json.loads(echoless("dedup", ego, "--apply", "--json").stdout)["applied"]
    result = echoless("dedup", ego, "--action", "delete", "--apply")
    assert result.exit_code == 0
    said = squeezed(result.stderr)
    assert "Hidden already, and left in the store by --action delete: 1 memory." in said
    back = f"echoless undo {ego} {run} --no-keep-both"
    assert f"undo first `{back}`, and give this command again" in said
    assert held(Path(ego) / "chroma", "ego_memories").keys() == {mem(1), mem(2), mem(3)}
    assert echoless(*back.split()[1:]).exit_code == 0
    again = echoless("dedup", ego, "--action", "delete", "--apply")
    assert "1 memory removed" in again.stdout or "1 memory deleted" in again.stdout
    assert len(held(Path(ego) / "chroma", "ego_memories")) == 2


def test_where_all_readers_see_the_mark_nothing_is_said(echoless: Call, place: Path) -> None:
    """Failure 7b: echoless's own store has no other reader, and Recall hides what is marked."""
    with open_store(f"sqlite:///{place}/a.db", create=True) as store, store.writing():
        store.put([simple(n, "The build runs on staging.") for n in (1, 2)])
    base = Recall(place / "recall.db")
    for _ in range(2):
        base.breadcrumb("The build runs on the staging host.", project="p")
    for url in (f"{place}/a.db", f"{place}/recall.db"):
        for words in ((), ("--apply",)):
            result = echoless("dedup", url, *words, "--json")
            assert json.loads(result.stdout)["groups"] or words
            assert "alone" not in result.stderr
            assert not any("alone" in note for note in json.loads(result.stdout)["notes"])


# ------------------------------------------------------------------ programs that are running


def test_who_writes_to_chroma_is_told_to_start_ego_mcp_again(echoless: Call, ego: str) -> None:
    """An open ego-mcp fails in `search` after a write; only the docs said to stop it."""
    again = "keeps its old view of it, and its searches may fail: start it again"
    words = ("ego-mcp", "merge", mem(1), mem(2), "--store", ego)
    preview = echoless(*words)
    assert "Stop ego-mcp, then add --apply to merge." in preview.stdout
    assert again not in squeezed(preview.stderr)
    merged = echoless(*words, "--apply")
    assert again in squeezed(merged.stderr)
    assert again in squeezed(echoless("undo", ego, "last").stderr)
    hidden = echoless("dedup", ego, "--profile", "safe", "--apply")
    assert again not in squeezed(hidden.stderr), "only the lineage was written"


def test_the_preview_of_a_merge_lists_links_one_a_line(echoless: Call, place: Path) -> None:
    """All links stood on one line, as JSON."""
    links = [
        {"target_id": mem(9), "link_type": "similar", "confidence": 0.91, "note": "said twice"},
        {"target_id": mem(8), "link_type": "related", "confidence": 0.5, "note": ""},
    ]
    rows = [
        row(1, ONE, text="Short answers, please.", tags="style"),
        row(2, ONE, text="Short answers!", tags="tone", linked_ids=json.dumps(links)),
        row(8, (0, 1, 0, 0, 0, 0), text="Tea at four."),
        row(9, (0, 0, 1, 0, 0, 0), text="The cat sleeps."),
    ]
    make(place / "data" / "chroma", "ego_memories", rows, embedding_function=None)
    shown = echoless("ego-mcp", "merge", mem(1), mem(2), "--store", f"{place}/data").stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    at = lines.index("links: 2")
    assert lines[at + 1 : at + 3] == [
        f"{mem(9)} similar 0.91 said twice",
        f"{mem(8)} related 0.5",
    ]
    assert 'tags: ["style", "tone"]' in lines
    assert "{" not in shown
