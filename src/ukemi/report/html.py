"""Pages of a report: one HTML file with everything in it, and plots as PNG."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:820px;margin:1.5em auto;padding:0 1em;color:#222}
h1{margin:0}
h2{font-size:1.1em;margin:1.6em 0 0}p{margin:.2em 0 .5em;color:#666}p.good{color:#2d6a36}p.bad{color:#b3261e}
p.fair{color:#8a6d1a}
p.good,p.bad,p.fair{font-weight:600}table{border-collapse:collapse;width:100%;margin:1em 0;font-size:.94em}
th{font-weight:400;text-align:left}th,td{padding:.3em .9em .3em 0;vertical-align:top;border-bottom:1px solid #e4e4e4}
td+td,tr:first-child *{color:#777}img{max-width:100%}.plot{overflow-x:auto}.plot img{width:100%;min-width:600px}
@media(max-width:600px){th,td{display:block;border:0;padding:0}th{margin-top:.6em}td{padding-left:1em}
tr:first-child{display:none}}"""


def write_html(path: str | Path, title: str, body: str) -> Path:
    """Writes a page around a body of HTML; returns the path."""
    page = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>
<style>{STYLE}</style></head><body>{body}</body></html>"""
    Path(path).write_text(page, encoding="utf-8")
    return Path(path)


def plot(name: str, caption: str, png: bytes) -> str:
    """A heading, a sentence and a picture, as HTML."""
    picture = f"<div class='plot'><img alt='{escape(name)}' src='{data_url(png, 'png')}'></div>"
    return f"<h2>{escape(name)}</h2><p>{escape(caption)}</p>{picture}"


def data_url(content: bytes, kind: str) -> str:
    """A picture inside the page."""
    return f"data:image/{kind};base64,{b64encode(content).decode()}"


def plot_png(draw: Callable[[Any], None], height: float = 2.7) -> bytes:
    """What a function draws on axes, as PNG; height in inches beside a width of 7.2."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw(axes)
    if axes.get_legend_handles_labels()[0]:  # above the curves, where it hides none
        axes.legend(
            frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 0.98), borderaxespad=0, markerscale=4
        )
    if not axes.get_xlabel():
        axes.set_xlabel("time [s]")
    axes.spines[["top", "right"]].set_visible(False)
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
