"""OpenClaw's sliding-context: a LanceDB table of turn summaries.

`capture` stores a turn unless it is known, `run_cleanup` merges entries that say the same.
Importing this runs nothing.
"""

from echoless.integrations.sliding_context.arguments import CaptureArgs, CleanupArgs, parse_args
from echoless.integrations.sliding_context.cleanup import Cleanup, group_similar, run_cleanup
from echoless.integrations.sliding_context.connections import cosine_similarity
from echoless.integrations.sliding_context.turn import Message, Turn
from echoless.integrations.sliding_context.turn_capture import Captured, capture
from echoless.integrations.sliding_context.turn_decision import (
    TurnDecision,
    parse_dedup_response,
    summarize_turn,
)

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
