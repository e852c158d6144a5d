#!/usr/bin/env bash
# Package: openai-agents 0.24.0.
# Question: a session was kept with SQLiteSession; the program moves to AdvancedSQLiteSession.
#   What does the new class see in the same file, and what does one pop_item remove?
# One would guess: it sees the history, as it is a subclass on the same tables.
#   And pop_item removes one item.
# What happens: the new class sees an empty session.
#   The first pop_item then deletes every item that the older class had written.
#   The items written beside it by a plain SQLiteSession go the same way.
# Why it matters: all that an agent knew of a user can vanish.
#   One step back, meant for one wrong answer, is enough. Nothing is said.
# Seen:
#   plain, before: ['My name is Ann', 'I eat no nuts']
#   advanced, same file: []
#   advanced, after one question: ['What may I eat?']
#   plain, still there: ['My name is Ann', 'I eat no nuts', 'What may I eat?']
#   popped: What may I eat?
#   plain, after the pop: []
# Date: 2026-11-30.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -qq --no-compile --disable-pip-version-check 'openai-agents==0.24.0'
cd "$work"
HOME="$work" "$work/venv/bin/python" - <<'PY'
import asyncio
import sys

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession


def check(holds, what):
    if not holds:
        sys.exit(f"DIFFERENT: {what}")


def user(text):
    return {"role": "user", "content": text}


async def texts(session):
    return [item["content"] for item in await session.get_items()]


async def main():
    plain = SQLiteSession("ann", "memory.db")
    await plain.add_items([user("My name is Ann"), user("I eat no nuts")])
    before = await texts(plain)
    print("plain, before:", before)
    plain.close()

    advanced = AdvancedSQLiteSession(session_id="ann", db_path="memory.db", create_tables=True)
    seen = await texts(advanced)
    print("advanced, same file:", seen)
    await advanced.add_items([user("What may I eat?")])
    print("advanced, after one question:", await texts(advanced))

    plain = SQLiteSession("ann", "memory.db")
    together = await texts(plain)
    print("plain, still there:", together)
    popped = await advanced.pop_item()
    print("popped:", popped["content"])
    after = await texts(plain)
    print("plain, after the pop:", after)
    plain.close()
    advanced.close()

    check(seen == [], "the advanced session sees the older history")
    check(len(together) == 3, "the older history was not in the file before the pop")
    check(popped["content"] == "What may I eat?", "the pop gave another item")
    check(after == [], "the older history outlives the pop")


asyncio.run(main())
print("SAME: one pop erased the earlier history")
PY
