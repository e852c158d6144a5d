"""Workers claim the partitions of a job from a table in Postgres; what one loses another takes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from echoless.core.errors import InputError, StoreError, StoreLocked, UsageError
from echoless.core.model import Memory
from echoless.core.settings import Choices
from echoless.engines import partition_worker
from echoless.engines.job import Partition
from echoless.engines.job_apply import apply_job, undo_job
from echoless.engines.job_run import (
    ATTEMPTS,
    JobOutcome,
    OpenJob,
    failed_partitions,
    finished_partitions,
    open_job,
    read_job,
    run_job,
)
from echoless.engines.partition_files import Failed, Finished
from echoless.engines.partition_worker import PartitionWorker, Task
from echoless.engines.postgres_engine import PostgresEngine
from echoless.engines.postgres_queue import Queue
from echoless.engines.postgres_session import JobSession, PostgresResults
from echoless.engines.postgres_worker import WorkDone, work
from echoless.engines.registry import open_engine
from echoless.engines.results import LocalFolder, open_results
from echoless.stores.base import Store
from tests.engines.test_jobs import InProcess
from tests.engines.worlds import CHOICES, deadly_encoder, digest_of, digest_of_one, filled
from tests.postgres_server import Server


@pytest.fixture
def address(database: str) -> str:
    """Address of the results of a job in an empty database."""
    return f"postgresql://{database}#job"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with filled(f"sqlite:///{tmp_path}/many.db", 9) as opened:
        yield opened


def opened_job(
    store: Store, address: str, choices: Choices = CHOICES, *, memories: int = 20
) -> OpenJob:
    return open_job(store, choices, open_results(address), memories=memories)


def ran(store: Store, opened: OpenJob, count: int = 2) -> JobOutcome:
    engine = open_engine("postgres", count)
    try:
        return run_job(opened, store.url, engine)
    finally:
        engine.close()


def rows(address: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(address.partition("#")[0], autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def end_sessions(address: str) -> None:
    """Ends all other sessions of the database, as a restart of the server does."""
    rows(
        address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )


@contextmanager
def queue_of(address: str, job: str = "a job") -> Iterator[Queue]:
    """A queue over a session of its own, which ends with the block."""
    with closing(JobSession(address, reconnects=False)) as session:
        yield Queue(session, job)


@contextmanager
def worker_of(address: str, job: str = "a job") -> Iterator[Queue]:
    with queue_of(address, job) as queue:
        queue.enter()
        yield queue


def wait_until_free(queue: Queue) -> None:
    """Waits until the server noticed that a worker is gone, and frees its claim."""
    while not queue.free_lost():
        queue.wait(0.01)


def tables(address: str) -> None:
    with closing(JobSession(address)) as session:
        session.create_tables()


def partitions(count: int) -> list[Partition]:
    return [Partition(at, (f"user {at}", "a \\ \0 \ud800 name"), 100 - at) for at in range(count)]


# ------------------------------------------------------------------ results


def test_files_of_a_job_are_rows_that_are_read_back(address: str) -> None:
    results, other = open_results(address), open_results(address.replace("#job", "#other"))
    results.write("a", b"1")
    results.write("a", b"\0two\xff")
    results.write("b", b"")
    other.write("c", b"other")
    assert (results.read("a"), results.read("b"), results.read("c")) == (b"\0two\xff", b"", None)
    assert (results.names(), other.names()) == ({"a", "b"}, {"c"})
    results.remove("a")
    results.remove("none")
    assert results.names() == {"b"}


def test_reading_results_that_are_not_there_makes_nothing(address: str) -> None:
    results = open_results(address)
    assert results.read("a") is None
    assert results.names() == set()
    assert read_job(results) is None
    assert rows(address, "SELECT to_regnamespace('echoless_jobs')") == [(None,)]


def test_many_first_writers_at_once_make_the_tables(address: str) -> None:
    def write(number: int) -> None:
        with closing(JobSession(address)) as session:
            PostgresResults(session).write(f"f{number}", b"data")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(open_results(address).names()) == 8


def test_results_go_on_after_the_server_ended_their_session(address: str) -> None:
    results = open_results(address)
    results.write("a", b"1")
    end_sessions(address)
    with pytest.raises(StoreError, match=r"lost .*goes on there"):
        results.read("a")
    assert results.read("a") == b"1"


def test_a_password_is_in_no_place_and_no_message() -> None:
    address = "postgresql://me:s%20cret@localhost:1/db?sslmode=disable#my%20%2541"
    results = open_results(address)
    assert results.place == address.replace(":s%20cret", "")
    assert results.address == address
    with pytest.raises(StoreError, match="cannot be opened") as refused:
        results.read("a")
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("postgresql://me@host/db", "names no job"),
        ("postgresql://me@host/db?hide=move#job", "options of a store"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(place: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_results(place)


def test_a_role_without_rights_is_told_what_grants_them(address: str, server: Server) -> None:
    rows(address, "DO $$BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN OTHERS THEN NULL; END$$")
    guest = open_results(address.replace("postgres@", "guest@"))
    with pytest.raises(StoreError, match="CREATE SCHEMA echoless_jobs AUTHORIZATION guest"):
        guest.write("a", b"1")
    open_results(address).write("a", b"1")
    with pytest.raises(StoreError, match="GRANT USAGE ON SCHEMA echoless_jobs TO guest"):
        guest.read("a")
    rows(address, "DROP SCHEMA echoless_jobs CASCADE")
    rows(address, "CREATE SCHEMA echoless_jobs AUTHORIZATION guest")
    guest.write("a", b"1")
    assert guest.read("a") == b"1"


# ------------------------------------------------------------------ queue


def test_every_partition_is_claimed_once_by_twenty_workers(address: str) -> None:
    tables(address)
    whole = partitions(100)
    with queue_of(address) as driver:
        assert driver.enqueue(iter(whole)) == set(range(100))
    start = threading.Barrier(20)

    def claims(_: int) -> list[Partition]:
        with worker_of(address) as queue:
            start.wait()
            mine = []
            while (partition := queue.claim()) is not None:
                mine.append(partition)
                queue.record(Failed(number=partition.number, reason="\0 \ud800"))
            return mine

    with ThreadPoolExecutor(20) as pool:
        claimed = [each for mine in pool.map(claims, range(20)) for each in mine]
    assert sorted(claimed, key=lambda each: each.number) == whole
    with queue_of(address) as driver:
        ended = driver.take_outcomes()
        assert driver.open().waiting == driver.open().claimed == 0
    assert {each.number for each in ended} == set(range(100))
    assert {each.reason for each in ended if isinstance(each, Failed)} == {"\0 \ud800"}


def test_large_partitions_are_claimed_first(address: str) -> None:
    tables(address)
    with worker_of(address) as queue:
        queue.enqueue([Partition(0, ("a",), 5), Partition(1, ("b",), 50), Partition(2, ("c",), 5)])
        assert [queue.claim() for _ in range(4)] == [
            Partition(1, ("b",), 50), Partition(0, ("a",), 5), Partition(2, ("c",), 5), None,
        ]  # fmt: skip


def test_a_claim_is_free_when_its_session_ends_and_not_before(address: str) -> None:
    tables(address)
    with worker_of(address) as other:
        with worker_of(address) as lost:
            lost.enqueue(partitions(1))
            assert lost.claim() is not None
            assert not other.free_lost()
            assert other.claim() is None
        wait_until_free(other)
        assert other.claim() is not None
        assert other.take_outcomes() == []


def test_a_worker_whose_claim_was_taken_over_records_nothing(address: str) -> None:
    tables(address)
    with worker_of(address) as slow, worker_of(address) as other:
        slow.enqueue(partitions(1))
        taken = slow.claim()
        assert taken is not None
        rows(address, "UPDATE echoless_jobs.queue SET worker = NULL, state = 'waiting'")
        assert other.claim() == taken
        slow.record(Failed(number=0, reason="late"))
        assert other.take_outcomes() == []
        other.record(Failed(number=0, reason="in time"))
        assert [str(getattr(each, "reason", "")) for each in other.take_outcomes()] == ["in time"]


def test_a_partition_that_ends_each_worker_has_failed_after_some_attempts(address: str) -> None:
    tables(address)
    with queue_of(address) as driver:
        driver.enqueue(partitions(1))
        for _ in range(ATTEMPTS):
            assert driver.take_outcomes() == []
            with worker_of(address) as lost:
                assert lost.claim() is not None
            wait_until_free(driver)
        (failed,) = driver.take_outcomes()
        assert isinstance(failed, Failed)
        assert (failed.number, failed.kind, failed.attempts) == (0, "lasting", ATTEMPTS)
        with worker_of(address) as other:
            assert other.claim() is None


def test_a_claim_that_is_given_back_does_not_count(address: str) -> None:
    tables(address)
    with worker_of(address) as queue:
        queue.enqueue(partitions(1))
        for _ in range(ATTEMPTS + 1):
            claimed = queue.claim()
            assert claimed is not None
            queue.give_back(claimed)
    assert rows(address, "SELECT state, attempts FROM echoless_jobs.queue") == [("waiting", 0)]


def test_a_new_run_leaves_the_claims_of_living_workers(address: str) -> None:
    tables(address)
    with worker_of(address) as living, queue_of(address) as driver:
        with worker_of(address) as dead:
            driver.enqueue(partitions(3))
            assert living.claim() == partitions(3)[0]
            assert dead.claim() == partitions(3)[1]
            ours = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            assert rows(address, ours) == [(2,)]
        while rows(address, ours) != [(1,)]:
            living.wait(0.01)
        assert driver.enqueue(partitions(4)) == {0, 1, 2, 3}
        state = "SELECT number, state, attempts FROM echoless_jobs.queue ORDER BY number"
        assert rows(address, state) == [
            (0, "claimed", 1), (1, "waiting", 0), (2, "waiting", 0), (3, "waiting", 0),
        ]  # fmt: skip


def test_queues_of_two_jobs_are_apart(address: str) -> None:
    tables(address)
    with worker_of(address, "one") as one, worker_of(address, "two") as two:
        one.lock()
        two.lock()
        one.enqueue(partitions(1))
        two.enqueue([])
        assert two.claim() is None
        assert one.claim() is not None


# ------------------------------------------------------------------ workers


def enqueued(store: Store, address: str) -> OpenJob:
    """A job whose partitions wait, and which nobody runs any more."""
    opened = opened_job(store, address)
    with queue_of(address, opened.job.id) as driver:
        driver.enqueue(opened.partitions)
    return opened


def test_workers_alone_finish_what_a_run_that_died_had_enqueued(store: Store, address: str) -> None:
    opened = enqueued(store, address)
    told: list[WorkDone] = []
    assert work(address, url=store.url, progress=told.append) == WorkDone(finished=5)
    assert len(told) == 5
    assert work(address, url=store.url) == WorkDone()
    assert digest_of(opened.results) == digest_of_one(store)
    outcome = ran(store, opened, count=1)
    assert (outcome.finished, outcome.unchanged) == (0, 5)


def test_a_run_without_own_workers_waits_for_those_elsewhere(store: Store, address: str) -> None:
    opened = opened_job(store, address)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ran, store, opened, count=0)
        done = 0
        while not running.done():
            done += work(address, url=store.url).finished
    assert running.result().finished == done == 5
    assert digest_of(opened.results) == digest_of_one(store)


def test_a_worker_with_other_versions_claims_nothing(
    store: Store, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueued(store, address)
    monkeypatch.setattr(partition_worker, "rules_digest", lambda _settings: "another version")
    with pytest.raises(UsageError, match="other versions of echoless"):
        work(address, url=store.url)
    counts = "SELECT sum(attempts) FROM echoless_jobs.queue"
    assert rows(address, counts) == [(0,)]


def test_a_worker_of_another_store_or_of_no_job_claims_nothing(
    store: Store, address: str, tmp_path: Path
) -> None:
    with pytest.raises(
        InputError, match=r"no job at .*echoless jobs dedup STORE --engine postgres"
    ):
        work(address)
    enqueued(store, address)
    with filled(f"sqlite:///{tmp_path}/other.db", 1) as other:
        with pytest.raises(UsageError, match="another store"):
            work(address, url=other.url)


def test_a_worker_opens_no_store_elsewhere_that_only_the_job_names(
    store: Store, address: str, tmp_path: Path
) -> None:
    enqueued(store, address)
    with pytest.raises(InputError, match=rf"no password.*--store {store.url}"):
        work(address)
    assert rows(address, "SELECT sum(attempts) FROM echoless_jobs.queue") == [(0,)]
    with closing(JobSession(address)) as session:
        own = address.partition("#")[0]
        assert session.holds(f"{own}#notes")
        assert session.holds(f"{own.replace('postgres@', 'guest@')}&map=content:text#notes")
        assert not session.holds("postgresql://postgres@10.0.0.9/x#notes")
        assert not session.holds(f"{own}&port=7#notes")


def test_a_worker_that_loses_its_connection_ends_and_another_goes_on(
    store: Store, address: str
) -> None:
    enqueued(store, address)
    with pytest.raises(StoreError, match=r"lost .*What is finished is kept"):
        work(address, url=store.url, progress=lambda _done: end_sessions(address))
    assert work(address, url=store.url) == WorkDone(finished=4)


@pytest.fixture
def _heard_interrupts() -> Iterator[None]:
    """What a shell starts in the background ignores Ctrl-C; what runs at a terminal does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heard_interrupts")
