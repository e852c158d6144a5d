"""`memory_similar`: the stored memories closest to a given one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from echoless.core.model import Memory
from echoless.core.optional import lazy_module
from echoless.integrations.llm_memory import validation
from echoless.integrations.llm_memory.memory_file import live, open_file, usable
from echoless.integrations.llm_memory.namespaces import resolve
from echoless.stores.base import ALL, Scope
from echoless.stores.llm_memory import LlmMemoryStore
from echoless.workflows.owner_tools import SHARED, OwnerRefusal, SimilarRequest
from echoless.workflows.retrieval.neighbours import Neighbour
from echoless.workflows.tool_answers import Answer, similar_answer

if TYPE_CHECKING:
    import numpy as np

    from echoless.blocking.vector_join import exact_join
else:
    exact_join = lazy_module("echoless.blocking.vector_join.exact_join")
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
        db_path: The file; see `memory_file.open_file`.

    Returns:
        The result, or an error as data (`error`, `message`, `error_type`, `timestamp`).
    """
    request = SimilarRequest(
        memory_id=memory_id,
        other_id=id,
        namespace=namespace,
        search_scope=search_scope,
        top_k=top_k,
        min_similarity=min_similarity,
        exclude_linked=exclude_linked,
    )

    def work() -> Answer:
        query = checked(request)
        with open_file(db_path) as store:
            return answer_in(store, query)

    return validation.answer_or_error(work, "finding similar memories")


@dataclass(frozen=True, slots=True)
class Query:
    """Checked arguments of `memory_similar`.

    Attributes:
        memory_id: The memory to start from.
        namespace: That of the search.
        scope: One of `SCOPES`.
        limit: Answer with at most so many.
        least: Cosine from which a memory counts, inclusive.
        exclude_linked: Leave out memories linked with it.
    """

    memory_id: str
    namespace: str
    scope: str
    limit: int
    least: float
    exclude_linked: bool


def checked(request: SimilarRequest) -> Query:
    """Checks the arguments of `memory_similar`.

    Raises:
        OwnerRefusal: One is missing or out of range.
    """
    return Query(
        memory_id=validation.memory_id(request.memory_id, request.other_id),
        limit=validation.whole("top_k", request.top_k, 1000),
        least=validation.share("min_similarity", request.min_similarity),
        scope=validation.one_of("search_scope", request.search_scope, SCOPES),
        exclude_linked=validation.flag("exclude_linked", request.exclude_linked),
        namespace=resolve(request.namespace).name,
    )


def answer_in(store: LlmMemoryStore, query: Query) -> Answer:
    """Answers `memory_similar` in an open store. Reads only.

    Raises:
        OwnerRefusal: There is no such memory.
    """
    base = store.get([query.memory_id]).get(query.memory_id)
    if base is None:
        raise OwnerRefusal(validation.NOT_FOUND, f"Memory not found: {query.memory_id}")
    names = {query.namespace, SHARED} if query.scope == "shared" else {query.namespace}
    scopes = [ALL] if query.scope == "all" else [Scope(name) for name in sorted(names)]
    scanned = chain.from_iterable(map(store.scan, scopes))
    others = [memory for memory in live(scanned) if memory.id != base.id]
    linked = {link.target for link in base.links}
    linked |= {m.id for m in others if any(link.target == base.id for link in m.links)}
    if query.exclude_linked:
        others = [memory for memory in others if memory.id not in linked]
    comparable = [memory for memory in others if usable(memory)]
    near: list[Neighbour] = []
    if usable(base) and comparable:
        pairs = _cosines(base, comparable)
        near = [Neighbour(m, c, m.id in linked) for c, m in pairs if c >= query.least]
    near.sort(key=lambda each: (-each.similarity, each.memory.id))
    answer = similar_answer(base.id, near[: query.limit])
    if len(comparable) < len(others):
        answer["skipped"] = len(others) - len(comparable)
    if not usable(base):
        answer["warning"] = NO_VECTOR
    return answer


def _cosines(base: Memory, others: Sequence[Memory]) -> list[tuple[float, Memory]]:
    """Returns exact cosines; a vector of another dimension is not comparable and left out."""
    size = len(base.vectors[0].data)
    fitting = [memory for memory in others if len(memory.vectors[0].data) == size]
    data = b"".join(memory.vectors[0].data for memory in (base, *fitting))
    rows = np.frombuffer(data, dtype="<f4").reshape(len(fitting) + 1, -1).astype(np.float32)
    places = np.arange(1, len(rows), dtype=np.int64)
    norms = exact_join.row_norms(rows)
    values = exact_join.cosines(rows, norms, np.zeros_like(places), places)
    return list(zip(values.tolist(), fitting, strict=True))
