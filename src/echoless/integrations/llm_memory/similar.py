"""`memory_similar`: the stored memories closest to a given one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.integrations.llm_memory import arguments
from echoless.integrations.llm_memory.answers import NOT_FOUND, answered
from echoless.integrations.llm_memory.namespaces import resolve
from echoless.integrations.llm_memory.reading import live, open_file, usable
from echoless.stores.base import ALL, Scope
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.workflows.owner_tools import SHARED, Answer, OwnerRefusal

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

SCOPES: Final = ("current", "shared", "all")
NO_VECTOR: Final = "base memory has no usable vector"


def memory_similar(
    memory_id: str | None = None,
    namespace: str | None = None,
    search_scope: str = "current",
    top_k: int = 10,
    min_similarity: float = 0.85,
    exclude_linked: bool = True,
    *,
    id: str | None = None,  # noqa: A002 - the tool's own other name
    db_path: str | Path | None = None,
) -> Answer:
    """Finds the live memories closest to one, by the cosine of the stored vectors. Reads only.

    Args:
        memory_id: The memory, in any namespace.
        namespace: That of the search; detected if None.
        search_scope: `current` (the namespace), `shared` (that and `shared`) or `all`.
        top_k: At most so many, 1 to 1000; cut off after filtering and ranking.
        min_similarity: Cosine, 0.0 to 1.0, inclusive.
        exclude_linked: Leave out memories linked with it in either direction.
        id: Another name of `memory_id`.
        db_path: The file; see `reading.open_file`.

    Returns:
        The result, or an error as data (`error`, `message`, `error_type`, `timestamp`).
    """

    def work() -> Answer:
        asked = question(
            memory_id,
            namespace=namespace,
            search_scope=search_scope,
            top_k=top_k,
            min_similarity=min_similarity,
            exclude_linked=exclude_linked,
            other_id=id,
        )
        with open_file(db_path) as store:
            return answer_in(store, asked)

    return answered(work, "finding similar memories")


@dataclass(frozen=True, slots=True)
class Question:
    """Checked arguments of `memory_similar`.

    Attributes:
        wanted: Id of the memory to start from.
        namespace: That of the search.
        scope: One of `SCOPES`.
        most: Answer with at most so many.
        least: Cosine from which a memory counts, inclusive.
        apart: Leave out memories linked with it.
    """

    wanted: str
    namespace: str
    scope: str
    most: int
    least: float
    apart: bool


def question(
    memory_id: object,
    *,
    namespace: object,
    search_scope: object,
    top_k: object,
    min_similarity: object,
    exclude_linked: object,
    other_id: object = None,
) -> Question:
    """Checks the arguments of `memory_similar`.

    Raises:
        OwnerRefusal: One is missing or out of range.
    """
    return Question(
        wanted=arguments.memory_id(memory_id, other_id),
        most=arguments.whole("top_k", top_k, 1000),
        least=arguments.share("min_similarity", min_similarity),
        scope=arguments.one_of("search_scope", search_scope, SCOPES),
        apart=arguments.flag("exclude_linked", exclude_linked),
        namespace=resolve(namespace).name,
    )


def answer_in(store: LlmMemoryStore, asked: Question) -> Answer:
    """Answers `memory_similar` in an open store. Reads only.

    Raises:
        OwnerRefusal: There is no such memory.
    """
    base = store.get([asked.wanted]).get(asked.wanted)
    if base is None:
        raise OwnerRefusal(NOT_FOUND, f"Memory not found: {asked.wanted}")
    names = {asked.namespace, SHARED} if asked.scope == "shared" else {asked.namespace}
    scopes = [ALL] if asked.scope == "all" else [Scope(name) for name in sorted(names)]
    scanned = chain.from_iterable(map(store.scan, scopes))
    others = [memory for memory in live(scanned) if memory.id != base.id]
    linked = {link.target for link in base.links}
    linked |= {m.id for m in others if any(link.target == base.id for link in m.links)}
    if asked.apart:
        others = [memory for memory in others if memory.id not in linked]
    return _answer(base, others, linked, asked)


def _answer(base: Memory, others: Sequence[Memory], linked: set[str], asked: Question) -> Answer:
    """Returns the answer about a memory, from those that may be answered with."""
    comparable = [memory for memory in others if usable(memory)]
    near: list[tuple[float, Memory]] = []
    if usable(base) and comparable:
        near = [each for each in _cosines(base, comparable) if each[0] >= asked.least]
    near.sort(key=lambda each: (-each[0], each[1].id))
    shown = near[: asked.most]
    answer: Answer = {
        "memory_id": base.id,
        "similar_count": len(shown),
        "similar_memories": [
            {
                "id": memory.id,
                "content": memory.content,
                "similarity": similarity,
                "namespace": memory.namespace,
                "is_linked": memory.id in linked,
            }
            for similarity, memory in shown
        ],
        "base_memory_id": base.id,
        "total_found": len(shown),
        "returned": len(shown),
    }
    if len(comparable) < len(others):
        answer["skipped"] = len(others) - len(comparable)
    if not usable(base):
        answer["warning"] = NO_VECTOR
    return answer


def _cosines(base: Memory, others: Sequence[Memory]) -> list[tuple[float, Memory]]:
    """Returns exact cosines; a vector of another dimension is not comparable and left out."""
    from echoless.blocking.vector_join.exact_join import cosines, row_norms  # noqa: PLC0415

    size = len(base.vectors[0].data)
    fitting = [memory for memory in others if len(memory.vectors[0].data) == size]
    data = b"".join(memory.vectors[0].data for memory in (base, *fitting))
    rows = np.frombuffer(data, dtype="<f4").reshape(len(fitting) + 1, -1).astype(np.float32)
    places = np.arange(1, len(rows), dtype=np.int64)
    values = cosines(rows, row_norms(rows), np.zeros_like(places), places)
    return list(zip(values.tolist(), fitting, strict=True))
