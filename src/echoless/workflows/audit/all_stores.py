"""Audits many stores in turn, then looks at what they have in common; reads only.

A store that cannot be read is named with its error, and the others are audited all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from echoless.core.errors import EcholessError, InputError, MissingExtra, StoreError
from echoless.core.failures import of_system
from echoless.core.model import Json
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.stores.base import Store
from echoless.stores.registry import open_store
from echoless.workflows.audit.between import Between, between_stores
from echoless.workflows.audit.incremental import audit_store
from echoless.workflows.audit.report import Report, report_json
from echoless.workflows.dedupe.secret_masking import learn_answer
from echoless.workflows.discovery.search import ListedStore


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

    def to_json(self) -> dict[str, Json]:
        """Returns the audit as an entry of `stores` in `audit --all --json`."""
        place: dict[str, Json] = {"program": self.store.program or None, "kind": self.store.kind}
        if self.report is None:
            problem = str(self.error) if self.error else self.store.problem
            return {"store": self.store.url, **place, "error": problem}
        return {**report_json(self.report), **place, "error": None}


@dataclass(frozen=True, slots=True)
class AllAudits:
    """The audits of many stores, and what they have in common.

    Attributes:
        audits: In the order of the stores given.
        between: Duplicates across the stores.
    """

    audits: tuple[StoreAudit, ...]
    between: Between

    @property
    def exit_code(self) -> int:
        """Returns the exit code of the first failure; 0 where there was none.

        A kind whose library is not installed is no failure: it is named, with what to install.
        """
        errors = (each.error for each in self.audits if each.error is not None)
        return next((e.exit_code for e in errors if not isinstance(e, MissingExtra)), 0)

    def to_json(self) -> dict[str, Json]:
        """Returns the audits as in `audit --all --json`, without the stores passed over."""
        return {
            "stores": [each.to_json() for each in self.audits],
            "between": self.between.to_json(),
        }


def audit_all(
    stores: Sequence[ListedStore],
    settings_for: Callable[[Store], Settings],
    common: Settings,
    *,
    across: bool = False,
    progress: Progress | None = None,
) -> AllAudits:
    """Audits stores in turn, then finds duplicates across the stores.

    Args:
        stores: Stores that `discover` lists; a store of a kind that is not installed is passed on
            with its problem.
        settings_for: Gives the settings for one open store.
        common: Settings for the comparison of all.
        across: As for `between_stores`.
        progress: Told how far each stage is.

    Raises:
        UsageError: A setting is wrong.
        EncoderError: The embedding model failed.
    """
    audits: list[StoreAudit] = []
    with ExitStack() as stack:
        opened: list[Store] = []
        for listed in stores:
            if not listed.installed:
                audits.append(StoreAudit(listed, None, None))
                continue
            try:
                store = stack.enter_context(open_store(listed.url))
            except (EcholessError, OSError) as problem:
                audits.append(StoreAudit(listed, None, _named(problem)))
                continue
            settings = settings_for(store)
            try:
                report = audit_store(store, settings, progress=progress)
                learn_answer(store, report_json(report))
            except (InputError, StoreError, OSError) as problem:
                audits.append(StoreAudit(listed, None, _named(problem)))
                continue
            opened.append(store)
            audits.append(StoreAudit(listed, report, None))
        between = between_stores(opened, common, across=across, progress=progress)
    return AllAudits(tuple(audits), between)


def _named(problem: EcholessError | OSError) -> EcholessError:
    """Returns the error of echoless for a failure."""
    return of_system(problem) if isinstance(problem, OSError) else problem
