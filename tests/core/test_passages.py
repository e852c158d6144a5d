"""A long text is cut into passages that cover it."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from echoless.core.passages import LONG, MOST_PASSAGES, PassageKind, is_long, split_passages

LINES = st.sampled_from(
    (
        *("", "# Title", "## Part", "Plain words here.", "Setext", "===", "---", "- item"),
        *("  - inner", "1. one", "2) two", "```py", "~~~", "| a | b |", "Staging uses:"),
        *("**Prod**", "**Why:** so", "    deep", "> quoted", "***", "\t- tab", "+ plus"),
        *("日本語の段落です。", "name: x", "..."),
    )
)
ENDS = st.sampled_from(["\n", "\r\n", "\n\n", ""])
NOTES = st.lists(st.tuples(LINES, ENDS), max_size=40).map(
    lambda parts: "".join(line + end for line, end in parts)
)


@given(st.one_of(NOTES, st.text(alphabet=" \t\r\n#-*`~|:=._1ab)\x0b\u2028", max_size=200)))
def test_passages_lie_side_by_side_and_cover_the_text(text: str) -> None:
    passages = split_passages(text)
    assert "".join(text[each.start : each.end] for each in passages) == text
    assert " ".join(each.of(text) for each in passages).split() == text.split()
    assert all(each.start < each.end for each in passages)


@given(NOTES)
def test_a_blank_line_at_the_end_moves_no_passage(text: str) -> None:
    before, after = split_passages(text), split_passages(text + "\n\n")
    if text:
        kinds = [(each.kind, each.context, each.of(text)) for each in before]
        assert kinds == [(each.kind, each.context, each.of(text)) for each in after]


NOTE = """\
---
name: deploy
---
# Deploys

Staging uses:
- port 80
  over TLS
  - only inside

1. stop
2. start

**Production**

- port 81

```sh
# no heading

make deploy
```

| host | port |
|---|---|
| a | 81 |

Later
-----
## Ideas
"""


def test_the_layout_of_a_note_is_read() -> None:
    shown = [(p.kind.value, p.context, p.of(NOTE).split("\n")[0]) for p in split_passages(NOTE)]
    assert shown == [
        ("metadata", (), "---"),
        ("heading", (), "# Deploys"),
        ("paragraph", ("deploys",), "Staging uses:"),
        ("item", ("deploys", "staging uses"), "- port 80"),
        ("item", ("deploys", "staging uses", "port 80"), "- only inside"),
        ("item", ("deploys", "staging uses"), "1. stop"),
        ("item", ("deploys", "staging uses"), "2. start"),
        ("paragraph", ("deploys",), "**Production**"),
        ("item", ("deploys", "production"), "- port 81"),
        ("code", ("deploys", "production"), "```sh"),
        ("table", ("deploys", "production"), "| host | port |"),
        ("paragraph", ("deploys",), "Later"),
        ("paragraph", ("deploys",), "## Ideas"),
    ]
    assert [p.ordered for p in split_passages(NOTE)].count(True) == 2


def test_a_text_of_very_many_lines_has_a_rest() -> None:
    text = "- one more line of a very long list\n" * 30_000
    start = time.process_time()
    passages = split_passages(text)
    assert len(passages) == MOST_PASSAGES + 1
    assert passages[-1].kind is PassageKind.REST
    assert passages[-1].end == len(text)
    assert time.process_time() - start < 5, "the work grows with the text"


def test_a_text_is_long_by_estimated_tokens() -> None:
    assert not is_long("x" * 4 * LONG)
    assert is_long("x" * (4 * LONG + 1))
    assert not is_long("記" * LONG)
    assert is_long("記" * (LONG + 1))
