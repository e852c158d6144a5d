#!/usr/bin/env bash
# Package: mempalace 3.11.0, its `dedup`.
# Question: five different facts are filed by hand, two of them short. What does dedup remove?
# One would guess: nothing, as no two of them are alike.
# What happens: every text under 20 characters is deleted, though nothing resembles it.
#   It does not go by likeness at all. The report counts it among the duplicates.
#   Facts filed by hand name no file, so all of them form one group and are checked.
# Why it matters: the shortest memories are often the weightiest: an allergy, a code, a name.
#   A tool that says it drops repetition drops them, for good.
# Seen:
#   before: 5 drawers
#   deleted: ['Ann: nut allergy', 'Door code: 4711']
#   left: 3 drawers
# Date: 2026-11-30.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -qq --no-compile --disable-pip-version-check 'mempalace==3.11.0'
cd "$work"
HOME="$work" ANONYMIZED_TELEMETRY=False "$work/venv/bin/python" -W ignore 2>"$work/log" - <<'PY' || { cat "$work/log" >&2; exit 1; }
import contextlib
import io
import json
import os
import re
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The server takes the standard output for its protocol, so what is said here has its own.
out = os.fdopen(os.dup(1), "w", buffering=1)


class Embedder(BaseHTTPRequestHandler):
    """Answers as an embedding server on this machine: words counted into 64 places."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = []
        for index, text in enumerate(asked["input"]):
            vector = [0.01] * 64
            for word in re.findall(r"\w+", text.lower()):
                vector[zlib.crc32(word.encode()) % 64] += 1.0
            rows.append({"index": index, "embedding": vector})
        body = json.dumps({"data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Embedder)
threading.Thread(target=server.serve_forever, daemon=True).start()
PALACE = os.path.join(os.environ["HOME"], "palace")
os.environ.update(
    MEMPALACE_BACKEND="sqlite_exact",
    MEMPALACE_PALACE_PATH=PALACE,
    MEMPALACE_EMBEDDING_MODEL="openai-compat",
    MEMPALACE_EMBEDDING_API_URL=f"http://127.0.0.1:{server.server_port}",
    MEMPALACE_EMBEDDING_API_MODEL="words",
)

from mempalace.palace import get_collection

get_collection(PALACE, create=True)

import mempalace.mcp_server as mempalace_server
from mempalace.dedup import dedup_palace


def check(holds, what):
    if not holds:
        print(f"DIFFERENT: {what}", file=out)
        sys.exit(1)


def call(tool, **arguments):
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    asked["params"] = {"name": tool, "arguments": arguments}
    answer = mempalace_server.handle_request(asked)
    return json.loads(answer["result"]["content"][0]["text"])


def add(text):
    return call("mempalace_add_drawer", wing="home", room="facts", content=text)


def texts():
    return sorted(get_collection(PALACE).get(include=["documents"])["documents"])


def dedup():
    with contextlib.redirect_stdout(io.StringIO()):
        dedup_palace(PALACE, dry_run=False)


FACTS = (
    "Ann: nut allergy",
    "Door code: 4711",
    "The build server stands in room twelve of the old house",
    "The tax letter is due at the end of March each year",
    "Bob prefers short answers without any headings please",
)
for fact in FACTS:
    check(add(fact)["success"], "a fact was not filed")
before = texts()
print("before:", len(before), "drawers", file=out)
dedup()
after = texts()
deleted = sorted(set(before) - set(after))
print("deleted:", deleted, file=out)
print("left:", len(after), "drawers", file=out)
check(len(before) == 5, "not all facts were filed")
check(deleted == ["Ann: nut allergy", "Door code: 4711"], "the short facts are kept")
print("SAME: short facts went as duplicates of nothing", file=out)
PY
