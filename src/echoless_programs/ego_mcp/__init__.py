"""ego-mcp: what is saved, which pairs of memories to look at, and what follows from the answer.

`save_with_auto_link` saves a memory that says something new; `run` proposes pairs and writes
nothing; `merge_memories` and `keep_both` act on one.
"""

from echoless.workflows.consolidation.merge_pairs import Merged as Merged
from echoless.workflows.consolidation.merge_pairs import keep_both as keep_both
from echoless_programs.ego_mcp.consolidation import ConsolidationStats as ConsolidationStats
from echoless_programs.ego_mcp.consolidation import MergeCandidate as MergeCandidate
from echoless_programs.ego_mcp.consolidation import merge_memories as merge_memories
from echoless_programs.ego_mcp.consolidation import run as run
from echoless_programs.ego_mcp.save import EmptyContent as EmptyContent
from echoless_programs.ego_mcp.save import NearMemory as NearMemory
from echoless_programs.ego_mcp.save import Saved as Saved
from echoless_programs.ego_mcp.save import consolidation_text as consolidation_text
from echoless_programs.ego_mcp.save import remember_text as remember_text
from echoless_programs.ego_mcp.save import save_with_auto_link as save_with_auto_link
