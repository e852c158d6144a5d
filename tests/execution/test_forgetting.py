"""A stopped `forget` leaves nothing of what was to go for good, once the store is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from echoless import check, history, open_store
from echoless.core.model import Memory
from echoless.execution import forgetting
from echoless.execution.forgetting import forget, still_in

SECRET = "Quintessa keeps nine ferrets in Zwolle."


@pytest.mark.parametrize("name", ["agent.db", "memories.jsonl"])
@pytest.mark.parametrize("step", ["write", "confirm"])
def test_what_is_left_of_a_stopped_one_goes_or_the_memory_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, step: str
) -> None:
    with open_store(tmp_path / name, create=True) as store:
        with store.writing():
            store.put([Memory(id="m-1", content=SECRET), Memory(id="m-2", content="Tea is green.")])
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(forgetting, step, _stopped)
            forget(store, ["m-1"])
        assert check(store).sound
        whole = store.get(["m-1"])
        if whole:
            assert whole["m-1"].content == SECRET
            assert [run.status for run in history(store.ledger)] in (
                [],
                ["nothing done"],
                ["purged"],
            )
            forget(store, ["m-1"])
        assert not store.get(["m-1"])
        assert store.count() == 1
        assert still_in(store, [SECRET]) == []


def _stopped(*_arguments: object, **_options: object) -> None:
    raise KeyboardInterrupt
