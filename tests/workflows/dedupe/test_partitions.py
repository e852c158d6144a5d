"""Plans by other processes and by Ray are the plan of one; a lost worker costs its partition."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.core.errors import PlanRefused, UsageError
from echoless.core.model import Memory
from echoless.core.settings import Settings
from echoless.execution.executor import apply
from echoless.stores.base import Store
from echoless.workflows.dedupe.partitions import (
    PartitionedPlan,
    Task,
    basis,
    cut,
    partition_plan,
    plan_by_engine,
)
from echoless.workflows.dedupe.pipeline import find, plan
from tests.workflows.dedupe.namespaces import FACTS, deadly_encoder, filled, settings_of

# Ray reads it once in a process, which may start the cluster anew between tests of other modules.
_TOKEN: Final = secrets.token_hex(32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with filled(f"sqlite:///{tmp_path}/many.db", 9) as opened:
        yield opened


@pytest.fixture(scope="module", autouse=True)
def deadly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with deadly_encoder(tmp_path_factory.mktemp("encoder")):
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Two nodes of one core each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", _TOKEN)
        pytest.importorskip("ray")
        from ray.cluster_utils import Cluster

        nodes = Cluster()
        for _ in range(2):
            nodes.add_node(num_cpus=1, include_dashboard=False)
        yield str(nodes.address)
        nodes.shutdown()


@pytest.fixture(params=["processes", "ray"])
def engine(request: pytest.FixtureRequest) -> str:
    return f"ray={request.getfixturevalue('cluster')}" if request.param == "ray" else "processes"


def task_of(store: Store, chosen: Settings) -> Task:
    return Task(url=store.url, identity=store.identity, settings=chosen, basis=basis(chosen))


def planned(
    store: Store, engine: str, encoder: str = "none", *, memories: int = 20
) -> PartitionedPlan:
    chosen = settings_of(store, encoder)
    return plan_by_engine(store, store.url, chosen, engine, memories=memories)


# ------------------------------------------------------------------ the same plan


def test_an_engine_gives_the_plan_of_one_process(store: Store, engine: str) -> None:
    one = find(store, settings_of(store))
    made = planned(store, engine)
    assert (made.partitions, made.not_done) == (5, ())
    assert made.plan.actions == plan(one).actions
    assert made.plan.digest == plan(one).digest
    assert made.counts == one.counts
    assert made.tally.counts == one.tally.counts


TEXTS = st.sampled_from((*FACTS, "", "The quota is 5 GB.", "The quota is 6 GB.", "same", "Same."))
NAMES = st.sampled_from(("", "a", "b", "ä/…", "x y"))


@settings(max_examples=25)
@given(
    rows=st.lists(st.tuples(NAMES, TEXTS), max_size=30),
    size=st.integers(1, 12),
    action=st.sampled_from(("mark", "merge", "delete")),
)
def test_any_cut_into_partitions_gives_the_plan_of_one_process(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], size: int, action: str
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    memories = [
        Memory(id=f"m{at}", content=text, namespace=name) for at, (name, text) in enumerate(rows)
    ]
    with filled(f"sqlite:///{folder}/any.db", 0, memories) as any_store:
        chosen = settings_of(any_store, action=action)
        task, partitions = task_of(any_store, chosen), cut(any_store.namespaces(), size)
        parts = [partition_plan(task, partition).actions for partition in partitions]
        one = plan(find(any_store, chosen)).actions
    assert sorted(map(repr, one)) == sorted(repr(action) for part in parts for action in part)


@given(sizes=st.dictionaries(st.text(max_size=3), st.integers(1, 50)), most=st.integers(1, 60))
def test_every_namespace_is_in_one_partition(sizes: dict[str, int], most: int) -> None:
    partitions = cut(sizes, most)
    assert sorted(name for partition in partitions for name in partition) == sorted(sizes)
    assert all(len(p) == 1 or sum(sizes[n] for n in p) <= most for p in partitions)
    largest = [max(sizes[name] for name in partition) for partition in partitions]
    assert largest == sorted(largest, reverse=True)


def test_what_earlier_runs_hid_is_counted_and_left_alone(store: Store) -> None:
    apply(store, planned(store, "processes").plan)
    again = planned(store, "processes")
    assert (again.plan.actions, len(again.marked)) == ((), 18)
    assert again.tally.counts == find(store, settings_of(store)).tally.counts


# ------------------------------------------------------------------ lost and failed partitions


def test_a_killed_worker_costs_its_partition_and_no_other(tmp_path: Path, engine: str) -> None:
    more = [
        Memory(id="poison", content="This is poison.", namespace="poisoned"),
        Memory(id="other", content="Another text.", namespace="poisoned"),
    ]
    with filled(f"sqlite:///{tmp_path}/many.db", 9, more) as store:
        encoder = f"deadly:{tmp_path}"
        made = planned(store, engine, encoder, memories=8)
        assert [each.namespaces for each in made.not_done] == [("poisoned",)]
        assert "ended without an answer" in made.not_done[0].reason
        healthy = [f"user {number}" for number in range(9)]
        one = plan(find(store, settings_of(store, encoder), within=healthy))
        assert made.plan.actions == one.actions
        assert len(made.plan.actions) == 18


def test_a_partition_whose_worker_is_killed_once_is_tried_again(
    tmp_path: Path, engine: str
) -> None:
    more = [
        Memory(id="a", content="It happens once.", namespace="unlucky"),
        Memory(id="b", content="it happens once", namespace="unlucky"),
    ]
    with filled(f"sqlite:///{tmp_path}/many.db", 3, more) as store:
        made = planned(store, engine, f"deadly:{tmp_path}")
        assert made.not_done == ()
        assert {"a", "b"} in [{*action.ids} for action in made.plan.actions]
        assert (tmp_path / "killed").exists()


def test_a_run_without_any_finished_partition_is_no_plan(store: Store, tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match=r"No partition could be done\. .*absent"):
        plan_by_engine(store, f"sqlite:///{tmp_path}/absent.db", settings_of(store), "processes")


def test_a_worker_that_sees_another_store_or_other_versions_makes_no_plan(
    store: Store, tmp_path: Path
) -> None:
    task = task_of(store, settings_of(store))
    with pytest.raises(UsageError, match="other versions"):
        partition_plan(replace(task, basis="older"), ("user 1",))
    filled(f"sqlite:///{tmp_path}/other.db", 1).close()
    with pytest.raises(UsageError, match="another store"):
        partition_plan(replace(task, url=f"sqlite:///{tmp_path}/other.db"), ("user 1",))


# ------------------------------------------------------------------ what is refused


def test_an_engine_that_is_not_there_is_named(store: Store, cluster: str) -> None:
    with pytest.raises(UsageError, match="Unknown engine 'spark'"):
        planned(store, "spark")
    for address in ("nowhere", "127.0.0.1:1", "ray://127.0.0.1:99999"):
        with pytest.raises(UsageError, match=f"Ray cannot be reached at '{address}'"):
            planned(store, f"ray={address}")


def test_settings_under_which_namespaces_hang_together_are_refused(store: Store) -> None:
    chosen = settings_of(store)
    across = replace(chosen.profile, partition=("type",))
    for refused, why in (
        (replace(chosen, limit=5), "The setting limit"),
        (replace(chosen, verifier="openai:m"), "--verifier"),
        (replace(chosen, profile=across), "compares memories of several namespaces"),
    ):
        with pytest.raises(UsageError, match=f"{why}.*Leave out --engine"):
            plan_by_engine(store, store.url, refused, "processes")
