"""The Jinja2 environment of all pages, and the style they share.

How a page is made: write `templates/NAME.html` that begins with `{% extends "base.html" %}` and
fills the blocks `title`, `main` and, where wanted, `head`, `header`, `footer` and `scripts`; import
what is shared with `{% import "macros.html" as show %}`; call `render("NAME.html", …)`.

Three rules keep what memories say out of the markup:

- Autoescape is always on, and an undefined name is an error (`StrictUndefined`).
- **Every plain text that a template prints is made safe first** (`_printed`): secrets are masked,
  hidden characters become escapes, and it stays on one line. So `{{ memory.id }}` may also stand
  in a quoted attribute. A link of a form takes `{{ id|urlencode }}`.
- Only `web/markup.py` and the filters below return `Markup`, which is printed as
  it is. No template uses the filter `safe`.

`base.html` refers to `/static/style.css`, which a server sends (`stylesheet()`). With
`self_contained=True` the page carries the style itself and needs no server (`web/report.py`).
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import jinja2
import markupsafe

from echoless.core import text as wording
from echoless.core.document import Block, TextPair
from echoless.core.masking import OUTPUT
from echoless.core.text import on_one_line
from echoless.core.timestamps import instant
from echoless.execution.plan_blocks import quote
from echoless.web import markup
from echoless.web.page_blocks import element

if TYPE_CHECKING:
    from markupsafe import Markup

_SECOND: Final = 1_000_000_000


def render(template: str, **values: object) -> str:
    """Returns a page made of a template.

    Args:
        template: Name of a file in `templates/`.
        values: What its names stand for. A plain text is made safe when it is printed.
    """
    return environment().get_template(template).render(**values)


@cache
def environment() -> jinja2.Environment:
    """Returns the environment of all pages, made once."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("echoless.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        block=block,
        count=count,
        number=number,
        date=date,
        identifier=markup.identifier,
        line=markup.line,
        reason=markup.reason,
        passage=markup.passage,
        field=markupsafe.escape,  # whole and not masked: `review_view` lets no secret get here
    )
    made.globals.update(
        both=TextPair,
        quote=quote,
        compared=markup.compared,
        self_contained=False,
        style_hash=style_hash,
        stylesheet=stylesheet,
    )
    return made


def _printed(value: object) -> object:
    """Returns what a template prints for a value: a plain text is masked and made visible."""
    return on_one_line(OUTPUT.text(value)) if type(value) is str else value


# ------------------------------------------------------------------ filters


def block(value: Block) -> Markup:
    """Returns a block of an answer as an element."""
    return markupsafe.Markup(element(value))


def number(value: int) -> Markup:
    """Returns a number with thousands separators: `1,234`."""
    return markupsafe.Markup(wording.number(value))


def count(value: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun, which stay on one line: `1 group`, `1,234 groups`.

    Args:
        value: How many.
        one: The noun in the singular.
        many: The noun for others; with an `s` by default.
    """
    return wording.count(value, one, many).replace(" ", "\u00a0", 1)


def date(written: str | None) -> Markup:
    """Returns a time as a short date in UTC, within `<time>`.

    Args:
        written: As the store writes it, or None.

    Returns:
        `31 Jan 2026` in an element that holds the whole time; the text as it is where it is no
        time that can be read; `no date` where there is none.
    """
    if not written:
        return markupsafe.Markup("no date")
    at = instant(written)
    if at is None:
        return markup.line(written)
    try:
        moment = datetime.fromtimestamp(at // _SECOND, UTC)
    except (ValueError, OverflowError, OSError):
        return markup.line(written)
    short = f"{moment.day}\u00a0{moment:%b}\u00a0{moment.year}"
    whole = moment.isoformat().replace("+00:00", "Z")
    return markupsafe.Markup('<time datetime="{}">{}</time>').format(whole, short)


# ------------------------------------------------------------------ style


@cache
def stylesheet() -> Markup:
    """Returns the style of all pages, as `static/style.css` holds it."""
    return markupsafe.Markup((files("echoless.web") / "static" / "style.css").read_text("utf-8"))


@cache
def style_hash() -> Markup:
    """Returns the source of the style for a Content-Security-Policy: `sha256-…`."""
    digest = hashlib.sha256(stylesheet().encode("utf-8")).digest()
    return markupsafe.Markup(f"sha256-{base64.b64encode(digest).decode('ascii')}")
