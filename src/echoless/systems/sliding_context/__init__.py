"""OpenClaw's sliding-context: merging what a LanceDB table of turn summaries says twice.

Importing this runs nothing.
"""

from echoless.systems.sliding_context.arguments import CleanupArgs, parse_args
from echoless.systems.sliding_context.cleanup import Cleanup, run_cleanup
from echoless.systems.sliding_context.grouping import cosine_similarity, group_similar

__all__ = [
    "Cleanup",
    "CleanupArgs",
    "cosine_similarity",
    "group_similar",
    "parse_args",
    "run_cleanup",
]
