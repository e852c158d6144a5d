"""`memory_deduplicate`: groups of near-equal memories of one namespace, previewed or merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from pathlib import Path
from typing import Final

from echoless.blocking.vector_join.random_hyperplanes import Layout, layout
from echoless.clustering import survivor
from echoless.core.groups import Group, Membership
from echoless.core.model import Json, Memory
from echoless.core.profiles import LLM_MEMORY, DetectorUse
from echoless.core.progress import Progress
from echoless.core.settings import Settings
from echoless.core.timestamps import instant
from echoless.execution.executor import apply
from echoless.execution.plan import Plan
from echoless.integrations.llm_memory import arguments
from echoless.integrations.llm_memory.answers import RUNTIME, answered, invalid
from echoless.integrations.llm_memory.namespaces import Namespace, resolve
from echoless.integrations.llm_memory.reading import live, open_file, usable
from echoless.stores.base import Scope
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.stores.llm_memory.connection import CANNOT, CannotLoad, can_write
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find, plan_groups
from echoless.workflows.dedupe.secret_masking import learn_held
from echoless.workflows.owner_tools import SHARED, STRATEGIES, Answer, OwnerRefusal
from echoless.workflows.pairs.threshold_comparison import look_again

BITS: Final = 8
"""Planes of a table of hyperplanes; the number of tables follows from the threshold."""

LSH_FROM: Final = 1_000
"""Vectors of one type of content from which hyperplanes are used."""

PAIRS: Final = 1_000_000
"""Pairs looked at in a call: what a crowded namespace may take of a machine's memory."""


