"""Runs make no cycles, so they can do without the collector that looks for them."""

import gc
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from echoless import Memory, find, open_store, plan
from echoless.cli.demo import SAMPLE
from echoless.core.errors import UsageError
from echoless.core.settings import Choices, resolve
from echoless.matching.facts import facts_of


@pytest.fixture
def collector() -> Iterator[None]:
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def _found_and_planned(path: Path, encoder: str) -> None:
    settings = resolve(Choices(encoder=encoder))
    path.with_name(SAMPLE).write_bytes((files("echoless") / "data" / SAMPLE).read_bytes())
    with open_store(path.with_name(SAMPLE)) as sample:
        memories = list(sample.scan())
    with open_store(f"sqlite:///{path}", create=True) as store:
        with store.writing():
            store.put(memories)
        plan(find(store, settings))
    facts_of.forget()


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("encoder", ["none", "auto"])
def test_what_a_run_lets_go_is_gone_at_once(tmp_path: Path, encoder: str) -> None:
    _found_and_planned(tmp_path / "loads-all-modules.db", encoder)
    gc.collect()
    gc.disable()
    _found_and_planned(tmp_path / "store.db", encoder)
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    left = {type(each).__qualname__ for each in gc.garbage if _is_ours(each)}
    assert left == set()


def _is_ours(thing: object) -> bool:
    return type(thing).__module__.startswith("echoless")


def test_the_collector_rests_during_a_run_and_works_after_it(tmp_path: Path) -> None:
    seen = []
    with open_store(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        with store.writing():
            store.put([Memory(id="1", content="The demo is at noon.")])
        find(store, encoder="none", progress=lambda *_told: seen.append(gc.isenabled()))
    assert seen
    assert not any(seen)
    assert gc.isenabled()


def test_a_run_that_fails_leaves_the_collector_at_work(tmp_path: Path) -> None:
    with (
        open_store(f"sqlite:///{tmp_path}/store.db", create=True) as store,
        pytest.raises(UsageError),
    ):
        find(store, namespace="nowhere")
    assert gc.isenabled()


def test_a_large_search_gives_back_its_memory_after_each_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from echoless.blocking import pair_budget

    given: list[None] = []
    monkeypatch.setattr(pair_budget, "give_back", lambda: given.append(None))
    with open_store(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        with store.writing():
            store.put([Memory(id=str(at), content=f"The demo is at {at}.") for at in range(5)])
        find(store, encoder="none")
        assert not given
        monkeypatch.setattr(pair_budget, "GIVEN_BACK_FROM", 5)
        settings = resolve(Choices(encoder="none"))
        find(store, settings)
    assert len(given) == 2 * len(settings.profile.detectors)  # one partition each, then all
