"""Stacked bars as SVG, by hand: nothing to install, and the text stays text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_COLOURS = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
    "#edc948", "#b07aa1", "#9c755f", "#bab0ac", "#1f3b57",
)  # fmt: skip


def stacked(title: str, bars: Mapping[str, Mapping[str, float]], stages: Sequence[str]) -> str:
    """One horizontal bar for each entry, all of one length, divided by the share of each stage.

    Args:
        title: Above the picture.
        bars: Seconds by stage, by the name of the bar.
        stages: In the order in which they are drawn; those without a second are left out.
    """
    used = [s for s in stages if any(bar.get(s, 0) >= 0.005 for bar in bars.values())]
    left, width, height, top = 110, 640, 34, 84
    parts = [f'<text x="20" y="28" font-size="16">{escape(title)}</text>']
    for at, stage in enumerate(used):
        x = 20 + at * 92
        parts.append(f'<rect x="{x}" y="44" width="14" height="14" fill="{_COLOURS[at]}"/>')
        parts.append(f'<text x="{x + 19}" y="56">{escape(stage)}</text>')
    for row, (name, bar) in enumerate(bars.items()):
        y, whole, across = top + row * (height + 14), sum(bar.values()) or 1.0, float(left)
        middle = y + height / 2 + 5
        parts.append(f'<text x="{left - 10}" y="{middle}" text-anchor="end">{escape(name)}</text>')
        for at, stage in enumerate(used):
            span = width * bar.get(stage, 0.0) / whole
            parts.append(
                f'<rect x="{across:.1f}" y="{y}" width="{span:.1f}" height="{height}" '
                f'fill="{_COLOURS[at]}"><title>{escape(stage)}: {bar.get(stage, 0.0):.2f} s</title>'
                "</rect>"
            )
            if span > 42:
                centre = across + span / 2
                parts.append(
                    f'<text x="{centre:.1f}" y="{middle}" text-anchor="middle" fill="#fff">'
                    f"{bar[stage]:.3g}</text>"
                )
            across += span
        parts.append(f'<text x="{left + width + 10}" y="{middle}">{whole:.3g} s</text>')
    tall = top + len(bars) * (height + 14) + 6
    wide = max(left + width + 90, 20 + len(used) * 92)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" '
        'font-family="sans-serif" font-size="13">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
