"""ego-mcp: what is saved, which pairs of memories to look at, and what follows from the answer.

`save_with_auto_link` saves a memory that says something new; `run` proposes pairs and writes
nothing; `merge_memories` and `keep_both` act on one.
"""

from echoless.integrations.ego_mcp.agent_texts import consolidation_text, remember_text
from echoless.integrations.ego_mcp.consolidation import (
    ConsolidationStats,
    MergeCandidate,
    Merged,
    keep_both,
    merge_memories,
    run,
)
from echoless.integrations.ego_mcp.save import EmptyContent, NearMemory, Saved, save_with_auto_link

__all__ = [
    "ConsolidationStats",
    "EmptyContent",
    "MergeCandidate",
    "Merged",
    "NearMemory",
    "Saved",
    "consolidation_text",
    "keep_both",
    "merge_memories",
    "remember_text",
    "run",
    "save_with_auto_link",
]
