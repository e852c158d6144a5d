"""OpenClaw's sliding-context: a LanceDB table of turn summaries.

`capture` keeps a turn unless it is known, `run_cleanup` merges what the table says twice. Importing
this runs nothing.
"""

from echoless.systems.sliding_context.arguments import CaptureArgs, CleanupArgs, parse_args
from echoless.systems.sliding_context.capturing import Captured, capture
from echoless.systems.sliding_context.cleanup import Cleanup, run_cleanup
from echoless.systems.sliding_context.grouping import cosine_similarity, group_similar
from echoless.systems.sliding_context.replies import TurnDecision, parse_dedup_response
from echoless.systems.sliding_context.summarizing import summarize_turn
from echoless.systems.sliding_context.turns import Message, Turn

__all__ = [
    "CaptureArgs",
    "Captured",
    "Cleanup",
    "CleanupArgs",
    "Message",
    "Turn",
    "TurnDecision",
    "capture",
    "cosine_similarity",
    "group_similar",
    "parse_args",
    "parse_dedup_response",
    "run_cleanup",
    "summarize_turn",
]
