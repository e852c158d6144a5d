"""A job gives the plan of one process, goes on where it stopped, and records what fails."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from echoless.core.errors import InputError, UsageError
from echoless.core.model import Memory
from echoless.core.settings import Choices
from echoless.engines.engine import Engine, lost
from echoless.engines.job import Job, Partition, partitions_of, refreshed
from echoless.engines.job_apply import apply_job, runs_of_job, undo_job
from echoless.engines.job_run import (
    JobOutcome,
    OpenJob,
    failed_partitions,
    finished_partitions,
    open_job,
    read_job,
    run_job,
)
from echoless.engines.partition_files import FAILURE, REPORT, Failed, Finished, file_name
from echoless.engines.partition_worker import Task, run_partition
from echoless.engines.registry import open_engine
from echoless.engines.results import LocalFolder
from echoless.stores.base import Store
from echoless.workflows.audit.incremental import unpacked
from echoless.workflows.audit.namespace_report import Page
from echoless.workflows.audit.report import audit
from echoless.workflows.dedupe.pipeline import find
from tests.engines.worlds import (
    CHOICES,
    FACTS,
    deadly_encoder,
    digest_of,
    digest_of_one,
    filled,
    plan_of_one,
)


class InProcess:
    """An engine that runs each partition here, and loses those it was told to."""

    def __init__(self, losing: Iterable[int] = ()) -> None:
        self.losing = list(losing)
        self.ran: list[int] = []

    def run(
        self, task: Task, partitions: Iterable[Partition], *, alone: bool = False
    ) -> Iterator[Finished | Failed]:
        for partition in partitions:
            self.ran.append(partition.number)
            if partition.number in self.losing:
                self.losing.remove(partition.number)
                yield lost(partition)
            else:
                yield run_partition(task, partition)

    def close(self) -> None:
        pass


def opened_job(
    store: Store, place: Path, choices: Choices = CHOICES, *, memories: int = 20
) -> OpenJob:
    return open_job(store, choices, LocalFolder(place), memories=memories)


def ran(store: Store, opened: OpenJob, engine: Engine | None = None) -> JobOutcome:
    return run_job(opened, store.url, engine or InProcess())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with filled(f"sqlite:///{tmp_path}/many.db", 9) as opened:
        yield opened


# ------------------------------------------------------------------ the same plan


def test_the_plans_of_a_job_together_are_the_plan_of_one_process(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    outcome = ran(store, opened)
    assert len(opened.partitions) == 5
    assert digest_of(opened.results) == digest_of_one(store)
    assert outcome.redundant == 18
    assert outcome.groups == len(plan_of_one(store).actions)


def pages_of(data: bytes) -> list[Page]:
    column = parquet.read_table(io.BytesIO(data), columns=["page"]).column("page")
    pages = [unpacked(page) for page in column.to_pylist()]
    assert None not in pages
    return [page for page in pages if page is not None]


def test_the_reports_of_a_job_together_are_the_report_of_one_process(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    names = [file_name(partition.number, REPORT) for partition in opened.partitions]
    files = [opened.results.read(name) or b"" for name in names]
    pages = {page.namespace: page for data in files for page in pages_of(data)}
    whole = audit(find(store, opened.job.resolved()))
    assert pages == {page.namespace: page for page in whole.pages}


TEXTS = st.sampled_from((*FACTS, "", "The quota is 5 GB.", "The quota is 6 GB.", "same", "Same."))
NAMES = st.sampled_from(("", "a", "b", "ä/…", "x y"))


@settings(max_examples=25)
@given(
    rows=st.lists(st.tuples(NAMES, TEXTS), max_size=30),
    size=st.integers(1, 12),
)
def test_any_cut_into_partitions_gives_the_plan_of_one_process(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], size: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    memories = [
        Memory(id=f"m{at}", content=text, namespace=name) for at, (name, text) in enumerate(rows)
    ]
    with filled(f"sqlite:///{folder}/any.db", 0, memories) as any_store:
        opened = opened_job(any_store, folder / "job", memories=size)
        outcome = ran(any_store, opened)
        assert not outcome.failed
        assert outcome.memories == len(rows)
        assert digest_of(opened.results) == digest_of_one(any_store)


@given(sizes=st.dictionaries(st.text(max_size=3), st.integers(1, 50)), most=st.integers(1, 60))
def test_every_namespace_is_in_one_partition(sizes: dict[str, int], most: int) -> None:
    partitions = partitions_of(sizes, memories=most)
    placed = [name for partition in partitions for name in partition.namespaces]
    assert sorted(placed) == sorted(sizes)
    assert [p.number for p in partitions] == list(range(len(partitions)))
    assert all(p.memories <= most or len(p.namespaces) == 1 for p in partitions)
    firsts = [max(sizes[name] for name in p.namespaces) for p in partitions]
    assert firsts == sorted(firsts, reverse=True)


def test_a_namespace_keeps_its_partition_when_others_come_and_go() -> None:
    known = partitions_of({"a": 3, "b": 3, "c": 3}, memories=6)
    after = refreshed(known, {"a": 5, "c": 3, "d": 1})
    assert [p.namespaces for p in after] == [("a", "b"), ("c",), ("d",)]
    assert [p.memories for p in after] == [5, 3, 1]


# ------------------------------------------------------------------ going on


def test_a_second_run_looks_at_changed_partitions_only(store: Store, tmp_path: Path) -> None:
    first = opened_job(store, tmp_path / "job")
    ran(store, first)
    changed = Memory(id="new", content="Backups run  every night", namespace="user 4")
    with store.writing():
        store.put([changed, Memory(id="n", content="One text.", namespace="a new user")])
    again = opened_job(store, tmp_path / "job")
    outcome = ran(store, again)
    assert again.job == first.job
    assert (outcome.finished, outcome.unchanged) == (2, 4)
    assert digest_of(again.results) == digest_of_one(store)


def test_a_job_that_stopped_anywhere_goes_on_there(store: Store, tmp_path: Path) -> None:
    opened = opened_job(store, tmp_path / "job")

    class Stopped(InProcess):
        def run(
            self, task: Task, partitions: Iterable[Partition], *, alone: bool = False
        ) -> Iterator[Finished | Failed]:
            for at, outcome in enumerate(super().run(task, partitions, alone=alone)):
                if at == 2:
                    raise KeyboardInterrupt
                yield outcome

    with pytest.raises(KeyboardInterrupt):
        ran(store, opened, Stopped())
    outcome = ran(store, opened_job(store, tmp_path / "job"))
    assert (outcome.finished, outcome.unchanged) == (2, 3)
    assert digest_of(opened.results) == digest_of_one(store)


def test_a_survivor_that_was_moved_and_edited_has_its_old_partition_looked_at_again(
    store: Store, tmp_path: Path
) -> None:
    first = opened_job(store, tmp_path / "job", memories=7)
    ran(store, first)
    apply_job(store, first)
    ran(store, first)
    survivor = store.ledger.marks()["004-1"].survivor
    moved = replace(store.get([survivor])[survivor], namespace="user 8")
    with store.writing():
        store.put([moved])
    ran(store, opened_job(store, tmp_path / "job", memories=7))
    with store.writing():
        store.put([replace(moved, content="Backups run every week.")])
    again = opened_job(store, tmp_path / "job", memories=7)
    ran(store, again)
    assert digest_of(again.results) == digest_of_one(store)
    (own,) = [p.number for p in again.partitions if "user 4" in p.namespaces]
    data = again.results.read(file_name(own, REPORT)) or b""
    (page,) = pages_of(data)
    (of_one,) = [
        page
        for page in audit(find(store, again.job.resolved())).pages
        if page.namespace == "user 4"
    ]
    assert page == of_one


def test_a_damaged_report_is_made_anew(store: Store, tmp_path: Path) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    opened.results.write(file_name(1, REPORT), b"no parquet")
    outcome = ran(store, opened)
    assert (outcome.finished, outcome.unchanged) == (1, 4)
    assert digest_of(opened.results) == digest_of_one(store)


def test_an_empty_store_is_a_job_of_no_partitions(tmp_path: Path) -> None:
    with filled(f"sqlite:///{tmp_path}/empty.db", 0) as empty:
        opened = opened_job(empty, tmp_path / "job")
        assert opened.partitions == ()
        assert ran(empty, opened) == JobOutcome()


# ------------------------------------------------------------------ what fails


def test_a_lost_partition_is_tried_again_and_the_rest_goes_on(store: Store, tmp_path: Path) -> None:
    opened = opened_job(store, tmp_path / "job")
    engine = InProcess(losing=[1, 3, 3])
    outcome = ran(store, opened, engine)
    assert engine.ran == [0, 1, 2, 3, 4, 1, 3, 3]
    assert (outcome.finished, outcome.attempts, outcome.failed) == (5, 3, [])
    assert digest_of(opened.results) == digest_of_one(store)


def test_a_partition_that_always_fails_is_recorded_and_its_success_later_clears_that(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    outcome = ran(store, opened, InProcess(losing=[2] * 3))
    assert outcome.finished == 4
    assert [(f.number, f.kind, f.attempts) for f in outcome.failed] == [(2, "lost", 3)]
    assert list(failed_partitions(opened.results)) == outcome.failed
    ran(store, opened)
    assert list(failed_partitions(opened.results)) == []
    assert digest_of(opened.results) == digest_of_one(store)


def test_a_worker_of_another_version_stops_the_job_with_the_reason(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    other = replace(opened, job=replace(opened.job, rules="0" * 32))
    with pytest.raises(UsageError, match="other versions of echoless"):
        ran(store, other)
    assert not list(finished_partitions(opened.results))


def test_memories_that_change_all_the_time_are_left_for_a_later_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_job(store, tmp_path / "job", memories=1_000)
    task = Task(opened.job, store.url, opened.results.place)
    writes = iter(range(100))

    def find_while_written(*given: object, **options: object) -> object:
        found = find(*given, **options)  # type: ignore[arg-type]
        with store.writing():
            text = f"Note {next(writes)}."
            store.put([Memory(id="busy", content=text, namespace="user 1")])
        return found

    monkeypatch.setattr("echoless.engines.partition_worker.find", find_while_written)
    outcome = run_partition(task, opened.partitions[0])
    assert isinstance(outcome, Failed)
    assert "changed each time" in outcome.reason
    monkeypatch.undo()
    assert isinstance(run_partition(task, opened.partitions[0]), Finished)


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        (Choices(limit=5), "setting limit"),
        (Choices(verifier="openai:gpt"), "--verifier"),
        (Choices(namespace="nobody"), "no namespace 'nobody'"),
    ],
)
def test_settings_that_cannot_be_cut_are_refused(
    store: Store, tmp_path: Path, choices: Choices, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        opened_job(store, tmp_path / "job", choices)
    assert not (tmp_path / "job").exists()


def test_another_job_at_the_same_place_is_refused(store: Store, tmp_path: Path) -> None:
    opened_job(store, tmp_path / "job")
    with pytest.raises(UsageError, match="other settings"):
        opened_job(store, tmp_path / "job", Choices(encoder="none", threshold=("0.9",)))
    with (
        filled(f"sqlite:///{tmp_path}/other.db", 1) as other,
        pytest.raises(UsageError, match="another store"),
    ):
        opened_job(other, tmp_path / "job")


NESTED = pytest.param(b"[" * 1_100, id="nested without end")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"echoless_job": 1}', b"\xff", NESTED])
def test_a_damaged_job_is_named(store: Store, tmp_path: Path, content: bytes) -> None:
    opened = opened_job(store, tmp_path / "job")
    opened.results.write("job.json", content)
    with pytest.raises(InputError, match=r"job\.json|damaged"):
        read_job(opened.results)


def test_lists_and_failures_nested_without_end_are_named(store: Store, tmp_path: Path) -> None:
    opened = opened_job(store, tmp_path / "job")
    opened.results.write(file_name(1, FAILURE), b"[" * 1_100)
    with pytest.raises(InputError, match="damaged"):
        list(failed_partitions(opened.results))
    for listed in (b"[" * 1_100, b'[1e999, 2, ["a"]]'):
        opened.results.write("partitions.jsonl", listed)
        with pytest.raises(InputError, match=r"partitions\.jsonl is damaged"):
            read_job(opened.results)


def test_a_job_keeps_its_settings_and_no_password(tmp_path: Path, store: Store) -> None:
    choices = Choices(encoder="none", threshold=("lexical=0.4",), namespace="user 1")
    opened = opened_job(store, tmp_path / "job", choices)
    assert [p.namespaces for p in opened.partitions] == [("user 1",)]
    read = read_job(opened.results)
    assert read == opened
    secret = replace(opened.job, store="postgresql://ana:secret@db/agents")
    assert "secret" in json.dumps(secret.to_json())  # `make_job` takes it out before
    assert Job.from_json(opened.job.to_json(), "x") == opened.job


# ------------------------------------------------------------------ carrying out


def test_plans_are_carried_out_once_and_taken_back_as_they_were(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    before = digest_of_one(store)
    runs = apply_job(store, opened)
    assert (len(runs.runs), runs.counts["mark"], runs.used) == (5, 18, 0)
    again = apply_job(store, opened)
    assert (again.runs, again.used) == ([], 5)
    assert runs_of_job(store, opened.job.id) == runs.runs
    undone, conflicts = undo_job(store, opened.job.id)
    assert (undone, conflicts) == (runs.runs[::-1], {})
    assert runs_of_job(store, opened.job.id) == []
    assert digest_of_one(store) == before


def test_after_an_undo_the_same_job_plans_anew(store: Store, tmp_path: Path) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    apply_job(store, opened)
    undo_job(store, opened.job.id)
    outcome = ran(store, opened)
    assert outcome.finished == 5
    assert len(apply_job(store, opened).runs) == 5


def test_after_a_job_was_carried_out_the_next_one_has_nothing_to_do(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    apply_job(store, opened)
    outcome = ran(store, opened)
    assert (outcome.finished, outcome.redundant, outcome.planned) == (5, 0, 0)
    assert apply_job(store, opened).runs == []


def test_a_record_edited_since_the_plan_is_refused_and_the_rest_is_carried_out(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    edited = replace(store.get(["004-0"])["004-0"], content="Backups run every week.")
    with store.writing():
        store.put([edited])
    runs = apply_job(store, opened)
    assert (runs.refused, runs.counts["mark"]) == (1, 17)


def test_an_edited_plan_is_refused_and_the_others_are_carried_out(
    store: Store, tmp_path: Path
) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    content = opened.results.read("0000002.plan.json") or b""
    opened.results.write("0000002.plan.json", content.replace(b'"mark"', b'"delete"'))
    runs = apply_job(store, opened)
    assert len(runs.runs) == 4
    assert "was edited" in runs.failed[2]


def test_a_rate_spreads_the_writing(store: Store, tmp_path: Path) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    pauses: list[float] = []
    runs = apply_job(store, opened, rate=0.01, pause=pauses.append)
    assert len(pauses) == 5
    assert pauses[-1] == pytest.approx(runs.counts["mark"] / 0.01, rel=0.05)


def test_of_two_jobs_on_one_store_the_second_hides_nothing_twice(
    store: Store, tmp_path: Path
) -> None:
    first = opened_job(store, tmp_path / "first", memories=20)
    second = opened_job(store, tmp_path / "second", memories=7)
    ran(store, first)
    ran(store, second)
    before = {memory.id: memory for memory in store.scan()}
    assert apply_job(store, first).counts["mark"] == 18
    late = apply_job(store, second)
    assert (late.counts["mark"], late.refused + len(late.failed)) == (0, 18)
    assert len(store.ledger.marks()) == 18
    undo_job(store, second.job.id)
    assert len(store.ledger.marks()) == 18
    undo_job(store, first.job.id)
    assert {memory.id: memory for memory in store.scan()} == before
    assert not store.ledger.marks()


def test_plans_for_another_store_are_refused(store: Store, tmp_path: Path) -> None:
    opened = opened_job(store, tmp_path / "job")
    ran(store, opened)
    with (
        filled(f"sqlite:///{tmp_path}/other.db", 1) as other,
        pytest.raises(UsageError, match="was made for"),
    ):
        apply_job(other, opened)


# ------------------------------------------------------------------ the engine of this machine


def test_processes_of_this_machine_give_the_plan_of_one_process_though_one_is_killed(
    tmp_path: Path,
) -> None:
    once = Memory(id="killer", content="This happens once.", namespace="user 3")
    poison = [
        Memory(id=f"poison {n}", content=f"The poison text {n}.", namespace="zz") for n in (1, 2)
    ]
    with (
        deadly_encoder(tmp_path / "deadly") as choices,
        filled(f"sqlite:///{tmp_path}/many.db", 4, [once, *poison]) as many,
    ):
        opened = opened_job(many, tmp_path / "job", choices, memories=8)
        engine = open_engine("local", 2)
        try:
            outcome = run_job(opened, many.url, engine, attempts=2)
        finally:
            engine.close()
        failed = [opened.partitions[each.number].namespaces for each in outcome.failed]
        assert failed == [("zz",)]
        assert outcome.failed[0].kind == "lost"
        assert outcome.finished + outcome.unchanged == 4
        assert (tmp_path / "deadly" / "killed").exists()
        with many.writing():
            many.remove([each.id for each in poison])
        assert digest_of(opened.results) == digest_of_one(many, choices)
