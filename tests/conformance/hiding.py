"""Conformance suite of the stores that hide memories from the program that owns them.

```
class TestMyStoreHides(HidingConformance):
    def url(self, folder: Path) -> str:
        return f"mystore:///{folder}/memories?hide=move"

    def seen(self, folder: Path) -> set[str]:
        return {each.text for each in TheOwnersProgram(folder).search()}
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from echoless.core.model import Memory
from echoless.core.profiles import ActionKind
from echoless.execution import executor, rollback
from echoless.execution.executor import apply
from echoless.execution.integrity import check
from echoless.execution.rollback import undo
from echoless.stores.base import Scope, Store
from echoless.stores.hidden_records import HiddenRecords
from echoless.stores.ledger import Mark
from tests.conformance.stores import StoreSuite, contents, plan_by_hand, simple, state


class _Stopped(BaseException):
    """A process that ends in the middle."""


class HidingConformance(StoreSuite):
    """Tests that every store passes whose own program no longer sees what is hidden."""

    keeps_bytes: ClassVar[bool] = False
    """Whether an undo gives back the very bytes of the store's own files."""

    def seen(self, folder: Path) -> set[str]:
        """Returns the texts the owner's program finds, by a library or program of its own."""
        raise NotImplementedError

    def open_plain(self, folder: Path) -> Store:
        """Opens the store without the option `hide`."""
        return self.open(folder)

    def own_bytes(self, folder: Path) -> Mapping[str, bytes]:
        """Returns the bytes of the store's own files, without the files of echoless."""
        return {
            name: data
            for name, data in contents(folder).items()
            if ".echoless" not in name and not name.endswith(".lock")
        }

    def memories(self) -> list[Memory]:
        """Returns five memories with texts of their own."""
        texts = ("Tea at four.", "The tea is at four.", "The cat sleeps.", "Ana likes figs.")
        made = [simple(n, text, tags=(f"t{n}",)) for n, text in enumerate(texts, 1)]
        return self.as_stored(*made, simple(5, "At four there is tea.", tags=("x",)))

    def texts(self, *numbers: int) -> set[str]:
        """Returns the texts of some of the five."""
        return {self.memories()[number - 1].content for number in numbers}

    def hide_some(self, store: Store, action: ActionKind = "mark") -> str:
        """Hides 2 and 5 behind 1, and returns the run."""
        run = apply(store, plan_by_hand(store, [tuple(self.ids("m-1", "m-2", "m-5"))], action))
        assert run.counts[action] == 2
        return run.id

    @pytest.mark.parametrize("action", ["mark", "merge"])
    def test_the_owner_sees_hidden_memories_no_more_and_after_an_undo_again(
        self, tmp_path: Path, action: ActionKind
    ) -> None:
        self.fill(tmp_path, self.memories())
        bytes_before = self.own_bytes(tmp_path)
        assert self.seen(tmp_path) == self.texts(1, 2, 3, 4, 5)
        with self.open(tmp_path) as store:
            assert store.capabilities.hides
            before, names = state(store), store.namespaces()
            run = self.hide_some(store, action)
        assert self.seen(tmp_path) == self.texts(1, 3, 4)
        with self.open_plain(tmp_path) as store:
            assert [m.id for m in store.scan()] == [m.id for m, _ in before]
            if action == "mark":
                assert state(store) == before
            assert store.count() == 5
            assert store.namespaces() == names
            assert store.count(Scope(limit=2)) == 2
            (second,) = self.ids("m-2")
            assert store.get([second])[second].content in self.texts(2)
            assert check(store).problems == ()
            undo(store, run)
            assert state(store) == before
        assert self.seen(tmp_path) == self.texts(1, 2, 3, 4, 5)
        assert not self.keeps_bytes or self.own_bytes(tmp_path) == bytes_before

    def test_runs_are_undone_in_any_order(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.memories())
        bytes_before = self.own_bytes(tmp_path)
        with self.open(tmp_path) as store:
            before = state(store)
            one, two, three, four, five = self.ids("m-1", "m-2", "m-3", "m-4", "m-5")
            runs = [
                apply(store, plan_by_hand(store, [pair], "mark")).id
                for pair in ((one, two), (four, three), (one, five))
            ]
            for run in runs:
                undo(store, run)
            assert state(store) == before
        assert not self.keeps_bytes or self.own_bytes(tmp_path) == bytes_before

    def test_to_hide_or_show_again_what_is_so_already_changes_nothing(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.memories())
        with self.open(tmp_path) as store, store.writing():
            assert store.capabilities.hides
            before = state(store)
            (one, two), same = self.ids("m-1", "m-2"), "by hand"
            mark = Mark(two, one, "run-1", "duplicate", 1.0, same)
            for _ in range(2):
                store.hide([mark, Mark("no such id", one, "run-1", "duplicate", 1.0, same)])
                assert state(store) == before
            for _ in range(2):
                store.unhide([two, "no such id"])
                assert state(store) == before
        assert self.seen(tmp_path) == self.texts(1, 2, 3, 4, 5)

    def test_a_hidden_memory_is_changed_removed_and_put_back_like_any_other(
        self, tmp_path: Path
    ) -> None:
        self.fill(tmp_path, self.memories())
        with self.open(tmp_path) as store:
            run = self.hide_some(store)
            before = state(store)
            (two,) = self.ids("m-2")
            with store.writing():
                old = store.get([two])[two]
                store.remove([two])
                assert two not in store.get([two])
                assert store.count() == 4
                store.put([old])
            self._hide_again(store, two)
            assert state(store) == before
            undo(store, run)
        assert self.seen(tmp_path) == self.texts(1, 2, 3, 4, 5)

    def test_deleting_a_hidden_memory_can_be_undone_too(self, tmp_path: Path) -> None:
        self.fill(tmp_path, self.memories())
        with self.open(tmp_path) as store:
            before = state(store)
            first = self.hide_some(store)
            plan = plan_by_hand(store, [tuple(self.ids("m-1", "m-2"))], "delete")
            marked = tuple(replace(action, marked=True) for action in plan.actions)
            second = apply(store, replace(plan, actions=marked))
            assert store.count() == 4
            undo(store, second.id)
            assert {m.id for m in store.scan()} == {m.id for m, _ in before}
            assert store.ledger.marks().keys() == set(self.ids("m-2", "m-5"))
            visible = _visible(store)
        assert self.seen(tmp_path) == visible
        with self.open(tmp_path) as store:
            undo(store, first)
            assert {m.id for m in store.scan()} == {m.id for m, _ in before}
        assert self.seen(tmp_path) == self.texts(1, 2, 3, 4, 5)

    @pytest.mark.parametrize("stop", ["before it leaves", "before the mark"])
    def test_who_is_stopped_while_hiding_leaves_what_check_brings_to_an_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str
    ) -> None:
        self.fill(tmp_path, self.memories())
        with self.open(tmp_path) as store:
            before = state(store)
            with monkeypatch.context() as patch:
                if stop == "before the mark":
                    patch.setattr(executor, "confirm", _stopping)
                else:
                    patch.setattr(HiddenRecords, "save", _stopping_after(HiddenRecords.save))
                patch.setattr(executor, "recover", lambda _store: [])
                with suppress(_Stopped):
                    self.hide_some(store)
        self._comes_to_an_end(tmp_path, before)

    @pytest.mark.parametrize("stop", ["before the rows go", "before the marks go"])
    def test_who_is_stopped_while_undoing_leaves_what_check_brings_to_an_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: str
    ) -> None:
        self.fill(tmp_path, self.memories())
        with self.open(tmp_path) as store:
            before = state(store)
            run = self.hide_some(store)
            where = HiddenRecords if stop == "before the rows go" else rollback
            name = "drop" if where is HiddenRecords else "confirm_undo"
            with monkeypatch.context() as patch, suppress(_Stopped):
                patch.setattr(where, name, _stopping)
                undo(store, run)
        self._comes_to_an_end(tmp_path, before)

    def _comes_to_an_end(self, folder: Path, before: list[tuple[Memory, object]]) -> None:
        """Checks the store as its next user, and that its owner sees all unmarked memories."""
        with self.open_plain(folder) as store:
            assert {m.id for m in store.scan()} == {m.id for m, _ in before}
            check(store, mend=True)
            assert check(store).problems == ()
            assert state(store) == before
            visible = _visible(store)
        assert self.seen(folder) == visible

    def _hide_again(self, store: Store, id_: str) -> None:
        assert store.capabilities.hides
        with store.writing():
            store.hide([store.ledger.marks()[id_]])


def _visible(store: Store) -> set[str]:
    """Returns the texts of the memories that no mark hides."""
    marks = store.ledger.marks()
    return {m.content for m in store.scan() if m.id not in marks}


def _stopping(*_: object, **__: object) -> None:
    raise _Stopped


def _stopping_after(call: Callable[..., None]) -> Callable[..., None]:
    """Returns a function that does the work of another one, and stops."""

    def stopping(self: HiddenRecords, records: Iterable[object]) -> None:
        call(self, records)
        raise _Stopped

    return stopping
