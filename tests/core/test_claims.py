"""A long text is cut into claims that cover it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.claims import LONG, MOST_CLAIMS, ClaimKind, is_bare, is_long, split_claims

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
def test_claims_lie_side_by_side_and_cover_the_text(text: str) -> None:
    claims = split_claims(text)
    assert "".join(text[each.start : each.end] for each in claims) == text
    assert all(each.start < each.end for each in claims)


@given(NOTES)
def test_a_blank_line_at_the_end_moves_no_claim(text: str) -> None:
    before, after = split_claims(text), split_claims(text + "\n\n")
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
    claims = [(p.kind.value, p.context, p.of(NOTE).split("\n")[0]) for p in split_claims(NOTE)]
    assert claims == [
        ("metadata", (), "---"),
        ("heading", (), "# Deploys"),
        ("sentence", ("deploys",), "Staging uses:"),
        ("item", ("deploys", "staging uses"), "port 80"),
        ("item", ("deploys", "staging uses", "port 80"), "only inside"),
        ("item", ("deploys", "staging uses"), "stop"),
        ("item", ("deploys", "staging uses"), "start"),
        ("sentence", ("deploys",), "**Production**"),
        ("item", ("deploys", "production"), "port 81"),
        ("code", ("deploys", "production"), "```sh"),
        ("heading", ("deploys", "production"), "| host | port |"),
        ("row", ("deploys", "production", "| host | port |"), "a | 81"),
        ("sentence", ("deploys",), "Later"),
        ("sentence", ("deploys",), "## Ideas"),
    ]
    assert [p.ordered for p in split_claims(NOTE)].count(True) == 2


@pytest.mark.parametrize(
    "sentences",
    [
        [
            "Never push to main. ",
            "Ask Dr. Weber first, e.g. by mail. ",
            "Version 1.2 of it is old.",
        ],
        [
            "Nie auf main pushen, z. B. nachts. ",
            "Am 3. Oktober ist alles zu. ",
            "Danach geht es los.",
        ],
        ["M. Dupont habite à Paris. ", "Il préfère pnpm à npm ! ", "« Jamais le lundi soir. »"],
        [
            "El Sr. García vive en Madrid. ",
            "¿Por qué no usa npm hoy? ",
            "Es demasiado lento ahora.",
        ],
        ["我们使用 pnpm 管理依赖。", "不要在周五部署！", "部署前先备份。"],
        ["毎週金曜日にデプロイします。", "npmは使わないでください。", "バックアップが先です。"],
    ],
)
def test_running_text_is_cut_into_sentences(sentences: list[str]) -> None:
    text = "".join(sentences)
    assert [text[each.start : each.end] for each in split_claims(text)] == sentences
    item = split_claims(f"- {text}\n- More\n")
    assert [each.of(f"- {text}\n- More\n") for each in item] == [
        *(each.strip() for each in sentences),
        "More",
    ]


def test_short_sentences_code_and_fields_are_not_torn() -> None:
    parts = ["It failed. Run `make a. Make b` now.\n", "Host: one.example\n", "Port: 81 of it\n"]
    text = "".join(parts)
    cut = [text[each.start : each.end] for each in split_claims(text)]
    assert cut == parts


@pytest.mark.parametrize(
    "said",
    [
        "Deploys",
        "Staging uses:",
        "[notes](a.md)",
        "docs/a.md",
        "**Prod**",
        "See [[release-rules]], [[port map]].",
        "Related: [[release-rules]] and [the map](map.md)",
        "Built 2026-07-26.",
    ],
)
def test_a_title_a_list_name_and_a_path_say_nothing(said: str) -> None:
    assert is_bare(said)
    assert not is_bare("Port: 81")
    assert not is_bare("Deploys run on Fridays")


def test_a_comment_is_no_part_of_the_sentence_below_it() -> None:
    banner, rule = "<!-- Written by\nthe tide desk -->\n", "Boats leave at nine.\n"
    text = f"{banner}{rule}<!-- one line -->\n{rule}"
    cut = [(each.kind, text[each.start : each.end]) for each in split_claims(text)]
    assert cut == [
        (ClaimKind.METADATA, banner),
        (ClaimKind.SENTENCE, rule),
        (ClaimKind.METADATA, "<!-- one line -->\n"),
        (ClaimKind.SENTENCE, rule),
    ]


def test_a_comment_without_an_end_and_one_before_a_sentence_stay_in_their_claims() -> None:
    for text in ("<!-- open\nBoats leave at nine.\n", "<!-- id: 4 --> Boats leave at nine.\n"):
        assert [each.kind for each in split_claims(text)] == [ClaimKind.SENTENCE]


def test_a_text_of_very_many_lines_has_a_rest() -> None:
    text = "- one more line of a very long list\n" * 30_000
    claims = split_claims(text)
    assert len(claims) == MOST_CLAIMS + 1
    assert claims[-1].kind is ClaimKind.REST
    assert claims[-1].end == len(text)


def test_a_text_is_long_by_estimated_tokens() -> None:
    assert not is_long("x" * 4 * LONG)
    assert is_long("x" * (4 * LONG + 1))
    assert not is_long("記" * LONG)
    assert is_long("記" * (LONG + 1))
