#!/usr/bin/env bash
# Package: strands-agents 1.62.0, FileSessionManager.
# Question: two agents are open on one session and agent id, as in two browser tabs.
#   Each is told one thing. What does a third agent restore?
# One would guess: both messages, in order of time. Or an error for the second writer.
# What happens: each agent numbers its messages by itself. Both write number 0 and 1.
#   The second silently writes over the first. The first agent goes on with its own view.
#   What it says next lands behind a talk that it never had.
# Why it matters: a fact told to one open window is gone after the next restart.
#   Neither writer learns of it, and the two histories become one that nobody had.
# Seen:
#   first agent: ['I eat no nuts', 'reply 1']
#   second agent: ['My cat is Zed', 'reply 2']
#   restored: ['My cat is Zed', 'reply 2']
#   restored after one more turn of the first: ['My cat is Zed', 'reply 2', 'What may I eat?', 'reply 3']
# Date: 2026-11-30.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -qq --no-compile --disable-pip-version-check 'strands-agents==1.62.0'
cd "$work"
HOME="$work" "$work/venv/bin/python" -W ignore - <<'PY'
import sys

from strands import Agent
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager


def check(holds, what):
    if not holds:
        sys.exit(f"DIFFERENT: {what}")


class Parrot(Model):
    """A model that answers `reply 1`, `reply 2` and so on."""

    count = 0

    def update_config(self, **settings):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *unused, **settings):
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **settings):
        Parrot.count += 1
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": f"reply {Parrot.count}"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def opened():
    manager = FileSessionManager(session_id="ann", storage_dir="sessions")
    return Agent(model=Parrot(), agent_id="helper", session_manager=manager, callback_handler=None)


def texts(agent):
    return [message["content"][0]["text"] for message in agent.messages]


first, second = opened(), opened()
first("I eat no nuts")
second("My cat is Zed")
print("first agent:", texts(first))
print("second agent:", texts(second))
restored = texts(opened())
print("restored:", restored)
first("What may I eat?")
later = texts(opened())
print("restored after one more turn of the first:", later)
check(restored == ["My cat is Zed", "reply 2"], "the first agent's message is restored too")
check("I eat no nuts" not in later and "What may I eat?" in later,
      "the first agent's history is whole")
print("SAME: the second agent wrote over the first")
PY
