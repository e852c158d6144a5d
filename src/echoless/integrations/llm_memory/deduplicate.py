"""`memory_deduplicate`: groups of near-equal memories of one namespace, previewed or merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.clustering import survivor
from echoless.core.groups import Group, Membership
from echoless.core.model import Json, Judged
from echoless.core.optional import lazy_module
from echoless.core.profiles import LLM_MEMORY, DetectorUse
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.core.timestamps import instant
from echoless.execution.executor import apply
from echoless.execution.plan import Plan
from echoless.integrations.llm_memory import validation
from echoless.integrations.llm_memory.memory_file import live, open_file, usable
from echoless.integrations.llm_memory.namespaces import Namespace, resolve
from echoless.stores.base import Scope
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.stores.llm_memory.connection import CANNOT, CannotLoad, can_write
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.owner_tools import SHARED, STRATEGIES, OwnerRefusal
from echoless.workflows.pairs.threshold_comparison import compare_with_judge
from echoless.workflows.tool_answers import Answer, groups_answer, held_pairs, merged_answer

if TYPE_CHECKING:  # it brings in numpy
    from echoless.blocking.vector_join import hyperplane_join
    from echoless.blocking.vector_join.hyperplane_join import Layout
else:
    hyperplane_join = lazy_module("echoless.blocking.vector_join.hyperplane_join")

BITS: Final = 8
"""Planes of a table of hyperplanes; the number of tables follows from the threshold."""

LSH_FROM: Final = 1_000
"""Vectors of one type of content from which hyperplanes are used."""

PAIRS: Final = 1_000_000
"""Pairs looked at in a call: what a crowded namespace may take of a machine's memory."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Checked arguments of `memory_deduplicate`."""

    namespace: Namespace
    threshold: float
    dry_run: bool
    order: str
    limit: int
    use_lsh: bool
    merge_metadata: bool
    guards: bool
    second_look: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenArguments:
    """Arguments of `memory_deduplicate` as a caller gave them; see there."""

    namespace: object = None
    similarity_threshold: object = 0.95
    dry_run: object = True
    merge_strategy: object = "keep_newest"
    limit: object = 1000
    use_lsh: object = True
    merge_metadata: object = True
    guards: object = True
    second_look: object = False

    def checked(self) -> Arguments:
        """Checks the arguments.

        Raises:
            OwnerRefusal: One is out of range.
        """
        strategies = tuple(STRATEGIES)
        strategy = validation.one_of("merge_strategy", self.merge_strategy, strategies)
        return Arguments(
            namespace=resolve(self.namespace),
            threshold=validation.share("similarity_threshold", self.similarity_threshold),
            dry_run=validation.flag("dry_run", self.dry_run),
            order=STRATEGIES[strategy],
            limit=validation.whole("limit", self.limit, 10_000),
            use_lsh=validation.flag("use_lsh", self.use_lsh),
            merge_metadata=validation.flag("merge_metadata", self.merge_metadata),
            guards=validation.flag("guards", self.guards),
            second_look=validation.flag("second_look", self.second_look),
        )


def memory_deduplicate(
    namespace: str | None = None,
    similarity_threshold: float = 0.95,
    dry_run: bool = True,
    merge_strategy: str = "keep_newest",
    limit: int = 1000,
    use_lsh: bool = True,
    merge_metadata: bool = True,
    *,
    guards: bool = True,
    second_look: bool = False,
    db_path: str | Path | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Groups near-equal memories of one namespace, and merges each group into one if asked to.

    Args:
        namespace: Exactly this one; detected if None. `shared` is merged only where it is given.
        similarity_threshold: Cosine of the stored vectors, 0.0 to 1.0, inclusive.
        dry_run: False merges; every merge can be taken back with `echoless undo`.
        merge_strategy: `keep_newest`, `keep_oldest`, `keep_most_accessed`, `highest_importance`.
        limit: The most recent memories that take part, 1 to 10000.
        use_lsh: Compare a thousand memories and more by random hyperplanes.
        merge_metadata: False leaves tags and metadata of the one that stays as they are.
        guards: False merges also texts that differ in a number or a negation.
        second_look: Also tell what the bare threshold would merge and the judge that reads the
            texts would hold back, under `second_look`.
        db_path: The file; see `memory_file.open_file`.
        progress: Told how far each stage is: stage, done, whole; the last stage is `writing`.

    Returns:
        The result, or an error as data (`error`, `message`, `error_type`, `timestamp`).
    """
    given = GivenArguments(
        namespace=namespace,
        similarity_threshold=similarity_threshold,
        dry_run=dry_run,
        merge_strategy=merge_strategy,
        limit=limit,
        use_lsh=use_lsh,
        merge_metadata=merge_metadata,
        guards=guards,
        second_look=second_look,
    )

    def work() -> Answer:
        arguments = given.checked()
        _refuse_impossible_merge(arguments)
        with open_file(db_path) as store:
            planned = preview(store, arguments, progress=progress)
            if arguments.dry_run:
                return planned.answer
            writing = None if progress is None else partial(progress, "writing")
            return carry_out(store, planned, progress=writing)

    return validation.answer_or_error(work, "detecting duplicates")


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


def _refuse_impossible_merge(arguments: Arguments) -> None:
    """Refuses a merge that cannot or must not be, before anything is read."""
    if arguments.dry_run:
        return
    if arguments.namespace.name == SHARED and not arguments.namespace.given:
        raise validation.invalid(
            f"merging in the namespace {SHARED} needs namespace={SHARED!r} to be given"
        )
    if not can_write():
        raise OwnerRefusal(validation.RUNTIME, CANNOT, details=str(CannotLoad()))


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
    fit = [memory for memory in alive if usable(memory)]
    fit.sort(key=lambda m: (-(instant(m.created_at) or -(2**63)), m.id))
    taking_part = fit[: arguments.limit]
    most = max(Counter(memory.type for memory in taking_part).values(), default=0)
    tables = None
    if arguments.use_lsh and most >= LSH_FROM:
        dimensions = taking_part[0].vectors[0].dimensions
        tables = hyperplane_join.layout(arguments.threshold, dimensions, most, bits=BITS)
    settings = _settings(arguments, len(taking_part), lsh=tables is not None)
    findings = find(store, settings, only={m.id for m in taking_part}, progress=progress)
    groups = _ranked(findings, arguments.order)
    answer = groups_answer(arguments.namespace.name, groups)
    answer["algorithm"] = "brute_force" if tables is None else "lsh"
    if arguments.second_look:
        answer["second_look"] = compare_with_judge(findings).to_json()
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
    _refuse_impossible_merge(replace(planned.arguments, dry_run=False))
    if not planned.plan.actions:
        return planned.answer | {"dry_run": False, "action": "merged", "merged": 0}
    run = apply(store, planned.plan, progress=progress, one_by_one=True)
    left_out = {each.survivor for each in (*run.refused, *run.failed)}
    members = {m.id for a in planned.plan.actions if a.survivor not in left_out for m in a.members}
    # a duplicate counts as merged once a fresh read no longer finds it
    merged = len(members - store.get(members).keys())
    return planned.answer | merged_answer(run, merged, changed="changed: ")


def _settings(arguments: Arguments, size: int, *, lsh: bool) -> Settings:
    """Returns the settings of profile `llm-memory` for so many memories."""
    options: dict[str, Json] = {"lsh": lsh, "lsh_bits": BITS}
    profile = replace(
        LLM_MEMORY,
        detectors=(DetectorUse("semantic", arguments.threshold, settings=options),),
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


def _remarks(findings: Findings, tables: Layout | None, *, skipped: int) -> Answer:
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
