#!/usr/bin/env bash
# Package: google-adk 2.13.0, InMemoryMemoryService.
# Question: a session is in the memory. It is read back with its last two events only,
#   and added again, as after each turn. What does the memory hold then?
# One would guess: all events. Events have ids, so adding again only adds what is new.
# What happens: adding a session replaces all that the memory held under that session id.
#   The older events are gone. So are events that were added one by one.
#   And an event added once without a session id then counts as another memory.
# Why it matters: reading only recent events is the usual way to save tokens.
#   With it, every later save makes the agent forget what was earlier.
# Seen:
#   whole session: ['tea fact 0', 'tea fact 1', 'tea fact 2', 'tea fact 3']
#   and one event added by itself: ['tea fact 0', 'tea fact 1', 'tea fact 2', 'tea fact 3', 'tea fact from a tool']
#   the same session again, last two events: ['tea fact 2', 'tea fact 3']
#   its last event once more, no session named: ['tea fact 2', 'tea fact 3', 'tea fact 3']
# Date: 2026-11-30.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -qq --no-compile --disable-pip-version-check 'google-adk==2.13.0'
cd "$work"
HOME="$work" "$work/venv/bin/python" -W ignore - <<'PY'
import asyncio
import sys

from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

WHO = {"app_name": "notes", "user_id": "ann"}


def check(holds, what):
    if not holds:
        sys.exit(f"DIFFERENT: {what}")


def event(text, moment):
    content = types.Content(role="user", parts=[types.Part(text=text)])
    made = Event(author="user", content=content, timestamp=moment)
    made.id = f"event-{int(moment)}"
    return made


async def found(memory):
    answer = await memory.search_memory(**WHO, query="tea")
    return [entry.content.parts[0].text for entry in answer.memories]


async def main():
    sessions = InMemorySessionService()
    memory = InMemoryMemoryService()
    session = await sessions.create_session(**WHO, session_id="s1")
    for number in range(4):
        await sessions.append_event(session, event(f"tea fact {number}", 1000.0 + number))

    whole = await sessions.get_session(**WHO, session_id="s1")
    await memory.add_session_to_memory(whole)
    first = await found(memory)
    print("whole session:", first)

    extra = event("tea fact from a tool", 2000.0)
    await memory.add_events_to_memory(**WHO, session_id="s1", events=[extra])
    second = await found(memory)
    print("and one event added by itself:", second)

    recent = GetSessionConfig(num_recent_events=2)
    short = await sessions.get_session(**WHO, session_id="s1", config=recent)
    await memory.add_session_to_memory(short)
    third = await found(memory)
    print("the same session again, last two events:", third)

    await memory.add_events_to_memory(**WHO, events=short.events[-1:])
    fourth = await found(memory)
    print("its last event once more, no session named:", fourth)

    check(len(first) == 4 and len(second) == 5, "the events were not added as expected")
    check(third == ["tea fact 2", "tea fact 3"], "the earlier events are still in the memory")
    check(fourth.count("tea fact 3") == 2, "the event is known again by its id")


asyncio.run(main())
print("SAME: the shortened session took the place of the whole one")
PY
