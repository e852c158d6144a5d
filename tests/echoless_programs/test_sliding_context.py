"""The cleanup of sliding-context: the acceptance cases, driven through its public doors."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from echoless.core.errors import (
    EcholessError,
    EncoderError,
    ForeignStore,
    StoreError,
    StoreNotFound,
    UsageError,
)
from echoless_programs.sliding_context import (
    Cleanup,
    cosine_similarity,
    group_similar,
    parse_args,
    run_cleanup,
)
from echoless_stores.lancedb.store import LanceStore
from tests.echoless_programs.context_tables import (
    EAST,
    MIRRORED,
    NEAR,
    NOTHING,
    SOUTH,
    START,
    UP,
    WEST,
    Row,
    build,
    entry,
    rows_of,
    schema,
    version_of,
)
from tests.model_server import ModelServer, asked_for_json, fails, merged, prompt_of, running


@dataclass
class Told:
    """A cleanup with stubs for both models, and what it said."""

    folder: Path
    write: Callable[[str], str] = lambda _prompt: "This text is what the model has merged."
    said: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    def complete(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.write(prompt) if len(self.prompts) > 1 else "OK"

    def run(self, *flags: str, embed: Callable[[Sequence[str]], object] | None = None) -> Cleanup:
        return run_cleanup(
            parse_args(["--db-path", str(self.folder), *flags]),
            complete=self.complete,
            embed=embed or (lambda texts: [list(UP) for _ in texts]),  # type: ignore[arg-type]
            say=self.said.append,
            warn=self.warned.append,
        )


@pytest.fixture
def cleanup(tmp_path: Path) -> Callable[..., Told]:
    def make(*rows: Row, **more: object) -> Told:
        return Told(build(tmp_path / "lancedb", rows), **more)  # type: ignore[arg-type]

    return make


def beside(told: Told) -> list[str]:
    """What lies beside the database, hidden files aside."""
    return sorted(p.name for p in told.folder.parent.iterdir() if p.name[0] != ".")


FIVE = [
    entry(
        1,
        "Build 42 was deployed to staging. It runs.",
        EAST,
        hasDecision=True,
        topics='["deploy", "staging"]',
        telegramMessageIds="[30, 7]",
    ),
    entry(2, "The build was deployed to staging.", NEAR[0.99], topics='["build"]'),
    entry(3, "The build runs on staging.", NEAR[0.95], topics='["staging","build"]', sessionKey=""),
    entry(4, "Lunch is at noon.", SOUTH),
    entry(5, "Anna is on leave.", WEST),
]


# ------------------------------------------------------------------ grouping


def test_the_threshold_itself_does_not_group(cleanup: Callable[..., Told]) -> None:
    """sliding-context 16."""
    told = cleanup(entry(1, "One thing.", EAST), entry(2, "Other thing.", NEAR[0.85]))
    assert told.run("--dry-run").groups == 0
    assert told.run("--dry-run", "--similarity", "0.84").groups == 1
    assert cosine_similarity(EAST, NEAR[0.85]) == 0.85


def test_above_the_threshold_is_one_group(cleanup: Callable[..., Told]) -> None:
    """sliding-context 16."""
    told = cleanup(entry(1, "One thing.", EAST), entry(2, "Other thing.", NEAR[0.90]))
    assert told.run("--dry-run").groups == 1


def test_a_group_is_begun_by_its_oldest_entry(cleanup: Callable[..., Told]) -> None:
    """sliding-context 17."""
    told = cleanup(
        entry(1, "The middle.", EAST),
        entry(2, "One end.", NEAR[0.95]),
        entry(3, "The other end.", MIRRORED),
    )
    done = told.run("--dry-run")
    assert (done.groups, done.remaining) == (1, 1)
    assert cosine_similarity(NEAR[0.95], MIRRORED) == pytest.approx(0.805, abs=1e-6)


def test_an_end_as_the_oldest_does_not_reach_the_other_end(cleanup: Callable[..., Told]) -> None:
    """sliding-context 17."""
    told = cleanup(
        entry(1, "One end.", NEAR[0.95]),
        entry(2, "The middle.", EAST),
        entry(3, "The other end.", MIRRORED),
    )
    done = told.run("--dry-run", "--similarity", "0.9")
    assert (done.groups, done.remaining) == (1, 2)
    assert "Group 1 (2 entries):" in told.said
    with LanceStore.open(f"{told.folder}#context_entries") as store:
        (group,) = group_similar(list(store.scan()), 0.9)
    assert [memory.id for memory in group] == ["e1", "e2"]


def test_texts_do_not_group_only_vectors_do(cleanup: Callable[..., Told]) -> None:
    told = cleanup(entry(1, "Same words.", EAST), entry(2, "Same words.", SOUTH))
    assert told.run("--dry-run").groups == 0


def test_the_order_of_the_rows_changes_nothing(tmp_path: Path) -> None:
    said = []
    for turn in range(3):
        rows = list(FIVE)
        random.Random(turn).shuffle(rows)
        told = Told(build(tmp_path / str(turn), rows))
        told.run("--dry-run")
        said.append(told.said)
    assert said[0] == said[1] == said[2]


def test_a_cosine_is_none_where_nothing_can_be_compared() -> None:
    assert cosine_similarity(EAST, NOTHING) is None
    assert cosine_similarity(EAST, EAST[:5]) is None
    assert cosine_similarity(EAST, (float("nan"), *EAST[1:])) is None
    assert cosine_similarity((1e200, 0), (1e200, 0)) == 1.0


# ------------------------------------------------------------------ dry run and execution


def test_a_dry_run_changes_nothing_and_needs_no_key(
    cleanup: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """sliding-context 18."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    told = cleanup(*FIVE)
    version, before = version_of(told.folder), rows_of(told.folder)
    said: list[str] = []
    run_cleanup(parse_args(["--db-path", str(told.folder), "--dry-run"]), say=said.append)
    assert said == [
        "Loaded 5 entries.",
        "Found 1 group(s) of similar entries to merge.",
        "[DRY RUN] Skipping backup.",
        "Group 1 (3 entries):",
        '  "Build 42 was deployed to staging. It runs."',
        '  "The build was deployed to staging."',
        '  "The build runs on staging."',
        "  [DRY RUN] Would merge 3 entries.",
        "[DRY RUN] Would merge 1 groups, reducing 5 entries to 3 entries.",
    ]
    assert (version_of(told.folder), rows_of(told.folder)) == (version, before)
    assert beside(told) == ["lancedb"]


