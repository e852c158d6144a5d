"""echoless: deduplication for the memory of AI agents.

Example:
    ```
    from echoless import apply, find, open_store, plan, undo

    with open_store("sqlite:///agent.db") as store:
        found = find(store)              # reads only
        preview = plan(found)            # still nothing written
        run = apply(store, preview)      # marks duplicates, keeps every record
        undo(store, run.id)              # as it was
    ```
"""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from logging import NullHandler, getLogger
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from echoless.core.errors import EcholessError as EcholessError
    from echoless.core.groups import Group as Group
    from echoless.core.groups import Membership as Membership
    from echoless.core.model import Contradiction as Contradiction
    from echoless.core.model import Difference as Difference
    from echoless.core.model import DifferenceKind as DifferenceKind
    from echoless.core.model import Distinct as Distinct
    from echoless.core.model import Duplicate as Duplicate
    from echoless.core.model import Evidence as Evidence
    from echoless.core.model import Judged as Judged
    from echoless.core.model import Link as Link
    from echoless.core.model import Memory as Memory
    from echoless.core.model import Provenance as Provenance
    from echoless.core.model import Related as Related
    from echoless.core.model import Sibling as Sibling
    from echoless.core.model import Subsumes as Subsumes
    from echoless.core.model import Unsure as Unsure
    from echoless.core.model import Update as Update
    from echoless.core.model import Vector as Vector
    from echoless.core.model import Verdict as Verdict
    from echoless.core.overlaps import Overlap as Overlap
    from echoless.core.overlaps import SharedPassage as SharedPassage
    from echoless.core.settings import Choices as Choices
    from echoless.core.settings import Settings as Settings
    from echoless.core.settings import layered as layered
    from echoless.core.settings import resolve as resolve
    from echoless.core.versions import __version__ as __version__
    from echoless.execution.executor import Refusal as Refusal
    from echoless.execution.executor import Run as Run
    from echoless.execution.executor import apply as apply
    from echoless.execution.integrity import Health as Health
    from echoless.execution.integrity import Problem as Problem
    from echoless.execution.integrity import check as check
    from echoless.execution.plan import Plan as Plan
    from echoless.execution.plan import read_plan as read_plan
    from echoless.execution.plan import write_plan as write_plan
    from echoless.execution.rollback import Undone as Undone
    from echoless.execution.rollback import history as history
    from echoless.execution.rollback import keep_both as keep_both
    from echoless.execution.rollback import purge as purge
    from echoless.execution.rollback import undo as undo
    from echoless.execution.transfer import backup as backup
    from echoless.execution.transfer import export as export
    from echoless.execution.transfer import import_into as import_into
    from echoless.execution.transfer import transfer as transfer
    from echoless.ingest import Admitted as Admitted
    from echoless.ingest import AlreadyKnown as AlreadyKnown
    from echoless.ingest import Guard as Guard
    from echoless.ingest import Match as Match
    from echoless.ingest import NeedsReview as NeedsReview
    from echoless.ingest import Remembered as Remembered
    from echoless.ingest import Updates as Updates
    from echoless.ingest import remember as remember
    from echoless.stores import Scope as Scope
    from echoless.stores import Store as Store
    from echoless.stores import open_store as open_store
    from echoless.workflows.audit.between import Between as Between
    from echoless.workflows.audit.between import between_namespaces as between_namespaces
    from echoless.workflows.audit.between import between_stores as between_stores
    from echoless.workflows.audit.incremental import audit_store as audit_store
    from echoless.workflows.audit.report import Report as Report
    from echoless.workflows.audit.report import audit as audit
    from echoless.workflows.consolidation.merge_pairs import Merged as Merged
    from echoless.workflows.consolidation.merge_pairs import merge_memories as merge_memories
    from echoless.workflows.consolidation.merge_pairs import plan_merge as plan_merge
    from echoless.workflows.dedupe.findings import Findings as Findings
    from echoless.workflows.dedupe.pipeline import find as find
    from echoless.workflows.dedupe.pipeline import plan as plan
    from echoless.workflows.discovery.search import Discovery as Discovery
    from echoless.workflows.discovery.search import ListedStore as ListedStore
    from echoless.workflows.discovery.search import discover as discover
    from echoless.workflows.item_lists import DistinctItems as DistinctItems
    from echoless.workflows.item_lists import FoldedItem as FoldedItem
    from echoless.workflows.item_lists import HeldPair as HeldPair
    from echoless.workflows.item_lists import ReasonedVerdict as ReasonedVerdict
    from echoless.workflows.item_lists import Survivor as Survivor
    from echoless.workflows.item_lists import distinct as distinct
    from echoless.workflows.item_lists import judge as judge
    from echoless.workflows.retrieval.search import Answer as Answer
    from echoless.workflows.retrieval.search import Hit as Hit
    from echoless.workflows.retrieval.search import search as search
    from echoless.workflows.retrieval.search import similar as similar
    from echoless.workflows.review.items import Offer as Offer
    from echoless.workflows.review.llm_plan import Condensed as Condensed
    from echoless.workflows.review.llm_plan import plan_consolidation as plan_consolidation
    from echoless.workflows.review.pairs import Consolidation as Consolidation
    from echoless.workflows.review.pairs import consolidate as consolidate

