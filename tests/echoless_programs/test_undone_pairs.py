"""What was undone is not offered again by the commands of other programs, until a text changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from echoless import open_store
from echoless.core.errors import StoreError
from echoless.execution import rollback as undoing
from echoless.execution.recovery import recover
from echoless_programs.ego_mcp import merge_memories, run
from echoless_programs.stores.llm_memory import LlmMemoryStore
from echoless_stores.chroma.store import ChromaStore
from tests.conformance.stores import simple
from tests.echoless_programs.context_tables import EAST, NEAR, build, entry
from tests.echoless_programs.llm_memory_files import C99, A, File
from tests.echoless_programs.shodh_stores import FOUR
from tests.echoless_programs.shodh_stores import build as notes
from tests.echoless_programs.test_ego_mcp import NOW, ONE, VECTORS, mem, row
from tests.echoless_stores.chroma_folders import make

Call = Callable[..., Result]


@pytest.fixture
def file(place: Path, monkeypatch: pytest.MonkeyPatch) -> File:
    monkeypatch.setenv("LLM_MEMORY_DATABASE_PATH", str(place / "llm_memory.db"))
    monkeypatch.setenv("LLM_MEMORY_DEFAULT_NAMESPACE", "proj")
    made = File(place / "llm_memory.db")
    made.add("m-1", A, "The deploy key lies in the vault.")
    made.add("m-2", C99, "The deploy key is in the vault.")
    made.add("m-3", A, "The deploy key lives in the vault.")
    return made


def told(result: Result, code: int = 0) -> dict[str, object]:
    assert result.exit_code == code, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_an_undone_merge_of_llm_memory_is_not_offered_again(echoless: Call, file: File) -> None:
    """Failure 5; every pair of the group, or two of the three would be merged next."""
    url = f"llm-memory:///{file.path}"
    done = told(echoless("llm-memory", "deduplicate", "--no-dry-run"))
    assert done["merged"] == 2
    assert "Remembered as different: 3 pairs." in echoless("undo", url, str(done["run"])).stdout
    again = told(echoless("llm-memory", "deduplicate"))
    assert (again["total_groups"], again["kept_apart"]) == (0, 3)
    assert told(echoless("llm-memory", "deduplicate", "--no-dry-run"))["merged"] == 0
    file.run("UPDATE memories SET content = 'The deploy key hangs in the vault.' WHERE id = 'm-1'")
    again = told(echoless("llm-memory", "deduplicate"))
    assert (again["total_duplicates"], again["kept_apart"]) == (1, 1), "it is another text now"


def test_an_undo_can_ask_for_the_pairs_to_be_offered_again(echoless: Call, file: File) -> None:
    """Failure 5: the way back for those who undo a run to do it otherwise."""
    done = told(echoless("llm-memory", "deduplicate", "--no-dry-run"))
    said = echoless("undo", f"llm-memory:///{file.path}", str(done["run"]), "--no-keep-both")
    assert "Remembered as different" not in said.stdout
    assert told(echoless("llm-memory", "deduplicate"))["total_duplicates"] == 2


def test_an_undone_cluster_of_wt_memory_is_not_offered_again(echoless: Call, place: Path) -> None:
    """Failure 5."""
    notes(place / "store", FOUR)
    words = ("wt-memory", "dedup", "--store", str(place / "store"))
    assert told(echoless(*words)) == {"deleted_count": 2, "merged_count": 1}
    assert echoless("undo", str(place / "store"), "last").exit_code == 0
    plan = told(echoless(*words, "--dry-run"))
    assert (plan["would_delete"], plan["kept_apart"]) == (0, 3)
    assert told(echoless(*words))["deleted_count"] == 0
    audit = echoless("wt-memory", "audit", "--store", str(place / "store")).stdout
    assert "3 pairs stay apart: undone before, or answered with skip." in audit


def test_an_undone_merge_of_ego_mcp_is_not_offered_again(echoless: Call, place: Path) -> None:
    """Failure 5."""
    rows = [row(1, ONE, text="Short answers, please."), row(2, VECTORS[0.99], text="Be brief.")]
    make(place / "data" / "chroma", "ego_memories", rows, embedding_function=None)
    with ChromaStore.open(f"{place}/data") as store:
        assert len(run(store, now=NOW).merge_candidates) == 1
        done = merge_memories(store, mem(1), mem(2))
    assert echoless("undo", f"{place}/data", done.run).exit_code == 0
    with ChromaStore.open(f"{place}/data") as store:
        assert run(store, now=NOW).merge_candidates == ()


def test_an_undone_cleanup_of_sliding_context_is_not_offered_again(
    echoless: Call, place: Path
) -> None:
    """Failure 5."""
    build(
        place / "lancedb",
        [entry(1, "The build runs.", EAST), entry(2, "The build ran.", NEAR[0.99])],
    )
    url = f"lancedb:///{place}/lancedb#context_entries"
    assert echoless("dedup", url, "--apply", "--action", "delete", "--json").exit_code == 0
    assert echoless("undo", url, "last").exit_code == 0
    words = ("sliding-context", "cleanup", "--db-path", str(place / "lancedb"), "--dry-run")
    result = echoless(*words)
    assert result.exit_code == 0, result.output
    assert "--- Group" not in result.stdout
    with open_store(url) as store:
        assert len(store.ledger.kept()) == 1


@pytest.mark.parametrize(("words", "groups"), [((), 1), (("--keep-both",), 0)])
def test_a_plain_dedup_finds_again_what_was_undone_unless_told(
    echoless: Call, place: Path, words: tuple[str, ...], groups: int
) -> None:
    """Failure 5: as `docs/safety.md` says; a store of its own has no contract but that."""
    url = f"sqlite:///{place}/a.db"
    with open_store(url, create=True) as store, store.writing():
        store.put([simple(n, "The build runs on staging.") for n in (1, 2)])
    told(echoless("dedup", url, "--apply", "--json"))
    assert echoless("undo", url, "last", *words).exit_code == 0
    again = told(echoless("dedup", url, "--json"))
    assert len(again["groups"]) == groups  # type: ignore[arg-type]


def test_an_undo_that_is_cut_off_remembers_its_pairs_too(
    file: File, echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure 5: the pairs were written with the last step, so a crash before it forgot them."""
    done = told(echoless("llm-memory", "deduplicate", "--no-dry-run"))
    with LlmMemoryStore.open(str(file.path)) as store:

        def full(*_: object) -> None:
            raise StoreError("No space is left.")

        with monkeypatch.context() as patch, pytest.raises(StoreError):
            patch.setattr(LlmMemoryStore, "put", full)
            undoing.undo(store, str(done["run"]))
        with store.writing():
            assert [each.outcome for each in recover(store)] == ["finished"]
        assert len(store.ledger.kept()) == 3
    assert file.ids() == ["m-1", "m-2", "m-3"]