@pytest.mark.parametrize(
    ("number", "ends"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_worker_that_is_told_to_end_gives_its_partition_back(
    store: Store,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    ends: type[BaseException],
) -> None:
    enqueued(store, address)

    def interrupted(_self: PartitionWorker, partition: Partition) -> Finished | Failed:
        signal.raise_signal(number)
        return Failed(number=partition.number, reason="not ended")

    monkeypatch.setattr(PartitionWorker, "run", interrupted)
    with pytest.raises(ends):
        work(address, url=store.url)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    counts = "SELECT count(*), sum(attempts) FROM echoless_jobs.queue WHERE state = 'waiting'"
    assert rows(address, counts) == [(5, 0)]


def test_a_worker_of_an_engine_ends_with_the_process_that_started_it(
    store: Store, address: str
) -> None:
    opened = opened_job(store, address)
    with queue_of(address, opened.job.id) as driver:
        driver.lock()  # the job is run, so the worker waits for more to do
        driver.enqueue([])
        process = subprocess.Popen(
            [sys.executable, "-m", "echoless.engines.postgres_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps({"results": address, "store": store.url}) + "\n")
        process.stdin.flush()
        while rows(address, "SELECT count(*) FROM pg_stat_activity WHERE query ~ 'LISTEN'") == [
            (0,)
        ]:
            assert process.poll() is None
        answer, _ = process.communicate(timeout=60)  # closes its standard input
        assert (process.returncode, answer) == (0, "")


# ------------------------------------------------------------------ the engine


def test_two_processes_make_the_plan_of_one_and_its_runs_are_taken_back(
    store: Store, address: str
) -> None:
    opened = opened_job(store, address)
    one = digest_of_one(store)
    outcome = ran(store, opened)
    assert (outcome.finished, outcome.attempts, outcome.redundant) == (5, 0, 18)
    assert digest_of(opened.results) == one
    again = read_job(open_results(address))
    assert again is not None
    assert (again.job, again.partitions) == (opened.job, opened.partitions)
    runs = apply_job(store, again)
    assert not runs.failed
    undone, conflicts = undo_job(store, opened.job.id)
    assert (len(undone), conflicts) == (5, {})


def test_killed_workers_lose_nothing_and_a_partition_that_kills_each_is_recorded(
    tmp_path: Path, address: str
) -> None:
    bad = [
        Memory(id="p", content="This one is poison.", namespace="user 3"),
        Memory(id="o", content="This one kills once.", namespace="user 5"),
    ]
    with (
        deadly_encoder(tmp_path / "encoder") as choices,
        filled(f"sqlite:///{tmp_path}/many.db", 6, bad) as store,
    ):
        opened = opened_job(store, address, choices, memories=10)
        outcome = ran(store, opened)
        (failed,) = failed_partitions(opened.results)
        finished = list(finished_partitions(opened.results))
    assert [each.number for each in outcome.failed] == [failed.number]
    assert (failed.attempts, failed.kind) == (ATTEMPTS, "lasting")
    assert "ended without an answer" in failed.reason
    assert opened.partitions[failed.number].namespaces == ("user 3",)
    assert len(finished) == outcome.finished == len(opened.partitions) - 1
    assert (tmp_path / "encoder" / "killed").exists()


def test_other_engines_use_the_database_too_and_no_password_is_written(
    store: Store, address: str
) -> None:
    opened = opened_job(store, address.replace("postgres@", "postgres:s3cret@"))
    tasks: list[Task] = []

    class Watched(InProcess):
        def run(
            self, task: Task, partitions: Iterable[Partition], *, alone: bool = False
        ) -> Iterator[Finished | Failed]:
            tasks.append(task)
            return super().run(task, partitions, alone=alone)

    assert run_job(opened, store.url, Watched()).finished == 5
    assert [task.results.count("s3cret") for task in tasks] == [1]
    assert "s3cret" not in opened.results.place
    files = [opened.results.read(name) or b"" for name in opened.results.names()]
    assert len(files) == 12
    assert not any(b"s3cret" in data for data in files)


def test_a_store_in_the_same_database_needs_nothing_else(database: str) -> None:
    base = f"postgresql://{database}"
    with filled(f"{base}#memories", 3) as store:
        opened = opened_job(store, f"{base}#job")
        assert ran(store, opened, count=1).finished == 2
        assert digest_of(opened.results) == digest_of_one(store)


def test_a_job_is_run_by_one_process_at_a_time(store: Store, address: str) -> None:
    opened = opened_job(store, address)
    with queue_of(address, opened.job.id) as first:
        first.lock()
        with pytest.raises(StoreLocked, match=r"run by another process.*echoless jobs work"):
            ran(store, opened)


def test_a_run_that_loses_the_server_says_so_and_goes_on_later(store: Store, address: str) -> None:
    opened = opened_job(store, address)
    engine = PostgresEngine(0)
    with pytest.raises(StoreError, match=r"lost .*same command again"):
        for _ in engine.run(Task(opened.job, store.url, address), ended(opened, address)):
            pytest.fail("nothing can have ended")
    engine.close()
    assert ran(store, opened, count=1).finished == 5


def ended(opened: OpenJob, address: str) -> Iterator[Partition]:
    """The partitions of a job, while which are written the server ends all sessions."""
    yield from opened.partitions
    end_sessions(address)


def test_workers_that_cannot_work_end_the_run_with_their_reason(store: Store, address: str) -> None:
    opened = opened_job(store, address)
    engine = PostgresEngine(1)
    try:
        with pytest.raises(UsageError, match="There is no"):
            run_job(opened, f"{store.url}.gone", engine)
    finally:
        engine.close()


def test_the_engine_refuses_what_it_cannot_use(store: Store, tmp_path: Path) -> None:
    opened = open_job(store, CHOICES, LocalFolder(tmp_path / "job"))
    with pytest.raises(UsageError, match="--results postgresql://"):
        ran(store, opened)


def test_a_job_of_no_partitions_ends_at_once(tmp_path: Path, address: str) -> None:
    with filled(f"sqlite:///{tmp_path}/empty.db", 0) as store:
        opened = opened_job(store, address)
        assert ran(store, opened) == JobOutcome()
