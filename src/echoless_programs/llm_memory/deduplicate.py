"""Groups near-equal memories of one namespace of llm-memory, and merges each group into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from echoless.clustering import survivor
from echoless.core.eligibility import expired
from echoless.core.groups import Group, Membership
from echoless.core.model import Json, Judged, Memory
from echoless.core.profiles import LLM_MEMORY, DetectorUse
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.core.timestamps import instant, now
from echoless.execution.executor import apply
from echoless.execution.plan import Plan
from echoless.stores.base import Scope
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.owner_tools import (
    SHARED,
    STRATEGIES,
    Answer,
    OwnerRefusal,
    groups_answer,
    held_pairs,
    merged_answer,
)
from echoless_programs.llm_memory.tool_arguments import RUNTIME, Namespace, check, invalid
from echoless_programs.stores.llm_memory import LlmMemoryStore
from echoless_programs.stores.llm_memory.store import CANNOT, CannotLoad, can_write
from echoless_programs.stores.program_file import is_usable

if TYPE_CHECKING:
    from echoless.blocking.vector_join.hyperplane_join import HashTables

BITS: Final = 8
"""Planes of a table of hyperplanes; the number of tables follows from the threshold."""

LSH_FROM: Final = 1_000
"""Vectors of one type of content from which hyperplanes are used."""

PAIRS: Final = 1_000_000
"""Pairs looked at in a call: what a crowded namespace may take of a machine's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Checked arguments of `memory_deduplicate`; see there.

    Raises:
        OwnerRefusal: One is out of range.
    """

    namespace: Namespace
    similarity_threshold: float = 0.95
    dry_run: bool = True
    merge_strategy: str = "keep_newest"
    limit: int = 1000
    use_lsh: bool = True
    merge_metadata: bool = True
    guards: bool = True

    def __post_init__(self) -> None:
        for each in fields(self)[1:]:
            check(each.name, getattr(self, each.name))

    @property
    def order(self) -> str:
        """Returns the order of survivors that the strategy names."""
        return STRATEGIES[self.merge_strategy]


@dataclass(frozen=True, slots=True)
class Preview:
    """A deduplication that was planned and not yet carried out.

    Attributes:
        arguments: Those it was made with.
        answer: The result of a dry run.
        plan: The plan that carries it out.
    """

    arguments: Arguments
    answer: Answer
    plan: Plan


def refuse_impossible_merge(arguments: Arguments) -> None:
    """Refuses a merge that cannot or must not be, before anything is read."""
    if arguments.dry_run:
        return
    if arguments.namespace.name == SHARED and not arguments.namespace.given:
        raise invalid(f"merging in the namespace {SHARED} needs namespace={SHARED!r} to be given")
    if not can_write():
        raise OwnerRefusal(RUNTIME, CANNOT, details=str(CannotLoad()))


def preview(
    store: LlmMemoryStore, arguments: Arguments, *, progress: Progress | None = None
) -> Preview:
    """Finds the groups and makes their plan; nothing is written.

    Args:
        store: An open store of llm-memory.
        arguments: What to compare, and how.
        progress: Told how far each stage is.
    """
    alive = live(store.scan(Scope(arguments.namespace.name)))
    fit = [m for m in alive if m.vectors and is_usable(m.vectors[0])]
    fit.sort(key=lambda m: (-(instant(m.created_at) or -(2**63)), m.id))
    taking_part = fit[: arguments.limit]
    most = max(Counter(memory.type for memory in taking_part).values(), default=0)
    tables = None
    if arguments.use_lsh and most >= LSH_FROM:
        from echoless.blocking.vector_join import hyperplane_join

        tables = hyperplane_join.layout(arguments.similarity_threshold, BITS)
    settings = _settings(arguments, len(taking_part), bits=0 if tables is None else BITS)
    findings = find(store, settings, only={m.id for m in taking_part}, progress=progress)
    groups = _ranked(findings, arguments.order)
    answer = groups_answer(arguments.namespace.name, groups)
    answer["algorithm"] = "brute_force" if tables is None else "lsh"
    answer |= _remarks(findings, tables, skipped=len(alive) - len(fit))
    untouched = () if arguments.merge_metadata else ("tags", "metadata")
    plan = plan_groups(findings, groups, action="delete", untouched=untouched)
    return Preview(arguments, answer, plan)


def carry_out(
    store: LlmMemoryStore, planned: Preview, *, progress: Callable[[int, int], None] | None = None
) -> Answer:
    """Merges what a preview showed, group by group.

    Args:
        store: The store of the preview.
        planned: The preview.
        progress: Told (groups done, groups in all).

    Raises:
        OwnerRefusal: The merge cannot be, or must not be; nothing was written.
    """
    refuse_impossible_merge(replace(planned.arguments, dry_run=False))
    if not planned.plan.actions:
        return planned.answer | {"dry_run": False, "action": "merged", "merged": 0}
    run = apply(store, planned.plan, progress=progress, one_by_one=True)
    return planned.answer | merged_answer(run, run.counts["delete"], changed="changed: ")


def live(memories: Iterable[Memory]) -> list[Memory]:
    """Returns the memories that have not expired."""
    moment = instant(now())
    return [m for m in memories if not expired(LLM_MEMORY.expires(m), moment)]


def _settings(arguments: Arguments, size: int, *, bits: int) -> Settings:
    """Returns the settings of profile `llm-memory` for so many memories."""
    options: dict[str, Json] = {"lsh_bits": bits}
    profile = replace(
        LLM_MEMORY,
        detectors=(DetectorUse("semantic", arguments.similarity_threshold, settings=options),),
        judge="guards" if arguments.guards else "bare",
        survivor=arguments.order,
        action="delete",
        pairs=max(1, min(size, PAIRS // max(1, size))),
    )
    return Settings(profile=profile, encoder=profile.encoder)


def _ranked(findings: Findings, order: str) -> list[Group]:
    """Returns groups in the order of their primaries; members by similarity, then id."""
    survivors = (findings.memories[group.survivor] for group in findings.groups)
    place = {id_: at for at, id_ in enumerate(survivor.rank(survivors, order, set()))}
    return [
        replace(group, members=tuple(sorted(group.members, key=lambda m: (-_similarity(m), m.id))))
        for group in sorted(findings.groups, key=lambda group: place[group.survivor])
    ]


def _similarity(member: Membership) -> float:
    assert member.judged is not None  # stars have direct verdicts
    return member.judged.verdict.evidence.similarity


def _remarks(findings: Findings, tables: HashTables | None, *, skipped: int) -> Answer:
    """Returns the hyperplanes, and what was held, skipped or left out, where there is any."""
    answer: Answer = {}
    if tables is not None:
        answer["lsh"] = {
            "bits": tables.bits,
            "tables": tables.tables,
            "expected_recall": round(tables.expected_recall, 6),
        }
    remarks: Answer = {
        "held": held_pairs(findings, _described),
        "skipped": skipped,
        "left_out": findings.left_out,
        "kept_apart": len(findings.apart),
    }
    return answer | {name: value for name, value in remarks.items() if value}


def _described(pair: Judged) -> tuple[str, str, float, str]:
    """Returns a held pair as an answer names it: ids, similarity, reason."""
    evidence = pair.verdict.evidence
    return pair.a, pair.b, evidence.similarity, evidence.line()