def test_an_executed_cleanup_backs_up_merges_and_says_so(cleanup: Callable[..., Told]) -> None:
    """sliding-context 19."""
    told = cleanup(*FIVE, write=lambda _prompt: "Build 42 was deployed to staging and runs there.")
    before = rows_of(told.folder)
    backup = told.folder.parent / "copy"
    done = told.run("--backup-dir", str(backup))
    assert rows_of(backup) == before
    assert told.said[2:4] == [f"Backing up database to: {backup}", "Backup complete."]
    assert told.said[-1] == ("Done. Merged 1 groups, reduced 5 entries to 3 entries (removed 2).")
    assert (done.exit_code, told.warned) == (0, [])
    after = rows_of(told.folder)
    assert sorted(after) == ["e3", "e4", "e5"]
    assert after["e3"] == {
        **before["e3"],
        "summary": "Build 42 was deployed to staging and runs there.",
        "vector": list(UP),
        "timestamp": START + 3,
        "hasDecision": True,
        "topics": '["staging","build","deploy"]',
        "telegramMessageIds": "[2,3,7,30]",
    }


def test_the_default_backup_lies_beside_with_the_time_in_its_name(
    cleanup: Callable[..., Told],
) -> None:
    """sliding-context 19."""
    told = cleanup(*FIVE)
    told.run("--no-llm")
    (backup,) = [name for name in beside(told) if ".backup." in name]
    assert backup.removeprefix("lancedb.backup.").isdecimal()
    assert len(rows_of(told.folder.parent / backup)) == 5


def test_the_model_sees_all_texts_in_full_most_recent_first(cleanup: Callable[..., Told]) -> None:
    long = "It was long. " * 300
    told = cleanup(entry(1, long, EAST), entry(2, "It was\nshort, really.", NEAR[0.99]))
    told.run()
    told.run("--locale", "en")
    german = told.prompts[1]
    assert german.index("1. It was short, really.") < german.index(f"2. {long.strip()}")
    assert "ein bis drei Sätzen" in german


