"""Law 1: reading is the default; read-only commands change not one byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from echoless import (
    Memory,
    Store,
    audit,
    audit_store,
    backup,
    check,
    consolidate,
    export,
    find,
    history,
    plan,
    search,
    write_plan,
)
from echoless.stores import Scope
from echoless.workflows.audit import answer_cache as audited
from tests.conformance.strategies import worlds
from tests.laws.worlds import KINDS, everything, folder, quick, safe, world

READERS: dict[str, Callable[[Store, Path], object]] = {
    "find and plan": lambda s, p: write_plan(plan(find(s, safe())), p / "p"),
    "audit of findings": lambda s, _: audit(find(s, safe())),
    "audit of a store": lambda s, _: [audit_store(s, safe()) for _ in range(2)],
    "merge plan": lambda s, _: plan(find(s, safe(action="delete"))),
    "consolidate": lambda s, _: consolidate(s, safe(), limit=None).to_json(),
    "search": lambda s, _: search(s, "deploy script 通知", include_duplicates=True),
    "look up": lambda s, _: [list(s.scan(Scope(limit=2))), s.get(["m-0"]), s.namespaces()],
    "export": lambda s, p: export(s, p / "out.jsonl"),
    "backup": lambda s, p: backup(s, p / "copy.db"),
    "history": lambda s, _: history(s.ledger),
    "check without mending": lambda s, _: check(s, mend=False),
}


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(told=worlds())
def test_no_reader_changes_a_byte_or_leaves_a_file(kind: str, told: list[Memory]) -> None:
    with world(kind, told) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(audited, "KEPT_FROM", 1)
        before = everything(store)
        for name, read in READERS.items():
            with folder() as elsewhere:
                read(store, elsewhere)
            assert everything(store) == before, name
