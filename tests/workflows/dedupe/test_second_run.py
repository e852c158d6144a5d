"""A second run over a store that changed: what a run from nothing says; texts are read once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echoless import Findings, Memory, find, open_store, plan
from echoless.blocking import pair_budget as looking
from echoless.core.own_folders import CACHE as FOLDER
from echoless.core.settings import Settings
from echoless.stores.base import Store
from echoless.workflows.audit.report import findings_json
from tests.conformance.stores import fill
from tests.conformance.strategies import worlds
from tests.laws.worlds import folder, safe
from tests.workflows.store_changes import changed, changes

TEXTS = [
    f"{who} keeps the {what} of the {where} team in room {room}"
    for who in ("Ada", "Ben", "Cleo")
    for what in ("printer", "scanner", "projector")
    for where in ("north", "south")
    for room in (14, 41)
]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/agent.db"
    fill(url, [Memory(id=f"m-{n:02}", content=text) for n, text in enumerate(TEXTS)])
    with open_store(url) as opened:
        yield opened


def result(found: Findings) -> object:
    """All that a run says."""
    return findings_json(found), found.judged, found.groups, found.held, found.tally.counts


CHOICES = [
    safe(),
    safe(threshold=("lexical=0.3",)),
    safe(grouping="closest"),
    safe(survivor="newest"),
]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    told=worlds(max_size=8),
    first=st.sampled_from(CHOICES),
    second=st.sampled_from(CHOICES),
    told_changes=changes(TEXTS),
    whole=st.sampled_from([3, looking.WHOLE_UP_TO]),
)
def test_a_run_after_changes_says_what_a_run_from_nothing_says(
    own_cache: Path,
    told: list[Memory],
    first: Settings,
    second: Settings,
    told_changes: list[tuple[str, int, str]],
    whole: int,
) -> None:
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "WHOLE_UP_TO", whole)
        url = f"sqlite:///{place}/agent.db"
        fill(
            url, [*told, *(Memory(id=f"t-{n}", content=text) for n, text in enumerate(TEXTS[::5]))]
        )
        with open_store(url) as store:
            find(store, first)
            changed(store, told_changes)
            after = find(store, second)
            shutil.rmtree(own_cache, ignore_errors=True)
            fresh = find(store, second)
            assert result(after) == result(fresh)
            assert [*plan(after).to_json()["actions"]] == [*plan(fresh).to_json()["actions"]]