def test_an_english_prompt_is_english(cleanup: Callable[..., Told]) -> None:
    told = cleanup(*FIVE)
    told.run("--locale", "en")
    assert "one to three sentences" in told.prompts[1]


def test_a_text_that_loses_a_number_is_not_taken(cleanup: Callable[..., Told]) -> None:
    """sliding-context 20."""
    told = cleanup(*FIVE, write=lambda _prompt: "The build was deployed to staging.")
    told.run()
    assert rows_of(told.folder)["e3"]["summary"] == (
        "The build runs on staging. The build was deployed to staging. "
        "Build 42 was deployed to staging. It runs."
    )
    assert "  The model's text was not taken: it leaves out 42." in told.said


def test_a_text_that_loses_a_file_name_or_is_too_short_is_not_taken(
    cleanup: Callable[..., Told],
) -> None:
    told = cleanup(
        entry(1, "Edited src/app.py today.", EAST),
        entry(2, "The app was edited.", NEAR[0.99]),
        entry(3, "Tea is ready.", SOUTH),
        entry(4, "The tea is ready.", SOUTH),
        write=lambda prompt: "Tea." if "Tea" in prompt else "The app in src was edited.",
    )
    told.run()
    after = rows_of(told.folder)
    assert after["e2"]["summary"] == "The app was edited. Edited src/app.py today."
    assert after["e4"]["summary"] == "The tea is ready. Tea is ready."


def test_a_failing_group_leaves_its_rows_and_the_rest_goes_on(
    cleanup: Callable[..., Told],
) -> None:
    """sliding-context 21."""

    def write(prompt: str) -> str:
        if "staging" in prompt:
            raise TimeoutError("no answer")
        return "Lunch is at noon as always."

    told = cleanup(*FIVE, entry(6, "Lunch is at noon as always.", SOUTH), write=write)
    before = rows_of(told.folder)
    done = told.run()
    after = rows_of(told.folder)
    assert {id_: after[id_] for id_ in ("e1", "e2", "e3")} == {
        id_: before[id_] for id_ in ("e1", "e2", "e3")
    }
    assert sorted(after) == ["e1", "e2", "e3", "e5", "e6"]
    assert told.said[-1] == "Done. Merged 1 groups, reduced 6 entries to 5 entries (removed 1)."
    assert done.exit_code == 1
    assert told.warned == [
        "Group 1 failed, its entries stay (e3, e1, e2): no answer",
    ]


