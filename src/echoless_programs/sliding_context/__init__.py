"""OpenClaw's sliding-context: a LanceDB table of turn summaries.

`capture` stores a turn unless it is known, `run_cleanup` merges entries that say the same.
Importing this runs nothing.
"""

from echoless_programs.sliding_context.arguments import CaptureArgs as CaptureArgs
from echoless_programs.sliding_context.arguments import CleanupArgs as CleanupArgs
from echoless_programs.sliding_context.arguments import parse_args as parse_args
from echoless_programs.sliding_context.cleanup import Cleanup as Cleanup
from echoless_programs.sliding_context.cleanup import group_similar as group_similar
from echoless_programs.sliding_context.cleanup import run_cleanup as run_cleanup
from echoless_programs.sliding_context.connections import cosine_similarity as cosine_similarity
from echoless_programs.sliding_context.turn import Message as Message
from echoless_programs.sliding_context.turn import Turn as Turn
from echoless_programs.sliding_context.turn_capture import Captured as Captured
from echoless_programs.sliding_context.turn_capture import capture as capture
from echoless_programs.sliding_context.turn_decision import TurnDecision as TurnDecision
from echoless_programs.sliding_context.turn_decision import (
    parse_dedup_response as parse_dedup_response,
)
from echoless_programs.sliding_context.turn_decision import summarize_turn as summarize_turn
