"""Makes pairs that differ in the letters of one word: near names, and slips of the pen.

Another letter makes another name of a tool, a person or a host: such a pair is never the same. A
slip in an ordinary word changes nothing. Both kinds are needed, as each alone teaches a wrong rule.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

from training.arranged import Pair
from training.examples import Example

SYLLABLES: Final = (
    "ba", "be", "bro", "ca", "cor", "da", "del", "di", "dra", "el", "fa", "fer", "fi", "ga", "gra",
    "ha", "in", "jo", "ka", "ker", "la", "len", "li", "lo", "ma", "mar", "mi", "mon", "na", "ne",
    "no", "or", "pa", "per", "pi", "plo", "qua", "ra", "ri", "ro", "sa", "sel", "sha", "so", "sta",
    "ta", "ter", "ti", "to", "tra", "va", "ver", "vi", "wa", "xe", "ya", "za", "zi",
)  # fmt: skip
KNOWN: Final = (
    "request", "prism", "podman", "cookie", "stone", "motion", "soap", "json", "stem", "lock",
    "express", "angular", "cypress", "pillow", "flask", "celery", "redis", "kafka", "pandas",
    "numpy", "black", "ruff", "poetry", "helm", "flux", "vault", "consul", "nomad", "packer",
    "jest", "mocha", "rollup", "parcel", "vite", "svelte", "solid", "remix", "astro", "nest",
    "Marta", "Jonas", "Elena", "Karin", "Anton", "Mila", "Oskar", "Nadia", "Tarek", "Lena", "Marek",
    "Sofie", "Ivan", "Joan", "Erik", "Maren", "Dario", "Livia", "Hanna", "Stefan", "Bryan", "Aline",
)  # fmt: skip
"""Names whose neighbours are names too."""

FRAMES: Final[tuple[tuple[str, str, bool], ...]] = (
    ("The cat is called {n}", "{n} is the name of the cat", True),
    ("The staging host is {n}", "Staging runs on the host {n}", True),
    ("The column {n} holds the tenant id", "The tenant id is in the column {n}", True),
    ("{n} is the branch that releases are cut from", "Releases are cut from the branch {n}", True),
    ("Our contact at the bank is {n}", "At the bank we talk to {n}", True),
    ("The tech lead of the project is {n}", "{n} leads the project technically", True),
    ("The app is built with {n}", "We build the app with {n}", True),
    ("My sister's name is {n}", "My sister is called {n}", True),
    ("Der Paketname ist {n}", "Das Paket heißt {n}", True),
    ("Le paquet s'appelle {n}", "Le nom du paquet est {n}", True),
    ("El paquete se llama {n}", "El nombre del paquete es {n}", True),
    ("テストには{n}を使う", "テストで使うのは{n}", True),
    ("部署脚本在{n}里运行", "{n}负责运行部署脚本", True),
    ("Backups of {n} are taken at night", "{n} is backed up at night", False),
    (
        "Don't add {n} as a dependency of the core",
        "{n} must not be a dependency of the core",
        False,
    ),
    ("The parser in {n} chokes on tabs", "Tabs break the parser of {n}", False),
    ("Errors from {n} are retried three times", "We retry errors of {n} three times", False),
    ("Install {n} before the integration tests", "The integration tests need {n}", False),
    ("{n} is pinned, newer releases break the build", "We pin {n}: new releases break it", False),
    ("Docs of {n} are in the wiki", "The wiki has the docs of {n}", False),
    ("{n} likes green tea", "Green tea is what {n} likes", False),
    ("{n} was born in Lisbon", "{n}'s birthplace is Lisbon", False),
    ("{n} owes me 40 euros", "I am owed 40 euros by {n}", False),
    ("{n} wird von CI geprüft", "CI prüft {n}", False),
    ("{n} está instalado en todos los hosts", "Todos los hosts tienen {n}", False),
    ("{n} est testé chaque nuit", "Chaque nuit, {n} est testé", False),
    ("{n}は毎晩テストされる", "毎晩{n}をテストする", False),
    ("{n}每天晚上测试", "每晚都会测试{n}", False),
)
"""Two wordings of one fact, and whether another name is another value of one slot."""

_LETTERS: Final = "abcdefghiklmnoprstuvw"
_ORDINARY: Final = re.compile(r"(?<![\w`/.-])[a-zäöüéèñç]{6,}(?![\w`/-])")


def name(draw: random.Random) -> str:
    """Returns a known name or one made of syllables, in one of the forms that names have."""
    if draw.random() < 0.5:
        return draw.choice(KNOWN)
    made = "".join(draw.choices(SYLLABLES, k=draw.randint(2, 3)))
    form = draw.random()
    if form < 0.25:
        return f"{made}-{draw.choice(KNOWN).lower()}"
    if form < 0.35:
        return f"py{made}"
    if form < 0.45:
        return f"{made}{draw.randint(1, 9)}"
    return made.capitalize() if form < 0.6 else made


def near(word: str, draw: random.Random) -> str:
    """Returns another name that is written nearly alike."""
    letters, place = list(word), draw.randrange(1, len(word))
    kind = draw.randrange(7)
    if kind == 0:
        letters.insert(place, draw.choice(_LETTERS))
    elif kind == 1 and len(word) > 3:
        del letters[place]
    elif kind == 2:
        letters[place] = draw.choice([c for c in _LETTERS if c != letters[place].lower()])
    elif kind == 3 and place + 1 < len(letters):
        letters[place], letters[place + 1] = letters[place + 1], letters[place]
    elif kind == 4:
        letters.append(draw.choice(["s", "js", "a", "o", "2", "er", "-cli", "-core", "x"]))
    elif kind == 5:
        letters = list(draw.choice(["re", "un", "py", "my", "e", "a"]) + word.lower())
    else:
        letters = list(word + draw.choice(["-dev", "-old", "hub", "lib", "ly"]))
    made = "".join(letters)
    return made if made.casefold() != word.casefold() else word + draw.choice(["n", "ta", "ix"])


def slip(text: str, draw: random.Random) -> str | None:
    """Returns the text with a slip of the pen in one ordinary word; None where there is none."""
    words = list(_ORDINARY.finditer(text))
    if not words:
        return None
    at = draw.choice(words)
    letters, place = list(at.group()), draw.randrange(1, len(at.group()) - 2)
    kind = draw.randrange(3)
    if kind == 0:
        letters[place], letters[place + 1] = letters[place + 1], letters[place]
    elif kind == 1:
        del letters[place]
    else:
        letters.insert(place, letters[place])
    made = "".join(letters)
    return None if made == at.group() else text[: at.start()] + made + text[at.end() :]


def framed(draw: random.Random) -> Pair:
    """Returns one fact of a name: told twice, or told of a near name."""
    one, other, slot = draw.choice(FRAMES)
    sides = [one, draw.choice((one, other))]
    draw.shuffle(sides)
    first = name(draw)
    marks = draw.choice(("{n}", "{n}", "{n}", "`{n}`"))
    if draw.random() < 0.3:
        shown = first, draw.choice((marks, "{n}")).format(n=first)
        a, b = (side.format(n=each) for side, each in zip(sides, shown, strict=True))
        return a, b, 1, 1, 0
    second = near(first, draw)
    a, b = (s.format(n=marks.format(n=n)) for s, n in zip(sides, (first, second), strict=True))
    return a, b, 0, 0, 1 if slot else None


def near_names(texts: Sequence[str], count: int, seed: int) -> list[Example]:
    """Returns pairs of near names and of slips, two thirds of the first kind.

    Args:
        texts: Sentences that slips are put into.
        count: Pairs in all.
        seed: Same seed, same pairs.
    """
    draw = random.Random(seed)
    out: list[Example] = []
    while len(out) < count:
        if draw.random() < 2 / 3 or not texts:
            pair = framed(draw)
        else:
            text = draw.choice(texts)
            made = slip(text, draw)
            if made is None:
                continue
            pair = (text, made, 1, 1, 0)
        out.append(Example(*pair, "names", f"names:{len(out)}"))
    return out