def test_a_group_whose_removal_fails_is_put_back_and_the_rest_goes_on(
    cleanup: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """sliding-context 21. Also repair 1, 5 and 8: the store itself fails midway."""
    told = cleanup(*FIVE, entry(6, "Lunch is at noon as always.", SOUTH))
    before = rows_of(told.folder)
    remove = LanceStore.remove

    def fails(self: LanceStore, ids: Sequence[str]) -> None:
        if "e1" in ids:
            raise StoreError("no space")
        remove(self, ids)

    monkeypatch.setattr(LanceStore, "remove", fails)
    done = told.run("--no-llm")
    after = rows_of(told.folder)
    assert {id_: after[id_] for id_ in ("e1", "e2", "e3")} == {
        id_: before[id_] for id_ in ("e1", "e2", "e3")
    }
    assert sorted(after) == ["e1", "e2", "e3", "e5", "e6"]
    assert (done.exit_code, done.merged, done.removed) == (1, 1, 1)
    assert "no space" in told.warned[0]


def test_a_removal_that_claims_success_is_not_believed(
    cleanup: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repair 8: only a fresh read is evidence."""
    told = cleanup(*FIVE)
    before = rows_of(told.folder)
    monkeypatch.setattr(LanceStore, "remove", lambda _self, _ids: None)
    done = told.run("--no-llm")
    assert (done.exit_code, done.removed) == (1, 0)
    assert "it is still there" in told.warned[0]
    assert rows_of(told.folder) == before
    assert told.said[-1] == "Done. Merged 0 groups, reduced 5 entries to 5 entries (removed 0)."


def test_a_cleanup_that_died_midway_is_rolled_back_by_check(
    cleanup: Callable[..., Told], echoless: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the write of the survivor and the removal of the others."""
    told = cleanup(*FIVE)
    before = rows_of(told.folder)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LanceStore, "remove", dies)
        patch.setattr(
            "echoless.execution.recovery.recover", lambda _store: []
        )  # no one is left to recover
        with pytest.raises(KeyboardInterrupt):
            told.run("--no-llm")
    halfway = rows_of(told.folder)
    assert sorted(halfway) == sorted(before)
    assert halfway["e3"] != before["e3"]
    checked = echoless("check", f"lancedb:///{told.folder}#context_entries")
    assert checked.exit_code == 0, checked.output
    assert rows_of(told.folder) == before


def test_a_group_that_changed_meanwhile_is_left_alone(cleanup: Callable[..., Told]) -> None:
    told = cleanup(*FIVE)

    def embed(texts: Sequence[str]) -> list[list[float]]:
        if texts[0] != "probe":
            with LanceStore.open(f"{told.folder}#context_entries") as other, other.writing():
                other.remove(["e2"])
        return [list(UP)]

    done = told.run("--no-llm", embed=embed)
    assert done.exit_code == 1
    assert "e2 is gone" in told.warned[0]
    assert sorted(rows_of(told.folder)) == ["e1", "e3", "e4", "e5"]


@pytest.mark.parametrize(
    ("flags", "embed", "error", "says"),
    [
        ([], lambda _texts: 1 / 0, EncoderError, "The embedding model failed .ZeroDivisionError"),
        ([], lambda _texts: [[1.0] * 5], EncoderError, "vectors of 5 numbers, the table holds 6"),
        ([], lambda _texts: [list(NOTHING)], EncoderError, "zero or not finite"),
        ([], lambda _texts: [], EncoderError, "0 vectors for one text"),
        (["--backup-dir", "{parent}"], None, StoreError, "exists. Name another"),
        (["--backup-dir", "{db}/copy"], None, StoreError, "lies inside"),
    ],
)
def test_what_is_wrong_beforehand_changes_nothing(
    cleanup: Callable[..., Told],
    flags: list[str],
    embed: Callable[[Sequence[str]], object] | None,
    error: type[EcholessError],
    says: str,
) -> None:
    """sliding-context 22."""
    told = cleanup(*FIVE)
    version = version_of(told.folder)
    words = [each.format(parent=told.folder.parent, db=told.folder) for each in flags]
    with pytest.raises(error, match=says):
        told.run(*words, embed=embed)
    assert version_of(told.folder) == version
    assert beside(told) == ["lancedb"]


def test_a_model_that_does_not_answer_the_probe_changes_nothing(
    cleanup: Callable[..., Told],
) -> None:
    """sliding-context 22."""
    told = cleanup(*FIVE)
    told.prompts.append("skips the friendly answer to the probe")
    told.write = lambda _prompt: 1 / 0  # type: ignore[assignment,return-value]
    with pytest.raises(EcholessError, match="The model that merges failed"):
        told.run()
    assert beside(told) == ["lancedb"]


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """sliding-context 22."""
    with pytest.raises(StoreNotFound, match="does not exist"):
        Told(tmp_path / "nowhere").run()
    assert list(tmp_path.iterdir()) == []


def test_a_backup_that_differs_is_removed_and_nothing_changes(
    cleanup: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """sliding-context 22: a count that does not match."""
    from echoless_programs.sliding_context import cleanup as job

    told = cleanup(*FIVE)
    version = version_of(told.folder)
    copy = job.shutil.copytree

    def slow(source: Path, target: Path, **more: object) -> None:
        monkeypatch.undo()
        copy(source, target, **more)
        with LanceStore.open(f"{target}#context_entries") as other, other.writing():
            other.remove(["e5"])

    monkeypatch.setattr(job.shutil, "copytree", slow)
    with pytest.raises(StoreError, match="4 entries and differs from the 5"):
        told.run("--no-llm", "--backup-dir", str(told.folder.parent / "copy"))
    assert not (told.folder.parent / "copy").exists()
    assert version_of(told.folder) == version


def test_differing_numbers_are_merged_and_both_kept(cleanup: Callable[..., Told]) -> None:
    """sliding-context 23."""
    told = cleanup(entry(1, "Build 41 passed", EAST), entry(2, "Build 42 passed", NEAR[0.99]))
    told.run()
    assert rows_of(told.folder)["e2"]["summary"] == "Build 42 passed. Build 41 passed"


def test_with_guards_differing_numbers_are_held_and_named(cleanup: Callable[..., Told]) -> None:
    """sliding-context 23."""
    told = cleanup(entry(1, "Build 41 passed", EAST), entry(2, "Build 42 passed", NEAR[0.99]))
    done = told.run("--guards")
    assert done.groups == 0
    assert told.said[1].startswith('Held: "Build 41 passed" / "Build 42 passed" (number guard')
    assert len(rows_of(told.folder)) == 2


def test_sessions_of_other_types_stay_apart_unless_told(cleanup: Callable[..., Told]) -> None:
    """sliding-context 24."""
    told = cleanup(
        entry(1, "Said here.", EAST),
        entry(2, "Said there.", NEAR[0.99], sessionType="group"),
        entry(3, "Said elsewhere.", NEAR[0.99], channel="signal"),
    )
    assert told.run("--dry-run").groups == 0
    assert told.run("--dry-run", "--across-sessions").groups == 1


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "Not enough entries to deduplicate."),
        ([FIVE[0]], "Not enough entries to deduplicate."),
        (FIVE[2:], "No duplicates found. Database is clean."),
    ],
)
def test_nothing_to_do_is_said_without_a_backup(
    cleanup: Callable[..., Told], rows: list[Row], says: str
) -> None:
    """sliding-context 25."""
    told = cleanup(*rows)
    done = told.run()
    assert told.said == [f"Loaded {len(rows)} entries.", says]
    assert (done.exit_code, beside(told)) == (0, ["lancedb"])


