"""Which answers still count, and the items of accepted ones that are not asked about any more.

A question may vanish while its answer holds: as a group is called different, the newer value of its
survivor becomes one of all its memories, which is another question. Nobody took the first answer
back, so it goes on waiting to be applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from echoless.core.text import token_estimate
from echoless.workflows.consolidation.merge_pairs import asked_for
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.review.answers import Answer
from echoless.workflows.review.items import KINDS, ReviewItem, certainty_of, item_key
from echoless.workflows.review.plan import CHOSEN


def overruled(answer: Answer, findings: Findings, apart: AbstractSet[tuple[str, str]]) -> bool:
    """Checks whether a later decision or change contradicts an answer.

    Args:
        answer: Any.
        findings: What was found now: a memory that would go may have been pinned since, or may have
            become the survivor of a run.
        apart: Pairs that something but a review keeps apart, such as an agent.
    """
    pairs = {(min(id_, answer.survivor), max(id_, answer.survivor)) for id_ in answer.hidden}
    protected = not findings.protected.keys().isdisjoint(answer.hidden)
    return protected or not apart.isdisjoint(pairs)


def items_accepted(
    answers: Iterable[Answer], asked: Mapping[str, ReviewItem], findings: Findings
) -> list[ReviewItem]:
    """Returns items for accepted answers that hold and are not among those asked about.

    Args:
        answers: All answers in force.
        asked: Items that are asked about, by key.
        findings: What was found now. An answer about a memory out of its scope, hidden, changed or
            called different from its survivor does not hold.
    """
    return [
        _item(answer, findings)
        for answer in answers
        if answer.choice == "accept" and answer.key not in asked and _holds(answer, findings)
    ]


def _holds(answer: Answer, findings: Findings) -> bool:
    """Checks whether an accepted answer holds."""
    memories = findings.memories
    return (
        answer.kind in KINDS
        and all(id_ in memories and id_ not in findings.marked for id_ in answer.ids)
        and {answer.survivor, *answer.hidden} <= set(answer.ids)
        and item_key(answer.kind, [memories[id_] for id_ in answer.ids]) == answer.key
        and not overruled(answer, findings, findings.apart)
    )


def _item(answer: Answer, findings: Findings) -> ReviewItem:
    """Returns the item of an accepted answer; its verdicts are those of the person."""
    keep = findings.memories[answer.survivor]
    others = [findings.memories[id_] for id_ in answer.ids if id_ != keep.id]
    verdicts = {
        memory.id: judged
        for memory in others
        if (judged := asked_for(keep, memory, keep.content).judged) is not None
    }
    if len(others) == 1:
        verdicts[keep.id] = verdicts[others[0].id]
    kind = next(kind for kind in KINDS if kind == answer.kind)
    return ReviewItem(
        key=answer.key,
        kind=kind,
        group_class="other-words" if kind == "same" else None,
        ids=answer.ids,
        survivor=keep.id,
        why=CHOSEN,
        verdicts=verdicts,
        certainty=min(certainty_of(judged) for judged in verdicts.values()),
        tokens=sum(token_estimate(memory.content) for memory in others),
        namespace=keep.namespace,
    )
