"""Folders of notes in the shapes that real ones have, made from a number: the same every time.

The shapes are those of public repositories' CLAUDE.md, AGENTS.md, memory folders, daily notes and
vaults: nested, loose, ordered and task lists, headings of all kinds, tables, fences that hold marks
of headings and lists, comments, quotes, tabs, trailing spaces, CR LF, byte order marks, no line end
at the end, and front matter of both generations.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

FACTS = (
    "Run `make test` before every commit, and fix what fails.",
    "The staging database listens on port 5432.",
    "**Never** push to `main`; open a pull request instead.",
    "Use pnpm, not npm: the lock file is `pnpm-lock.yaml`.",
    "Deploys happen on Tuesdays at 14:00 UTC  ",
    "API keys live in 1Password, vault \u201cPlatform\u201d.",
    "テストは毎回コミット前に実行する。",
    "La base de données de test est recréée chaque nuit.",
    "See [the guide](docs/guide.md#setup) for \U0001f600 details.",
    "Prefer `dataclass(frozen=True)` & keyword-only options <here>.",
    "Alice owns billing; Bob owns search (since 2025-11-03).",
    "Retry 3 times with 250 ms back-off - then give up.",
)


def bullets(random: Random) -> str:
    mark = random.choice(["-", "*", "+"])
    gap = random.choice(["", "", "\n"])
    made = []
    for fact in random.sample(FACTS, random.randint(1, 4)):
        box = random.choice(["", "", "", "[ ] ", "[x] "])
        text = f"{mark} {box}{fact}\n"
        match random.randint(0, 7):
            case 0:
                text += f"  {mark} nested: {random.choice(FACTS)}\n    - deeper\n"
            case 1:
                text += "  goes on, indented\n"
            case 2:
                text += "goes on, lazily\n"
            case 3:
                text += "\n  A second paragraph.\n\n  ```sh\n  # no heading\n  - no bullet\n  ```\n"
            case 4:
                text = f"{mark}\t{fact}\t\n"
        made.append(text)
    return gap.join(made)


def ordered(random: Random) -> str:
    end = random.choice([".", ")"])
    facts = random.sample(FACTS, random.randint(1, 3))
    return "".join(f"{n}{end} {fact}\n" for n, fact in enumerate(facts, random.choice([1, 1, 3])))


def paragraph(random: Random) -> str:
    text = "\n".join(random.sample(FACTS, random.randint(1, 2)))
    return random.choice(["", "", "   "]) + text + "\n"


def introduced(random: Random) -> str:
    return "Commands:\n" + random.choice(["", "\n"]) + bullets(random)


def fence(random: Random) -> str:
    mark = random.choice(["```", "~~~", "````"])
    return f"{mark}{random.choice(['', 'sh', 'python'])}\n# comment\n- item\n\n  x = 1\n{mark}\n"


def table(random: Random) -> str:
    rows = "".join(f"| {n} | `{random.choice('abc')}` |\n" for n in range(random.randint(1, 3)))
    return "| key | value |\n|---|:--|\n" + rows


def comment(random: Random) -> str:
    return random.choice(["<!-- one line -->\n", "<!--\n- not a bullet\n\n# nor a heading\n-->\n"])


def quote(random: Random) -> str:
    return f"> {random.choice(FACTS)}\n> and more\n"


def other(random: Random) -> str:
    return random.choice(["---\n", "[ref]: https://example.com\n", "<details>\nx\n</details>\n"])


BLOCKS: tuple[Callable[[Random], str], ...] = (
    bullets,
    bullets,
    bullets,
    paragraph,
    paragraph,
    ordered,
    introduced,
    fence,
    table,
    comment,
    quote,
    other,
)


def heading(random: Random, level: int) -> str:
    text = random.choice(["Testing", "Build & run", "Décisions", "2026-01-05 Monday", "API `v2`"])
    if level <= 2 and random.random() < 0.3:
        return f"{text}\n{'=' if level == 1 else '-'}{'=' * 3 if level == 1 else '---'}\n"
    return f"{'#' * level} {text}{random.choice(['', '', ' ##', '  '])}\n"


def document(random: Random, front: str = "") -> str:
    """Returns a text of some sections."""
    parts = [front] if front else []
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.8:
            parts.append(heading(random, random.randint(1, 3)))
            parts.append(random.choice(["", "\n", "\n"]))
        for _ in range(random.randint(1, 3)):
            parts.append(random.choice(BLOCKS)(random))
            parts.append(random.choice(["\n", "\n", "\n", "\n\n", " \n", ""]))
    return dressed(random, "".join(parts))


def dressed(random: Random, text: str) -> str:
    """Returns a text with the line ends, byte order mark and last line of some editor."""
    text = text.rstrip("\n") + random.choice(["\n", "\n", "", "\n\n"])
    if random.random() < 0.25:
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if random.random() < 0.1 else "") + text


def topic(random: Random, name: str) -> str:
    """Returns a memory file with front matter of either generation, or none."""
    fact = random.choice(FACTS)
    kind = random.choice(["user", "feedback", "project", "reference"])
    match random.randint(0, 4):
        case 0:
            front = f"---\nname: {name}\ndescription: {random.choice(FACTS)!r}\ntype: {kind}\n---\n"
        case 1:
            front = (
                f'---\nname: "{name}"\ndescription: >\n  folded text,\n  two lines\nmetadata:\n'
                f"  type: {kind}   # comment\n  node_type: memory\noriginSessionId: 0f3e\n---\n\n"
            )
        case 2:
            front = f"---\nname: {name}\ndescription: not: valid: yaml\n---\n"
        case 3:
            front = f"---\ntags: [a, b]\ncreated: 2026-01-05\ntype: {kind}\n---\n\n"
        case _:
            front = ""
    body = f"{fact}\n\n**Why:** {random.choice(FACTS)}\n\n**How to apply:** always.\n"
    return dressed(random, front + random.choice([fact + "\n", body]))


Files = dict[str, str]


def claude_memory(random: Random) -> Files:
    names = [f"{random.choice(['user', 'feedback'])}_{n}.md" for n in range(random.randint(3, 5))]
    files = {name: topic(random, name) for name in names}
    listed = [name for name in names if random.random() < 0.9]
    lines = [f"- [{name[:-3]}]({name}) \u2014 hook {n}\n" for n, name in enumerate(listed)]
    if random.random() < 0.3:
        lines.insert(0, "# Memory Index\n\n")
    if random.random() < 0.3:
        lines.append("- [Gone](gone.md) \u2014 nothing\n")
    if random.random() < 0.6:
        own = document(random)
        lines.insert(random.choice([0, len(lines)]), f"{own.strip(chr(0xFEFF))}\n\n")
    return {**files, "MEMORY.md": dressed(random, "".join(lines))}


def agent_rules(random: Random) -> Files:
    rule = "---\ndescription: rules\nglobs: *.ts\nalwaysApply: false\n---\n"
    return {
        "CLAUDE.md": document(random),
        ".cursor/rules/style.mdc": document(random, rule),
        "sub/AGENTS.md": document(random),
        "README.md": document(random),
    }


def openclaw(random: Random) -> Files:
    days = {f"memory/2026-01-0{n}.md": document(random) for n in range(1, random.randint(3, 4))}
    return {"MEMORY.md": document(random), **days}


def codex(random: Random) -> Files:
    return {"MEMORY.md": document(random), "raw_memories.md": document(random)}


def basic_memory(random: Random) -> Files:
    front = "---\ntitle: Coffee\npermalink: notes/coffee\ntags:\n- brewing\n---\n\n"
    made = []
    for fact in random.sample(FACTS, 5):
        context = random.choice(["", "", " (from a talk)"])
        tags = random.choice(["", " #brewing", " #a/b #\u00fcber"])
        made.append(f"- [{random.choice(['tech', 'decision'])}] {fact.strip()}{tags}{context}\n")
    made.append("\n## Relations\n- pairs_with [[Chocolate]]\n- [[Tea]]\n")
    return {"coffee.md": dressed(random, front + "".join(made)), "b.md": document(random, front)}


def dated_list(random: Random) -> Files:
    """Returns a list of memories that a chatbot prints, in one fence, in several, or in none."""
    parts = []
    for title in random.sample(["Identity", "Preferences", "Projects"], random.randint(1, 3)):
        days = ["unknown", *(f"2026-01-0{n}" for n in range(1, 6))]
        facts = [f"[{random.choice(days)}] - {fact}\n" for fact in random.sample(FACTS, 3)]
        parts.append(f"## {title}\n" + random.choice(["", "\n"]) + "".join(facts))
    whole, each = random.choice([("```", ""), ("", ""), ("", "```"), ("~~~", "")])
    text = "\n".join(f"{each}\n{part}{each}\n" for part in parts)
    return {"export.md": dressed(random, f"All of it:\n\n{whole}\n{text}{whole}\n\nThat is all.\n")}


FAMILIES: dict[str, Callable[[Random], Files]] = {
    "claude-memory": claude_memory,
    "agent-rules": agent_rules,
    "openclaw": openclaw,
    "codex": codex,
    "basic-memory": basic_memory,
    "notes": dated_list,
}