def test_an_id_with_a_quote_is_removed_and_nothing_else(cleanup: Callable[..., Told]) -> None:
    """sliding-context 26."""
    told = cleanup(*FIVE[3:], {**FIVE[0], "id": "o'x' OR 'a'='a"}, FIVE[1])
    told.run("--no-llm")
    assert sorted(rows_of(told.folder)) == ["e2", "e4", "e5"]


def test_a_zero_vector_is_skipped_and_named(cleanup: Callable[..., Told]) -> None:
    """sliding-context 26."""
    told = cleanup(*FIVE, entry(6, FIVE[4]["summary"], NOTHING), entry(7, "No vector.", NOTHING))  # type: ignore[arg-type]
    told.run("--dry-run")
    assert "Skipped (vector is zero): e6, e7" in told.said


def test_the_placeholder_row_is_no_entry(cleanup: Callable[..., Told]) -> None:
    """sliding-context 26."""
    told = cleanup({**entry(0, "schema", EAST), "id": "__schema__"}, FIVE[0], FIVE[1])
    told.run("--no-llm")
    assert told.said[0] == "Loaded 2 entries."
    assert told.said[-1] == "Done. Merged 1 groups, reduced 2 entries to 1 entries (removed 1)."
    assert sorted(rows_of(told.folder)) == ["__schema__", "e2"]


def test_broken_json_is_told_once_and_left_as_it_is(cleanup: Callable[..., Told]) -> None:
    told = cleanup(*FIVE, entry(6, "Odd one.", UP, topics="[oops"))
    told.run("--no-llm")
    assert sum("'topics' cannot be read in 1 row (e6)" in line for line in told.said) == 1
    assert rows_of(told.folder)["e6"]["topics"] == "[oops"


def test_an_older_table_without_some_columns_keeps_its_sessions_apart(tmp_path: Path) -> None:
    columns = schema()
    for gone in ("telegramMessageIds", "hasDecision", "sessionFile"):
        columns = columns.remove(columns.get_field_index(gone))
    rows = [FIVE[0], FIVE[1], {**FIVE[2], "sessionType": "group"}]
    made = lancedb.connect(str(tmp_path / "db")).create_table("context_entries", schema=columns)
    made.add(pa.Table.from_pylist(rows, schema=columns))
    done = Told(tmp_path / "db").run("--no-llm")
    assert (done.merged, sorted(rows_of(tmp_path / "db"))) == (1, ["e2", "e3"])


