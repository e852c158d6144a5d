"""Write `src/echoless/matching/lexicon/relative_days.json`: words for days and weeks seen from now.

`python tools/relative_days.py` takes them from the relative-time fields of CLDR, out of the npm
package `cldr-dates-full` (Unicode licence), which npm fetches. `--check` changes nothing, and ends
with code 1 if the file is out of date.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final
from unicodedata import normalize

from echoless.matching.languages import fold

PACKAGE: Final = "cldr-dates-full@48.2.0"
WORDS: Final = Path(__file__).parents[1] / "src/echoless/matching/lexicon/relative_days.json"
LANGUAGES: Final = (  # noqa: SIM905
    "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr gl gu he hi hr hu hy id is "
    "it ja ka kk km kn ko lo lt lv mk ml mn mr ms my ne nl no pa pl pt ro ru si sk sl sq sr sv ta "
    "te th tr uk ur uz vi yue zh zh-Hant"
).split()
"""Languages that the tokenizer of the pair model reads and CLDR has."""
SPANS: Final = ("day", "week", "month", "year")
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LEAST: Final = 4
"""Letters of a Latin word: shorter ones are words of other languages too (`ma`, `azi`)."""
MORE: Final = {
    ("week", "-1"): {"上星期", "上个星期", "上礼拜", "上個星期", "上禮拜"},
    ("week", "0"): {"这星期", "这个星期", "这礼拜", "這個星期"},
    ("week", "1"): {"下星期", "下个星期", "下礼拜", "下個星期", "下禮拜"},
}
"""Phrases that CLDR has in one form only."""
MORE: Final = {
    ("week", "-1"): {"上星期", "上个星期", "上礼拜", "上個星期", "上禮拜"},
    ("week", "0"): {"这星期", "这个星期", "这礼拜", "這個星期"},
    ("week", "1"): {"下星期", "下个星期", "下礼拜", "下個星期", "下禮拜"},
}
"""Phrases that CLDR has in one form only."""
LEFT_OUT: Final = frozenset({"sutra", "lusa", "morgen", "homme"})
"""Words that are ordinary ones in other languages: `morgen` is also the German morning."""


def words(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Returns the folded phrases by span and by how many spans from now they are."""
    found: dict[tuple[str, str], set[str]] = {key: {*some} for key, some in MORE.items()}
    for language in LANGUAGES:
        path = folder / "package/main" / language / "dateFields.json"
        fields = json.loads(path.read_text("utf-8"))["main"][language]["dates"]["fields"]
        for name, entries in fields.items():
            span = name if name in SPANS else "week" if name in WEEKDAYS else ""
            for kind, phrase in entries.items() if span else ():
                offset = kind.removeprefix("relative-type-")
                text = " ".join(str(phrase).casefold().replace("’", "'").split())
                latin = any(sign.isascii() and sign.isalpha() for sign in text)
                # a Latin word keeps its accents: without them the Afrikaans `môre` is English
                text = normalize("NFC", text) if latin else fold(text, "en")
                single = latin and " " not in text
                if offset == kind or (latin and len(text) < LEAST) or text in LEFT_OUT:
                    continue
                if single and name in WEEKDAYS:  # a weekday alone is no relative day
                    continue
                found.setdefault((span, offset), set()).add(text)
                if " " in text and text.startswith("i "):  # Swedish and Danish also write `imorgon`
                    found[span, offset].add(text.replace(" ", "", 1))
    made: dict[str, dict[str, list[str]]] = {}
    for (span, offset), phrases in sorted(found.items()):
        made.setdefault(span, {})[offset] = sorted(phrases)
    return made


def text() -> str:
    """Returns the file as it has to be, a list a line."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        made = words(Path(folder))
    lines = (
        f' "{span}": {{\n'
        + ",\n".join(f'  "{n}": {json.dumps(some, ensure_ascii=False)}' for n, some in each.items())
        + "\n }"
        for span, each in made.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    new = text()
    if "--check" in sys.argv[1:]:
        sys.exit(int(WORDS.read_text("utf-8") != new))
    WORDS.write_text(new, "utf-8")
