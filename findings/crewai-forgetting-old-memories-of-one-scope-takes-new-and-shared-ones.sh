#!/usr/bin/env bash
# Package: crewai 1.15.30, Memory on its LanceDB storage.
# Question: forget(scope="/user/ann", older_than=DAY) where nothing is older than DAY.
#   What is removed? And what does forget(scope="/user/ann") remove?
# One would guess: nothing, as both conditions hold together.
#   Without a day: the memories of /user/ann and below, no other.
# What happens: the day is not looked at within the scope. All of /user/ann goes.
#   Without a day the memories of the root scope "/" go too, which belong to everybody.
#   The condition is built as "scope OR root AND older", with no brackets.
# Why it matters: the call meant to drop stale memories of one user drops the fresh ones.
#   The call that forgets one user drops the rules shared by all.
# Seen:
#   at first: [('/', 'Everybody writes in plain words'), ('/team', 'The gate code is seven'), ('/user/ann', 'Ann eats no nuts')]
#   forgotten, older than the year 2000: 1
#   left: [('/', 'Everybody writes in plain words'), ('/team', 'The gate code is seven')]
#   Ann is back: [('/', 'Everybody writes in plain words'), ('/team', 'The gate code is seven'), ('/user/ann', 'Ann eats no nuts')]
#   forgotten, scope /user/ann: 2
#   left: [('/team', 'The gate code is seven')]
# Date: 2026-11-30.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
# Only what is imported is installed, as all that crewai names is very large.
cat > "$work/packages.txt" <<'TXT'
lancedb==0.40.0
pyarrow==26.0.1
chromadb==1.5.9
numpy==2.4.6
grpcio==1.85.3
cryptography==50.0.2
crewai-core==1.15.30
crewai==1.15.30
openai==2.54.0
pydantic_core==2.41.5
Pygments==2.21.0
PyYAML==6.0.4
lance-namespace-urllib3-client==0.13.0
pydantic==2.12.5
protobuf==7.36.2
rich==14.3.4
rpds-py==2026.9.1
jiter==0.14.0
googleapis-common-protos==1.76.0
opentelemetry-semantic-conventions==0.66b2
charset-normalizer==3.5.3
cffi==2.1.1
bcrypt==5.0.0
anyio==4.16.0
packaging==26.4
opentelemetry-sdk==1.45.2
Jinja2==3.1.6
jsonschema==4.26.0
click==8.5.1
urllib3==2.8.0
idna==3.20
orjson==3.13.0
python-dateutil==4.0.0
pydantic-settings==2.16.3
httpx==0.28.1
pybase64==1.5.1
opentelemetry-proto==1.45.2
certifi==2026.10.19.post1
requests==2.34.2
attrs==26.1.0
tqdm==4.70.1
opentelemetry-api==1.45.2
typing_extensions==4.16.0
json_repair==0.60.1
json5==0.10.0
PyJWT==2.15.1
referencing==0.37.0
tenacity==9.2.1
opentelemetry-exporter-otlp-proto-http==1.45.2
distro==1.9.0
MarkupSafe==3.0.4
python-dotenv==1.2.4
lance-namespace==0.13.0
opentelemetry-exporter-otlp-proto-grpc==1.45.2
overrides==7.7.0
typing-inspection==0.4.5
aiosqlite==0.21.0
aiofiles==24.1.0
jsonschema-specifications==2025.9.1
opentelemetry-exporter-otlp-proto-common==1.45.2
portalocker==2.7.0
tomli==2.0.2
annotated-types==0.8.0
appdirs==1.4.4
opentelemetry-exporter-otlp-common==0.66b2
deprecation==2.1.0
jsonref==1.1.0
opentelemetry-exporter-http-transport==0.66b2
sniffio==1.3.1
TXT
"$work/venv/bin/pip" install -qq --no-deps --no-compile --disable-pip-version-check \
    -r "$work/packages.txt"
cd "$work"
HOME="$work" CREWAI_STORAGE_DIR="$work/storage" CREWAI_DISABLE_TELEMETRY=true \
    OTEL_SDK_DISABLED=true "$work/venv/bin/python" -W ignore - <<'PY'
import os

# The package draws frames on its output: only what is said here is let through.
out = os.fdopen(os.dup(1), "w", buffering=1)
silence = os.open(os.devnull, os.O_WRONLY)
os.dup2(silence, 1)

import re
import zlib
from datetime import datetime

from crewai.memory.unified_memory import Memory


def check(holds, what):
    if not holds:
        print(f"DIFFERENT: {what}", file=out)
        os._exit(1)


def embed(texts):
    vectors = []
    for text in texts:
        vector = [0.0] * 64
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % 64] += 1.0
        length = sum(value * value for value in vector) ** 0.5 or 1.0
        vectors.append([value / length for value in vector])
    return vectors


memory = Memory(storage="memories", embedder=embed, llm="none")


def remember(text, scope):
    memory.remember(text, scope=scope, categories=["note"], importance=0.5)


def held():
    return sorted((record.scope, record.content) for record in memory.list_records(limit=50))


remember("Ann eats no nuts", "/user/ann")
remember("The gate code is seven", "/team")
remember("Everybody writes in plain words", "/")
print("at first:", held(), file=out)
count = memory.forget(scope="/user/ann", older_than=datetime(2000, 1, 1))
print("forgotten, older than the year 2000:", count, file=out)
after_age = held()
print("left:", after_age, file=out)
remember("Ann eats no nuts", "/user/ann")
print("Ann is back:", held(), file=out)
removed = memory.forget(scope="/user/ann")
print("forgotten, scope /user/ann:", removed, file=out)
after_scope = held()
print("left:", after_scope, file=out)
memory.close()
check(count == 1 and ("/user/ann", "Ann eats no nuts") not in after_age,
      "the day is looked at: the new memory stays")
check(removed == 2 and after_scope == [("/team", "The gate code is seven")],
      "the memories of the root scope stay")
print("SAME: new memories and shared ones were forgotten", file=out)
os._exit(0)
PY
