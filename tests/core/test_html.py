"""Tags and references of HTML, which are dressing where they dress a text."""

from __future__ import annotations

import pytest

from echoless import judge
from echoless.core.model import merges
from echoless.core.text import normalise, without_html
from echoless.matching.fields import fields_of

RULE = "The lift in the main office is being repaired."


@pytest.mark.parametrize(
    "text",
    [
        f"<p>{RULE}</p>",
        f"<div class='card'><b>The lift</b>{RULE.removeprefix('The lift')}</div>",
        RULE.replace(" ", "&nbsp;", 1),
        RULE.replace("main", "<span style='color:red'>main</span>"),
        RULE.replace("office", "<B><I>office</I></B>"),
        f"{RULE}<br>",
        f"{RULE}<br />&nbsp;",
        RULE.replace("i", "&#105;", 1),
        RULE.replace("main", "ma&shy;in"),
    ],
)
def test_a_text_with_tags_is_its_words(text: str) -> None:
    assert normalise(text) == normalise(RULE)
    assert normalise(fields_of(text).sentence) == normalise(RULE)
    assert merges(judge(text, RULE))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("one<br>two<BR/>three", "one\ntwo\nthree"),
        ("<ul><li>tea</li><li>cake</li></ul>", "tea\ncake"),
        ("10<sup>2</sup> m", "10^2 m"),
        ("R&amp;D, 5 &lt; 6 &#8364;", "R&D, 5 < 6 €"),
        ('<img alt="x" src="cat.png">', "cat.png"),
        ("<a class=x href='https://example.org/a'>here</a>", "https://example.org/a here"),
        ("[sound:word.mp3] <b>word</b>", "[sound:word.mp3] word"),
    ],
)
def test_what_tags_say_stays(text: str, plain: str) -> None:
    assert without_html(text).replace("  ", " ") == plain


@pytest.mark.parametrize(
    "text",
    [
        "The function returns a List<String> and a Map<a, b>.",
        "Put your name into <name> and <b into c>.",
        "Vec<i> holds Option<b>.",
        "Use <b> for bold text.",
        "Put <code> and </code> around it.",
        "Use <br> for a new line.",
        "Write &nbsp; between a number and its unit.",
        "End it with &nbsp;.",
        "`<b>bold</b>` and ```\n<p>a</p>&lt;\n```",
        "if a<b and c>d: a & b; c",
        "AT&T; R&D;",
        "<del>Old</del> and <s>older</s>.",
        "<template><slot></slot></template>",
    ],
)
def test_code_placeholders_and_talk_about_tags_stay_to_the_letter(text: str) -> None:
    assert without_html(text) == text


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use <b> for bold text in the templates.", "Use <i> for bold text in the templates."),
        ("Write &nbsp; between numbers and units.", "Write &thinsp; between numbers and units."),
        ("The limit is &lt; 5 s for each call.", "The limit is &gt; 5 s for each call."),
        ('<img src="a.png"> What is this city?', '<img src="b.png"> What is this city?'),
        ("The area is 10<sup>2</sup> metres.", "The area is 102 metres."),
        ("It returns a List<String> of names.", "It returns a List<Number> of names."),
    ],
)
def test_texts_that_differ_in_what_a_tag_says_stay_apart(a: str, b: str) -> None:
    assert not merges(judge(a, b))


@pytest.mark.parametrize("piece", ["<b>x</b> &lt; ", "<a ", "&a;", "```<b>"])
def test_the_work_grows_with_the_length_of_the_text(piece: str) -> None:
    text = piece * 20_000
    assert len(without_html(text)) <= len(text)


@pytest.mark.parametrize(
    "written",
    [
        "doi:10.1000/jms.17",
        "DOI: 10.1000/jms.17",
        "https://doi.org/10.1000/jms.17",
        "dx.doi.org/10.1000/jms.17",
    ],
)
def test_a_doi_has_one_spelling(written: str) -> None:
    text = "Lee (2024): Caching for agents. Journal of Memory Systems. {}"
    assert merges(judge(text.format(written), text.format("https://doi.org/10.1000/jms.17")))
    assert not merges(judge(text.format(written), text.format("https://doi.org/10.1000/jms.18")))
    assert normalise("doing 10.5 things") == "doing 10.5 things"
