"""A Ray cluster gives the plan of one process, whatever becomes of its workers and machines."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from echoless.core.errors import UsageError
from echoless.core.model import Memory
from echoless.core.settings import Choices
from echoless.engines.engine import Engine
from echoless.engines.job import Partition
from echoless.engines.job_run import OpenJob, open_job, run_job
from echoless.engines.partition_worker import Task
from echoless.engines.registry import open_engine
from echoless.engines.results import LocalFolder
from echoless.engines.workers import Workers
from echoless.stores.base import Store
from tests.engines.ray_nodes import RayCluster, free_port, ray_cluster
from tests.engines.worlds import CHOICES, deadly_encoder, digest_of, digest_of_one, filled


@pytest.fixture(scope="module")
def deadly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Choices]:
    """Settings with an encoder that ends its process at some texts."""
    with deadly_encoder(tmp_path_factory.mktemp("deadly") / "package") as choices:
        yield choices


@pytest.fixture(scope="module")
def cluster(deadly: Choices) -> Iterator[RayCluster]:
    """Two machines, where that encoder is installed."""
    with ray_cluster() as running:
        yield running


@pytest.fixture(scope="class")
def engine(cluster: RayCluster) -> Iterator[Engine]:
    with closing(open_engine("ray", Workers(address=cluster.address))) as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with filled(f"sqlite:///{tmp_path}/many.db", 6) as opened:
        yield opened


def opened_job(store: Store, tmp_path: Path) -> OpenJob:
    """Returns a new job with a partition for each namespace."""
    return open_job(store, CHOICES, LocalFolder(tmp_path / "job"), memories=8)


def kills_once(deadly: Choices) -> Memory:
    """Returns a memory that ends the first process that looks at it."""
    folder = Path(str(deadly.encoder).partition(":")[2])
    (folder / "killed").unlink(missing_ok=True)
    return Memory(id="killer", content="This happens once.", namespace="user 1")


class TestConnected:
    """A process that stays connected to the cluster."""

    def test_two_machines_give_the_plan_of_one_process(
        self, engine: Engine, store: Store, tmp_path: Path
    ) -> None:
        opened = opened_job(store, tmp_path)
        outcome = run_job(opened, store.url, engine)
        assert not outcome.failed
        assert outcome.finished == 6
        assert digest_of(opened.results) == digest_of_one(store)
        again = run_job(opened, store.url, engine)
        assert (again.finished, again.unchanged) == (0, 6)

    def test_a_killed_worker_loses_nothing_and_what_always_kills_is_recorded(
        self, engine: Engine, deadly: Choices, tmp_path: Path
    ) -> None:
        once = kills_once(deadly)
        poison = [
            Memory(id=f"poison {n}", content=f"The poison text {n}.", namespace="zz")
            for n in (1, 2)
        ]
        with filled(f"sqlite:///{tmp_path}/many.db", 4, [once, *poison]) as many:
            opened = open_job(many, deadly, LocalFolder(tmp_path / "job"), memories=8)
            outcome = run_job(opened, many.url, engine, attempts=2)
            assert [opened.partitions[each.number].namespaces for each in outcome.failed] == [
                ("zz",)
            ]
            assert outcome.failed[0].kind == "lost"
            assert (
                outcome.attempts == 3
            )  # one for the worker that was killed once, two for the other
            assert outcome.finished == 4
            with many.writing():
                many.remove([each.id for each in poison])
            assert digest_of(opened.results) == digest_of_one(many, deadly)

    def test_a_lost_machine_loses_nothing_but_its_partition(
        self, cluster: RayCluster, engine: Engine, store: Store, tmp_path: Path
    ) -> None:
        opened = opened_job(store, tmp_path)
        task = Task(opened.job, store.url, opened.results.place)
        outcomes = engine.run(task, opened.partitions)
        first = next(outcomes)
        cluster.lose_machine()
        kinds = [type(each).__name__ for each in (first, *outcomes)]
        assert len(kinds) == 6
        assert kinds.count("Failed") <= 1
        outcome = run_job(opened, store.url, engine)
        assert not outcome.failed
        assert digest_of(opened.results) == digest_of_one(store)

    def test_partitions_are_read_as_workers_become_free(
        self, engine: Engine, store: Store, tmp_path: Path
    ) -> None:
        opened = opened_job(store, tmp_path)
        task = Task(opened.job, store.url, opened.results.place)
        read: list[int] = []

        def partitions() -> Iterable[Partition]:
            for partition in opened.partitions:
                read.append(partition.number)
                yield partition

        for alone, most in ((False, 2), (True, 1)):
            read.clear()
            for answered, _ in enumerate(engine.run(task, partitions(), alone=alone)):
                assert len(read) - answered <= most
            assert len(read) == 6

    def test_a_run_that_was_left_leaves_no_answer_to_the_next(
        self, engine: Engine, store: Store, tmp_path: Path
    ) -> None:
        opened = opened_job(store, tmp_path)
        task = Task(opened.job, store.url, opened.results.place)
        left = engine.run(task, opened.partitions, alone=True)
        next(left)
        left.close()  # type: ignore[attr-defined]
        last = opened.partitions[-1:]
        assert [each.number for each in engine.run(task, last)] == [last[0].number]

    def test_a_worker_with_other_rules_is_refused(
        self, engine: Engine, store: Store, tmp_path: Path
    ) -> None:
        opened = opened_job(store, tmp_path)
        other = replace(opened, job=replace(opened.job, rules="other"))
        with pytest.raises(UsageError, match=r"The worker \S+ has other versions"):
            run_job(other, store.url, engine)

    def test_a_worker_that_sees_other_results_is_refused(
        self, engine: Engine, store: Store, tmp_path: Path
    ) -> None:
        opened = opened_job(store, tmp_path)
        elsewhere = replace(opened, results=LocalFolder(tmp_path / "not shared"))
        with pytest.raises(
            UsageError, match=r"does not see job-.* a folder that all machines share"
        ):
            run_job(elsewhere, store.url, engine)
        assert not (tmp_path / "not shared").exists()

    def test_the_store_may_be_named_by_a_relative_path(
        self, engine: Engine, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened = opened_job(store, tmp_path)
        monkeypatch.chdir(tmp_path)  # the workers are elsewhere
        assert run_job(opened, "many.db", engine).finished == 6

    def test_a_store_that_is_not_on_all_machines_names_the_worker(
        self, engine: Engine, store: Store, tmp_path: Path
    ) -> None:
        opened = opened_job(store, tmp_path)
        with pytest.raises(UsageError, match=r"none.db.*Said by the worker \S+:\d+"):
            run_job(opened, f"sqlite:///{tmp_path}/none.db", engine)


def test_a_cluster_is_used_from_outside_though_a_worker_is_killed(
    cluster: RayCluster, deadly: Choices, tmp_path: Path
) -> None:
    with filled(f"sqlite:///{tmp_path}/many.db", 3, [kills_once(deadly)]) as many:
        opened = open_job(many, deadly, LocalFolder(tmp_path / "job"), memories=8)
        with closing(open_engine("ray", Workers(1, cluster.client_address))) as outside:
            outcome = run_job(opened, many.url, outside)
        assert (outcome.finished, outcome.attempts, outcome.failed) == (3, 1, [])
        assert digest_of(opened.results) == digest_of_one(many, deadly)


def test_a_machine_with_another_echoless_is_refused(
    cluster: RayCluster, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_job(store, tmp_path)
    with closing(open_engine("ray", Workers(1, cluster.address))) as engine:
        monkeypatch.setattr("echoless.engines.ray_cluster.__version__", "99.0")
        with pytest.raises(UsageError, match=r"has echoless .*, and this one 99\.0"):
            run_job(opened, store.url, engine)


def test_without_an_address_a_ray_of_this_machine_runs_and_prints_nothing(
    deadly: Choices, tmp_path: Path
) -> None:
    filled(f"sqlite:///{tmp_path}/many.db", 3, [kills_once(deadly)]).close()
    command = [sys.executable, "-m", "echoless", "dedup", "many.db", "--engine", "ray", "--json"]
    options = ["--processes", "1", "--results", "job", "--encoder", str(deadly.encoder)]
    ended = subprocess.run(
        [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0
    assert ended.stderr == ""
    told = json.loads(ended.stdout)
    assert (told["memories"], told["attempts_failed"], told["failed"]) == (22, 1, [])


# ------------------------------------------------------------------ addresses


def test_a_cluster_that_is_not_there_is_named_at_once() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(UsageError, match=rf"No Ray cluster answers at {address} .*ray status"):
        open_engine("ray", Workers(address=address))


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_a_server_of_another_kind_is_named_at_once(form: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def answer() -> None:
            taken, _ = server.accept()
            with closing(taken):
                taken.recv(100)
                taken.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UsageError, match="is no Ray cluster"):
            open_engine("ray", Workers(address=form.format(server.getsockname()[1])))
        thread.join()


@pytest.mark.parametrize("address", ["head", "http://head:8265", "head:port", ":6379", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a Ray cluster"):
        open_engine("ray", Workers(address=address))


def test_a_cluster_with_another_ray_is_refused(
    cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ray.__version__", "2.0.0")
    with pytest.raises(UsageError, match=r"Ray cannot work with .*2\.0\.0.* its own versions"):
        open_engine("ray", Workers(address=cluster.address))