def test_of_a_very_large_group_the_pairs_with_the_survivor_are_remembered(
    file: File, echoless: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure 5: the pairs of a group grow with its square; what is left out is said."""
    monkeypatch.setattr(undoing, "WIDEST", 2)
    monkeypatch.setattr("echoless.cli.execution.WIDEST", 2)
    done = told(echoless("llm-memory", "deduplicate", "--no-dry-run"))
    said = echoless("undo", f"llm-memory:///{file.path}", str(done["run"])).stdout
    assert "Remembered as different: 2 pairs." in said
    assert "Of 1 group with more than 2 memories only pairs with the survivor." in said


def test_last_names_the_run_where_only_additions_are_left(echoless: Call, place: Path) -> None:
    """`undo last` passes over a run that only added: what it says leads to its id."""
    url = f"sqlite:///{place}/a.db"
    added = told(echoless("remember", url, "The build runs on staging.", "--create", "--json"))
    result = echoless("undo", url, "last")
    assert result.exit_code != 0
    assert f"echoless undo {url} {added['run']}" in " ".join(result.stderr.split())


def test_notes_that_an_import_brought_back_are_counted_by_their_run(
    echoless: Call, place: Path
) -> None:
    """An older export, imported after a dedup, brings the victims back; nobody said so."""
    ids = notes(place / "store", FOUR)
    words = ("wt-memory", "dedup", "--store", str(place / "store"))
    assert told(echoless(*words))["deleted_count"] == 2
    with open_store(f"shodh:///{place}/store") as store:
        (survivor,) = {m.id for m in store.scan()} & set(ids[:3])
        run = undoing.history(store.ledger)[-1].id
    # what `wt-memory import` does: a note whose id stands as `original_id` is known
    missing = [(id_, *note) for id_, note in zip(ids[:3], FOUR, strict=False) if id_ != survivor]
    notes(
        place / "store",
        [(text, {**more, "metadata": {"original_id": id_}}) for id_, text, more in missing],
    )
    plan = echoless(*words, "--dry-run")
    assert told(plan)["returned"] == 2
    assert f"2 of these were removed by {run} and are back" in plan.stderr
    assert f"by {run} and are back" in echoless("wt-memory", "audit", *words[2:]).stdout
    assert told(echoless(*words))["deleted_count"] == 2, "and they are removed again"