@dataclass(frozen=True, slots=True)
class Wish:
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
        db_path: The file; see `reading.open_file`.
        progress: Told how far each stage is: stage, done, whole; the last stage is `writing`.

    Returns:
        The result, or an error as data (`error`, `message`, `error_type`, `timestamp`).
    """

    def work() -> Answer:
        wish = wished(
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
        _admit(wish)
        with open_file(db_path) as store:
            made = preview(store, wish, progress=progress)
            if wish.dry_run:
                return made.answer
            writing = None if progress is None else partial(progress, "writing")
            return carry_out(store, made, progress=writing)

    return answered(work, "detecting duplicates")


def wished(
    *,
    namespace: object = None,
    similarity_threshold: object = 0.95,
    dry_run: object = True,
    merge_strategy: object = "keep_newest",
    limit: object = 1000,
    use_lsh: object = True,
    merge_metadata: object = True,
    guards: object = True,
    second_look: object = False,
) -> Wish:
    """Checks the arguments of `memory_deduplicate`.

    Raises:
        OwnerRefusal: One is out of range.
    """
    strategy = arguments.one_of("merge_strategy", merge_strategy, tuple(STRATEGIES))
    return Wish(
        namespace=resolve(namespace),
        threshold=arguments.share("similarity_threshold", similarity_threshold),
        dry_run=arguments.flag("dry_run", dry_run),
        order=STRATEGIES[strategy],
        limit=arguments.whole("limit", limit, 10_000),
        use_lsh=arguments.flag("use_lsh", use_lsh),
        merge_metadata=arguments.flag("merge_metadata", merge_metadata),
        guards=arguments.flag("guards", guards),
        second_look=arguments.flag("second_look", second_look),
    )


@dataclass(frozen=True, slots=True)
class Preview:
    """A deduplication that was planned and not yet carried out.

    Attributes:
        wish: The arguments.
        answer: The result of a dry run.
        plan: The plan that carries it out.
    """

    wish: Wish
    answer: Answer
    plan: Plan


def _admit(wish: Wish) -> None:
    """Refuses a merge that cannot or must not be, before anything is read."""
    if wish.dry_run:
        return
    if wish.namespace.name == SHARED and not wish.namespace.given:
        raise invalid(f"merging in the namespace {SHARED} needs namespace={SHARED!r} to be given")
    if not can_write():
        raise OwnerRefusal(RUNTIME, CANNOT, details=str(CannotLoad()))


def preview(store: LlmMemoryStore, wish: Wish, *, progress: Progress | None = None) -> Preview:
    """Finds the groups and makes their plan; nothing is written.

    Args:
        store: An open store of llm-memory.
        wish: From `wished`.
        progress: Told how far each stage is.
    """
    alive = live(store.scan(Scope(wish.namespace.name)))
    fit = [memory for memory in alive if usable(memory)]
    fit.sort(key=lambda m: (-(instant(m.created_at) or -(2**63)), m.id))
    taking_part = fit[: wish.limit]
    tables = _tables(taking_part, wish)
    settings = _settings(wish, len(taking_part), lsh=tables is not None)
    findings = find(store, settings, only={m.id for m in taking_part}, progress=progress)
    groups = _ranked(findings, wish.order)
    shown: list[Json] = []
    for group in groups:
        values = [_similarity(member) for member in group.members]
        shown.append(
            {
                "primary_id": group.survivor,
                "duplicate_ids": [member.id for member in group.members],
                "avg_similarity": round(fsum(values) / len(values), 6),
            }
        )
    answer: Answer = {
        "namespace": wish.namespace.name,
        "dry_run": True,
        "duplicate_groups": shown,
        "total_groups": len(groups),
        "total_duplicates": sum(len(group.members) for group in groups),
        "action": "preview",
        "merged": 0,
        "algorithm": "brute_force" if tables is None else "lsh",
    }
    if wish.second_look:
        answer["second_look"] = look_again(findings).to_json()
    answer |= _remarks(findings, tables, skipped=len(alive) - len(fit))
    untouched = () if wish.merge_metadata else ("tags", "metadata")
    plan = plan_groups(findings, groups, action="delete", untouched=untouched)
    return Preview(wish, answer, plan)


def carry_out(
    store: LlmMemoryStore, made: Preview, *, progress: Callable[[int, int], None] | None = None
) -> Answer:
    """Merges what a preview showed, group by group.

    Args:
        store: The store of the preview.
        made: The preview.
        progress: Told (groups done, groups in all).

    Raises:
        OwnerRefusal: The merge cannot be, or must not be; nothing was written.
    """
    _admit(replace(made.wish, dry_run=False))
    done: Answer = {"dry_run": False, "action": "merged", "merged": 0}
    if not made.plan.actions:
        return made.answer | done
    run = apply(store, made.plan, progress=progress, one_by_one=True)
    left_out = {each.survivor for each in (*run.refused, *run.failed)}
    members = {m.id for a in made.plan.actions if a.survivor not in left_out for m in a.members}
    # a duplicate counts as merged once a fresh read no longer finds it
    done["merged"] = len(members - store.get(members).keys())
    errors: list[Json] = [
        *({"group": each.survivor, "error": f"changed: {each.reason}"} for each in run.refused),
        *({"group": each.survivor, "error": each.reason} for each in run.failed),
    ]
    if errors:
        done["errors"] = errors
    return made.answer | done | {"run": run.id}


def _tables(memories: Sequence[Memory], wish: Wish) -> Layout | None:
    """Returns the hyperplanes for the largest type of content, or None to compare every pair."""
    most = max(Counter(memory.type for memory in memories).values(), default=0)
    if not wish.use_lsh or most < LSH_FROM:
        return None
    return layout(wish.threshold, memories[0].vectors[0].dimensions, most, bits=BITS)


def _settings(wish: Wish, size: int, *, lsh: bool) -> Settings:
    """Returns the settings of profile `llm-memory` for so many memories."""
    options: dict[str, Json] = {"lsh": lsh, "lsh_bits": BITS}
    profile = replace(
        LLM_MEMORY,
        detectors=(DetectorUse("semantic", wish.threshold, settings=options),),
        judge="guards" if wish.guards else "bare",
        survivor=wish.order,
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
    learn_held(findings)
    held = sorted(findings.held, key=lambda j: (-j.verdict.evidence.similarity, j.a, j.b))
    remarks: Answer = {
        "held": [
            {"ids": [pair.a, pair.b], "similarity": evidence.similarity, "reason": evidence.line()}
            for pair, evidence in ((pair, pair.verdict.evidence) for pair in held)
        ],
        "skipped": skipped,
        "left_out": findings.left_out,
        "kept_apart": len(findings.apart),
    }
    return answer | {name: value for name, value in remarks.items() if value}
