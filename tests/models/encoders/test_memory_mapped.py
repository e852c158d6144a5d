"""Vectors beyond a limit lie on the disk; what is computed from them stays the same."""

from __future__ import annotations

import copy
import errno
import pickle
import tempfile
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from echoless import find, open_store
from echoless.core.errors import StoreFull, UsageError
from echoless.core.model import Memory, Vector, fingerprint
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, resolve
from echoless.models.encoders import memory_mapped as spilling
from echoless.models.encoders.memory_mapped import Spill, SpilledVector


def memories(count: int, dimensions: int = 8) -> list[Memory]:
    rows = np.random.default_rng(7).standard_normal((count, dimensions)).astype("<f4")
    rows[1::2] = rows[::2] * np.float32(1.0001)
    return [
        Memory(
            id=f"m-{at:03d}",
            content=f"text number {at}",
            vectors=(Vector("model@1", row.tobytes()),),
        )
        for at, row in enumerate(rows)
    ]


def test_vectors_beyond_the_limit_lie_on_the_disk_and_are_what_they_were() -> None:
    told, tally = memories(20), Tally()
    kept = list(Spill(tally, memory=5 * 32).aside(told))
    assert [isinstance(m.vectors[0], SpilledVector) for m in kept] == [False] * 5 + [True] * 15
    assert kept == told
    assert told == kept
    assert [fingerprint(m) for m in kept] == [fingerprint(m) for m in told]
    assert {m.vectors for m in kept} == {m.vectors for m in told}
    assert [m.vectors[0].dimensions for m in kept] == [8] * 20
    assert len(tally.notes) == 1
    assert tempfile.gettempdir() in tally.notes[0]


def test_a_million_spilled_vectors_hold_their_length_once() -> None:
    kept = list(Spill(Tally(), memory=0).aside(memories(20, 384)))
    lengths = {id(object.__getattribute__(m.vectors[0], "_length")) for m in kept}
    assert len(lengths) == 1


def test_a_spilled_vector_is_copied_and_pickled_as_a_plain_one() -> None:
    (spilled,) = (m.vectors[0] for m in Spill(Tally(), memory=0).aside(memories(1)))
    plain = memories(1)[0].vectors[0]
    for again in (copy.deepcopy(spilled), pickle.loads(pickle.dumps(spilled))):
        assert again == plain
        assert type(again) is Vector
    assert hash(spilled) == hash(plain)
    assert "on the disk" in repr(spilled)
    assert spilled != "a text"


def test_a_large_array_is_mapped_and_a_small_one_is_not() -> None:
    tally = Tally()
    spill = Spill(tally, memory=1_000)
    assert not isinstance(spill.allocate((10, 8)), np.memmap)
    assert not tally.notes
    large = spill.allocate((100, 8))
    assert isinstance(large, np.memmap)
    assert large.dtype == np.float32
    large[:] = 1
    assert large.sum() == 800
    assert len(tally.notes) == 1


@pytest.fixture
def store_of_pairs(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/store.db"
    with open_store(url, create=True) as store, store.writing():
        store.put(memories(40))
    return url


def test_a_run_finds_the_same_with_all_vectors_on_the_disk(
    store_of_pairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = resolve(Choices(profile="ego"))
    with open_store(store_of_pairs) as store:
        plainly = find(store, settings)
        monkeypatch.setenv(spilling.VARIABLE, "0")
        aside = find(store, settings)
    assert len(plainly.judged) >= 20
    assert aside.judged == plainly.judged
    assert aside.groups == plainly.groups
    assert len(aside.tally.notes) == len(plainly.tally.notes) + 1
    assert all(isinstance(m.vectors[0], SpilledVector) for m in aside.memories.values())


def test_a_full_disk_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None: ...

    def opened(**_: object) -> IO[bytes]:
        return Full()  # type: ignore[return-value]

    monkeypatch.setattr(spilling.tempfile, "TemporaryFile", opened)
    with pytest.raises(StoreFull, match="TMPDIR"):
        list(Spill(Tally(), memory=0).aside(memories(1)))


def test_the_limit_is_a_whole_number_of_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(spilling.VARIABLE, "12")
    assert spilling.allowed() == 12_000_000
    monkeypatch.setenv(spilling.VARIABLE, "much")
    with pytest.raises(UsageError, match="whole number"):
        spilling.allowed()