def test_a_table_of_other_columns_is_refused(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.string()), ("text", pa.string())])
    lancedb.connect(str(tmp_path / "db")).create_table("context_entries", schema=columns)
    with pytest.raises(ForeignStore, match="other columns than sliding-context writes"):
        Told(tmp_path / "db").run("--dry-run")


def test_many_alike_entries_become_one_group(cleanup: Callable[..., Told]) -> None:
    """No budget of pairs breaks a group up."""
    rows = [entry(n, f"Word {n}.", (1.0, n / 10_000, 0, 0, 0, 0)) for n in range(150)]
    assert cleanup(*rows).run("--dry-run").remaining == 1


# ------------------------------------------------------------------ the command


@pytest.fixture
def echoless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, list(words), prog_name="echoless")

    return call


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ([], "Error: --db-path is required\n"),
        (["--db-path", "x", "--similarity", "1.2"], "1.2 is not above 0 and below 1"),
        (["--db-path", "x", "--similarity", "0"], "0 is not above 0 and below 1"),
        (["--db-path", "x", "--similarity", "nan"], "nan is not above 0 and below 1"),
        (["--db-path", "x", "--similarity", "x"], "'x' is not a valid float"),
        (["--db-path", "x", "--locale", "fr"], "'fr' is not one of 'de', 'en'"),
        (["--db-path", "x", "--wat"], "No such option"),
    ],
)
def test_a_wrong_call_ends_with_two(
    echoless: Callable[..., Result], flags: list[str], says: str
) -> None:
    """sliding-context 27."""
    result = echoless("sliding-context", "cleanup", *flags)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
    with pytest.raises(UsageError):
        parse_args(flags)


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with running() as server:
        yield server


def writes(text: str) -> Callable[[dict[str, Any]], str]:
    """An entry of a script: this text for a merge, OK for the probe."""
    return lambda body: merged(text) if asked_for_json(body) else "OK"