getLogger("echoless").addHandler(NullHandler())  # a program decides itself what it shows

_HOMES: Final = {
    "execution.executor": ("Refusal", "Run", "apply"),
    "workflows.audit.between": ("Between", "between_namespaces", "between_stores"),
    "workflows.audit.incremental": ("audit_store",),
    "workflows.audit.report": ("Report", "audit"),
    "execution.integrity": ("Health", "Problem", "check"),
    "workflows.review.llm_plan": ("Condensed", "plan_consolidation"),
    "workflows.review.items": ("Offer",),
    "workflows.review.pairs": ("Consolidation", "consolidate"),
    "core.errors": ("EcholessError",),
    "workflows.dedupe.findings": ("Findings",),
    "core.groups": ("Group", "Membership"),
    "core.overlaps": ("Overlap", "SharedPassage"),
    "core.model": (
        "Contradiction",
        "Difference",
        "DifferenceKind",
        "Distinct",
        "Duplicate",
        "Evidence",
        "Judged",
        "Link",
        "Memory",
        "Provenance",
        "Related",
        "Sibling",
        "Subsumes",
        "Unsure",
        "Update",
        "Vector",
        "Verdict",
    ),
    "workflows.dedupe.pipeline": ("find", "plan"),
    "execution.plan": ("Plan", "read_plan", "write_plan"),
    "ingest": (
        "Admitted",
        "AlreadyKnown",
        "Guard",
        "Match",
        "NeedsReview",
        "Remembered",
        "Updates",
        "remember",
    ),
    "core.versions": ("__version__",),
    "workflows.discovery.search": ("Discovery", "ListedStore", "discover"),
    "workflows.item_lists": (
        "DistinctItems",
        "FoldedItem",
        "HeldPair",
        "ReasonedVerdict",
        "Survivor",
        "distinct",
        "judge",
    ),
    "workflows.retrieval.search": ("Answer", "Hit", "search", "similar"),
    "core.settings": ("Choices", "Settings", "layered", "resolve"),
    "stores": ("Scope", "Store", "open_store"),
    "execution.transfer": ("backup", "export", "import_into", "transfer"),
    "execution.rollback": ("Undone", "history", "keep_both", "purge", "undo"),
    "workflows.consolidation.merge_pairs": ("Merged", "merge_memories", "plan_merge"),
}
"""Where each public name lives. Names are loaded when first used, which keeps `import echoless` at
a few milliseconds; therefore no module may carry the name of a public function."""

__all__ = [name for name in sorted(chain.from_iterable(_HOMES.values())) if name[0] != "_"]


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f"echoless.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'echoless' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
