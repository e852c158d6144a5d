"""ego-mcp: which pairs of memories to look at, and what follows from the answer.

`run` proposes pairs and writes nothing; `merge_memories` and `keep_both` act on one.
"""

from echoless.systems.ego_mcp.acting import Merged, keep_both, merge_memories
from echoless.systems.ego_mcp.consolidating import ConsolidationStats, MergeCandidate, run
from echoless.systems.ego_mcp.texts import consolidation_text

__all__ = [
    "ConsolidationStats",
    "MergeCandidate",
    "Merged",
    "consolidation_text",
    "keep_both",
    "merge_memories",
    "run",
]