@pytest.fixture
def online(
    models: ModelServer, echoless: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """The command with both servers on loopback."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", models.root)
    monkeypatch.setenv("OPENAI_BASE_URL", models.url)
    models.script = [writes("Build 42 was deployed to staging and runs there.")]

    def call(folder: Path, *flags: str) -> Result:
        keys = ["--api-key", "key-a", "--embedding-api-key", "key-b", "--embedding-model", "tiny"]
        where = ["sliding-context", "cleanup", "--db-path", str(folder)]
        return echoless(*where, *keys, *flags)

    return call


def test_the_command_asks_real_servers_each_with_its_own_key(
    online: Callable[..., Result], models: ModelServer, tmp_path: Path
) -> None:
    """sliding-context 19, over HTTP; repair 3."""
    folder = build(tmp_path / "lancedb", FIVE)
    result = online(folder)
    assert result.exit_code == 0, result.output
    assert 'Merged: "Build 42 was deployed to staging and runs there."' in result.stdout
    assert set(models.keys) == {("/v1/messages", "key-a"), ("/v1/embeddings", "key-b")}
    assert len(rows_of(folder)) == 3


def test_a_server_that_refuses_ends_with_one_and_keeps_the_key_to_itself(
    online: Callable[..., Result], models: ModelServer, tmp_path: Path
) -> None:
    """sliding-context 22, over HTTP."""
    folder = build(tmp_path / "lancedb", FIVE)
    models.script = [fails(401, "bad key-a")]
    result = online(folder)
    assert result.exit_code == 1
    assert "with status 401: bad [key]" in result.stderr
    assert version_of(folder) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lancedb"]


def test_a_server_without_a_text_fails_the_group(
    online: Callable[..., Result], models: ModelServer, tmp_path: Path
) -> None:
    folder = build(tmp_path / "lancedb", FIVE)
    models.script = [lambda body: "" if "staging" in prompt_of(body) else "OK"]
    result = online(folder)
    assert result.exit_code == 1
    assert "answered without a text" in result.stderr
    assert result.stdout.endswith("reduced 5 entries to 5 entries (removed 0).\n")


def test_no_key_ends_with_one_and_says_which(
    echoless: Callable[..., Result], tmp_path: Path
) -> None:
    """sliding-context 22."""
    folder = build(tmp_path / "lancedb", FIVE)
    call = ("sliding-context", "cleanup", "--db-path", str(folder))
    for flags, says in (
        ([], "ANTHROPIC_API_KEY. --no-llm merges without a model"),
        (["--no-llm"], "6 numbers, which tells no model. Name it with --embedding-model"),
        (["--no-llm", "--embedding-model", "tiny"], "needs a key: set OPENAI_API_KEY"),
    ):
        result = echoless(*call, *flags)
        assert result.exit_code == 1
        assert says in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lancedb"]


def test_without_the_library_the_extra_is_named(
    echoless: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("echoless.core.optional.find_spec", lambda _module: None)
    result = echoless("sliding-context", "cleanup", "--db-path", str(tmp_path))
    assert result.exit_code == 1
    assert 'sliding-context needs the extra "lancedb": pip install' in result.stderr


# ------------------------------------------------------------------ a real, messy table


def messy() -> list[Row]:
    """Hundreds of entries: 40 matters told one to ten times, in two channels, with odd cells."""
    dice = random.Random(7)
    rows: list[Row] = []
    for matter in range(40):
        centre = [dice.gauss(0, 1) for _ in range(12)]
        for _ in range(1 + matter % 10):
            number = len(rows)
            vector = [each + dice.gauss(0, 0.08) for each in centre]
            odd = {"topics": "{broken" if number % 31 == 0 else f'["t{matter}", "u{number % 4}"]'}
            kind = "group" if number % 9 == 0 else "dm"
            text = f"Matter {matter} moved on: step {number % 5}, see notes/m{matter}.md"
            rows.append(
                entry(number, text, vector, sessionType=kind, **odd)
                | {"channel": None if number % 17 == 0 else "telegram"}
                | {"timestamp": START + dice.randrange(10**9) + number / 7}
                | {"hasDecision": None if number % 5 == 0 else number % 2 == 0}
            )
    dice.shuffle(rows)
    return [*rows, {**entry(0, "schema", centre), "id": "__schema__"}]


def test_a_messy_table_is_cleaned_and_taken_back_by_the_commands(
    online: Callable[..., Result],
    echoless: Callable[..., Result],
    models: ModelServer,
    tmp_path: Path,
) -> None:
    rows = messy()
    assert len(rows) > 200
    folder = build(tmp_path / "lancedb", rows, dimensions=12)
    models.embed = [lambda texts: [[1.0] + [0.0] * 11 for _ in texts]]
    before = rows_of(folder)
    preview = online(folder, "--dry-run")
    result = online(folder, "--no-llm")
    assert result.exit_code == 0, result.output
    after = rows_of(folder)
    promised = preview.stdout.splitlines()[-1].split()
    assert f"reduced {promised[7]} entries to {promised[10]} entries" in result.stdout
    assert len(after) == int(promised[10]) + 1 < len(before) / 2
    changed = {id_ for id_ in after if after[id_] != before[id_]}
    assert all(after[id_] == before[id_] for id_ in after.keys() - changed)
    assert all(before[id_]["timestamp"] == after[id_]["timestamp"] for id_ in after)
    told = " ".join(str(row["summary"]) for row in after.values())
    assert all(f"notes/m{matter}.md" in told for matter in range(40))

    (line,) = [each for each in result.stdout.splitlines() if each.startswith("Undo: ")]
    undone = echoless(*shlex.split(line.removeprefix("Undo: echoless ").split(" (")[0]))
    assert undone.exit_code == 0, undone.output
    assert rows_of(folder) == before


def test_the_common_commands_work_on_the_table_too(
    echoless: Callable[..., Result], tmp_path: Path
) -> None:
    """Where the text of a duplicate is dropped, differing figures are held."""
    same = entry(6, "The build runs on staging.", NEAR[0.99])
    folder = build(tmp_path / "lancedb", [*FIVE, same])
    before = rows_of(folder)
    report = echoless("audit", str(folder))
    assert report.exit_code == 0, report.output
    refused = echoless("dedup", str(folder), "--apply")
    assert refused.exit_code == 2
    assert "Say so with --action delete" in refused.stderr
    done = echoless("dedup", str(folder), "--apply", "--action", "delete")
    assert done.exit_code == 0, done.output
    assert sorted(rows_of(folder)) == ["e1", "e4", "e5", "e6"]
    assert echoless("undo", f"lancedb:///{folder}#context_entries", "last").exit_code == 0
    assert rows_of(folder) == before
