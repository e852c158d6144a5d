#!/usr/bin/env bash
# Package: mempalace 3.11.0, its `dedup`.
# Question: two long notes begin alike and end apart. Each is kept in two parts.
#   What does dedup leave of the second note, and can the note be added again?
# One would guess: both stay whole, as the notes differ. Or one of them goes as a whole.
# What happens: dedup compares parts. It deletes the first part of the second note alone.
#   Reading that note gives its tail, with success and no word of a loss.
#   Adding the note again does nothing: the last part is there, so it "already exists".
# Why it matters: reports and minutes begin alike. Their beginnings vanish, one by one.
#   The way to mend it, adding the note again, is closed.
# Seen:
#   second note: 899 characters
#   after dedup: 99 characters, "Note two: Bob must never restart ..."
#   added again: already_exists
#   after that: 99 characters
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


def dedup():
    with contextlib.redirect_stdout(io.StringIO()):
        dedup_palace(PALACE, dry_run=False)


OPENING = " ".join(f"step {n} of the release plan needs two approvals" for n in range(1, 30))
OPENING = (OPENING + " ")[:799] + "."
FIRST = OPENING + ("Note one: the release key is kept by Ann, who is back on Tuesday, and nobody "
                   "else may use it at all.")
SECOND = OPENING + ("Note two: Bob must never restart the old mail server, as its disk does not "
                    "come back up after that.")
add(FIRST)
second = add(SECOND)
for fact in ("The tax letter is due at the end of March each year",
             "Bob prefers short answers without any headings please"):
    add(fact)


def read_second():
    return call("mempalace_get_drawer", drawer_id=second["drawer_id"])["content"]


whole = read_second()
print("second note:", len(whole), "characters", file=out)
dedup()
torn = read_second()
print(f'after dedup: {len(torn)} characters, "{torn[:32]} ..."', file=out)
again = add(SECOND)
print("added again:", again.get("reason"), file=out)
still = read_second()
print("after that:", len(still), "characters", file=out)
check(second["chunks"] == 2 and whole == SECOND, "the note was not kept in two parts")
check(torn == SECOND[800:], "the second note is whole, or gone")
check(again.get("reason") == "already_exists" and still == torn, "the note can be added again")
print("SAME: the note lost its beginning and cannot be mended by adding it", file=out)
PY
