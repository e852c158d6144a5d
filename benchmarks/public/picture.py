"""The picture of the page: what each tool hides against what is lost with it, as SVG by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from benchmarks.public.tasks import Figures
from benchmarks.speed.side_by_side import Line

PANELS: Final = (
    ("LoCoMo", "questions that lose evidence", "lost"),
    ("FactConsolidation 6k", "facts hidden wrongly", "wrongly"),
)
"""Corpus, what goes upwards, and its name among the figures."""

_COLOURS: Final = (
    "#0f766e", "#b42318", "#4e79a7", "#b7791f", "#6b46c1", "#59a14f", "#9c755f", "#1f3b57",
    "#d53f8c", "#76b7b2",
)  # fmt: skip
CLOSE: Final = 0.06
"""Share of the hidden memories by which two dots must differ to be drawn as two."""
_OWN: Final = "echoless"
_WIDE, _HIGH, _LEFT, _TOP, _APART = 330, 260, 70, 64, 430
_TICKS: Final = (0.05, 0.2, 0.5, 1.0)


def picture(lines: Sequence[Line]) -> str:
    """Returns a chart for each of two corpora, with a dot for each tool that hides anything."""
    panels = [
        {line["tool"]: line["figures"] for line in lines
         if line["corpus"] == corpus and line.get("figures", {}).get("hidden")}
        for corpus, *_ in PANELS
    ]  # fmt: skip
    tools = list(dict.fromkeys(tool for panel in panels for tool in panel if "lot" not in tool))
    parts = [part for at, panel in enumerate(panels) for part in _panel(panel, tools, at)]
    for at, tool in enumerate(tools):
        x, y = 40 + at % 3 * 280, _TOP + _HIGH + 66 + at // 3 * 22
        parts += [_dot(x, y - 4, at, tool), _text(x + 14, y, f"{at + 1} {tool}")]
    high = _TOP + _HIGH + 62 + (len(tools) + 2) // 3 * 22
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 {high}" role="img" '
        'aria-labelledby="title desc" font-family="Helvetica, Arial, sans-serif" font-size="13">\n'
        '<title id="title">Hidden memories, and what is lost with them</title>\n'
        '<desc id="desc">Two charts with a dot for each tool: memories hidden to the right, what '
        "is lost upwards. The tables of the page have the same figures.</desc>\n"
        f'<rect width="880" height="{high}" rx="8" fill="#f5f7fa"/>\n{body}\n</svg>\n'
    )


def _panel(points: Mapping[str, Figures], tools: Sequence[str], at: int) -> Iterator[str]:
    corpus, upwards, key = PANELS[at]
    left, bottom = _LEFT + at * _APART, _TOP + _HIGH
    right = max((float(each["hidden"]) for each in points.values()), default=1.0)
    upmost = (each["chance"] if "chance" in each else each[key] for each in points.values())
    most = max(map(float, upmost), default=1.0) or 1.0

    def place(hidden: float, lost: float) -> tuple[float, float]:
        return left + _WIDE * (hidden / right) ** 0.5, bottom - _HIGH * (lost / most) ** 0.5

    yield _text(left, _TOP - 40, corpus, "bold")
    yield _text(left, _TOP - 20, f"{upwards}, against memories hidden")
    yield f'<path d="M{left} {_TOP}V{bottom}H{left + _WIDE}" fill="none" stroke="#616e7c"/>'
    for share in _TICKS:
        x, y = place(share * right, share * most)
        yield _text(x, bottom + 20, f"{share * right:,.0f}", anchor="middle")
        yield _text(left - 8, y + 4, f"{share * most:,.0f}", anchor="end")
    lots = sorted((each["hidden"], each["chance"]) for each in points.values() if "chance" in each)
    if lots:
        path = "L".join("{:.0f} {:.0f}".format(*place(*each)) for each in lots)
        yield f'<path d="M{path}" fill="none" stroke="#9aa5b1" stroke-dasharray="5 4"/>'
    dots = {
        place(points[together[0]]["hidden"], points[together[0]][key]): together
        for together in _near(points, tools, key)
    }
    for (x, y), together in dots.items():
        yield _dot(x, y, tools.index(together[0]), together[0])
    for (x, y), together in dots.items():  # above all dots
        numbers = ", ".join(str(tools.index(tool) + 1) for tool in together)
        over = any(0 < a - x < 14 + 8 * len(numbers) and -24 < b - y < 6 for a, b in dots)
        yield _text(x + 8, y + (20 if over else -7), numbers, "bold")


def _near(points: Mapping[str, Figures], tools: Sequence[str], key: str) -> list[list[str]]:
    """Returns the tools by place: those that could not be told apart are one."""
    places: list[list[str]] = []
    for tool in (tool for tool in tools if tool in points):
        mine = points[tool]
        for others in places:
            first = points[others[0]]
            if max(abs(mine[of] - first[of]) for of in ("hidden", key)) <= CLOSE * first["hidden"]:
                others.append(tool)
                break
        else:
            places.append([tool])
    return places


def _dot(x: float, y: float, number: int, tool: str) -> str:
    """Returns a dot, with a ring where it is one of echoless."""
    ring = ' stroke="#1f2933" stroke-width="2"' if tool.startswith(_OWN) else ""
    colour = _COLOURS[number % len(_COLOURS)]
    name = f"<title>{escape(tool)}</title>"
    return f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="{colour}"{ring}>{name}</circle>'


def _text(x: float, y: float, words: str, weight: str = "normal", anchor: str = "start") -> str:
    style = f'fill="#1f2933" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {style}>{escape(words)}</text>'
