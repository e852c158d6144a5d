"""Audits many stores in turn, then looks at what they have in common; reads only.

The smallest store comes first, and each is told as soon as it is known. A store that cannot be read
is named with its error, and the others are audited all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from echoless.core.destination import command_line
from echoless.core.document import Block, Extent, Gap, command, quoted, say, strong
from echoless.core.errors import EcholessError, InputError, StoreError
from echoless.core.failures import of_system
from echoless.core.model import Json
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.execution.plan_blocks import off_blocks
from echoless.stores.base import Store
from echoless.stores.registry import open_store
from echoless.workflows.audit.between import Between, between_stores
from echoless.workflows.audit.report import Report, audit_store, report_json
from echoless.workflows.audit.report_blocks import between_blocks
from echoless.workflows.dedupe.secret_masking import learn_answer
from echoless.workflows.discovery.search import ListedStore

LATE: Final = "there was no time for it"
NOT_COMPARED: Final = "What several stores say was not looked at: there was no time for all."


@dataclass(frozen=True, slots=True)
class StoreAudit:
    """The audit of one of many stores.

    Attributes:
        store: Where it lies, and whose it is.
        report: What was found; None where it could not be read.
        error: Why not; None where it could.
    """

    store: ListedStore
    report: Report | None
    error: EcholessError | None

    @property
    def problem(self) -> str:
        """Returns why it was not audited; empty where it was."""
        return str(self.error) if self.error else self.store.problem if not self.report else ""

    def to_json(self) -> dict[str, Json]:
        """Returns the audit as an entry of `stores` in `audit --all --json`."""
        place: dict[str, Json] = {"program": self.store.program or None, "kind": self.store.kind}
        found = report_json(self.report) if self.report else {"store": self.store.url}
        return {**found, **place, "error": self.problem or None}


def audit_all(
    stores: Sequence[ListedStore],
    settings_for: Callable[[Store], Settings],
    common: Settings,
    *,
    within: float | None = None,
    progress: Progress | None = None,
    tell: Callable[[StoreAudit], None] = lambda _audit: None,
) -> tuple[list[StoreAudit], Between]:
    """Audits stores in turn, the smallest first, then finds duplicates across the stores.

    Args:
        stores: Stores that `discover` lists; a store of a kind that is not installed is passed on
            with its problem.
        settings_for: Gives the settings for one open store.
        common: Settings for the comparison of all.
        within: Seconds after which no further store is begun; where one is left, stores are not
            compared with each other. None for as long as it takes.
        progress: Told how far each stage is.
        tell: Called with each audit when it is known.

    Returns:
        The audits in the order of the stores, and the duplicates across the stores.

    Raises:
        UsageError: A setting is wrong.
        EncoderError: The embedding model failed.
    """
    end = math.inf if within is None else monotonic() + within
    audits: dict[ListedStore, StoreAudit] = {}
    with ExitStack() as stack:
        opened: list[Store] = []
        for listed in sorted(stores, key=lambda each: (each.size, each.url)):
            if monotonic() >= end:
                audit = StoreAudit(replace(listed, problem=LATE), None, None)
            else:
                audit = _audited(listed, stack, opened, settings_for, progress)
            audits[listed] = audit
            tell(audit)
        late = any(each.store.problem == LATE for each in audits.values())
        between = between_stores([] if late else opened, common, progress=progress)
        if late:
            between.tally.note(NOT_COMPARED)
    return [audits[listed] for listed in stores], between


def _audited(
    listed: ListedStore,
    stack: ExitStack,
    opened: list[Store],
    settings_for: Callable[[Store], Settings],
    progress: Progress | None,
) -> StoreAudit:
    """Audits one store, which stays open."""
    if not listed.installed:
        return StoreAudit(listed, None, None)
    refusals: tuple[type[EcholessError], ...] = (EcholessError,)
    try:
        store = stack.enter_context(open_store(listed.url))
        refusals = (InputError, StoreError)  # a wrong setting is wrong for all
        report = audit_store(store, settings_for(store), progress=progress)
        learn_answer(store, report_json(report))
    except (EcholessError, OSError) as failure:
        problem = of_system(failure) if isinstance(failure, OSError) else failure
        if not isinstance(failure, (*refusals, OSError)):
            raise
        return StoreAudit(listed, None, problem)
    opened.append(store)
    return StoreAudit(listed, report, None)


def store_blocks(audit: StoreAudit, lacking: set[str]) -> Iterator[Block]:
    """Yields what is said of one of many stores, after what its audit did without.

    Args:
        audit: Of the store.
        lacking: What was said before of what audits do without; takes what is new.
    """
    if audit.report and audit.report.off not in lacking:
        lacking.add(audit.report.off)
        yield from off_blocks(audit.report.off)
    said = audit.report.answer if audit.report else f"not audited: {audit.problem}"
    yield say(strong(audit.store.url), ": ", quoted(said), level=1)


def all_stores_blocks(
    audits: Sequence[StoreAudit], between: Between, extent: Extent
) -> Iterator[Block]:
    """Yields which commands come next, and what stores have in common."""
    if not audits:
        yield say("No memory store was discovered.")
    yield Gap()
    read = [(each.store.url, each.report) for each in audits if each.report is not None]
    if read:
        url = next((url for url, report in read if report.groups), read[0][0])
        yield say("The groups of one store, and a plan for it:")
        yield command(command_line("audit", url))
        yield command(command_line("dedup", url))
        yield Gap()
    if NOT_COMPARED in between.tally.notes:
        yield say(NOT_COMPARED)
    elif len(read) > 1:
        yield from between_blocks(between, extent, what="stores")
