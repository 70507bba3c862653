"""The ratios as an SVG bar chart, for light and dark pages."""

from collections.abc import Sequence
from html import escape

from bench import record as measures
from bench.plan import Plan
from bench.record import Record
from bench.targets import Target

# What all others are compared with.
REFERENCE = "daphne"

COLUMNS = 2
PANEL_WIDTH, LABEL_WIDTH, VALUE_WIDTH = 520, 200, 70
ROW, TITLE, GAP, MARGIN = 22, 30, 26, 24
BAR_WIDTH = PANEL_WIDTH - LABEL_WIDTH - VALUE_WIDTH

STYLE = """
  svg { background: #ffffff; font: 13px system-ui, sans-serif; }
  text { fill: #1f2937; }
  .title { font-weight: 600; }
  .quiet { fill: #6b7280; }
  .ours { fill: #4f46e5; }
  .other { fill: #9ca3af; }
  @media (prefers-color-scheme: dark) {
    svg { background: #111827; }
    text { fill: #e5e7eb; }
    .quiet { fill: #9ca3af; }
    .ours { fill: #818cf8; }
    .other { fill: #6b7280; }
  }
"""


def draw(plan: Plan, record: Record, targets: Sequence[Target]) -> str:
    """An SVG document."""
    names = [*map(measures.agent_p50, plan.agents), *map(measures.last_viewer, plan.viewers)]
    names += [
        measures.ASK_CPU,
        measures.come_back(plan.returning),
        measures.AGENT_BYTES,
        measures.VIEWER_BYTES,
    ]
    panels = [panel for name in names if (panel := _bars(name, record, targets))]
    height = max((TITLE + ROW * len(bars) + GAP for _, bars in panels), default=0)
    drawn = [
        _draw_panel(
            title,
            bars,
            MARGIN + (number % COLUMNS) * (PANEL_WIDTH + GAP),
            MARGIN + TITLE + number // COLUMNS * height,
        )
        for number, (title, bars) in enumerate(panels)
    ]
    width = 2 * MARGIN + COLUMNS * PANEL_WIDTH + GAP
    total = 2 * MARGIN + TITLE + -(-len(panels) // COLUMNS) * height
    caption = f"Median of {plan.rounds} rounds, Ask Bridge on Daphne = 1. Shorter is better."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" role="img">',
            f"<title>{caption}</title>",
            f"<style>{STYLE}</style>",
            f'<text class="quiet" x="{MARGIN}" y="{MARGIN + 8}">{caption}</text>',
            *drawn,
            "</svg>\n",
        ]
    )


Bar = tuple[Target, float]


def _bars(measure: str, record: Record, targets: Sequence[Target]) -> tuple[str, list[Bar]] | None:
    """Each target's median as a multiple of ours; None if there is nothing to compare with."""
    reference = record.median(REFERENCE, measure)
    if not reference or reference < 0:
        return None
    medians = [(target, record.median(target.name, measure)) for target in targets]
    return measure, [(target, max(value, 0) / reference) for target, value in medians if value is not None]


def _draw_panel(title: str, bars: list[Bar], left: int, top: int) -> str:
    longest = max(value for _, value in bars)
    lines = [f'<g transform="translate({left} {top})">', f'<text class="title" y="16">{escape(title)}</text>']
    for number, (target, value) in enumerate(bars):
        y = TITLE + number * ROW
        length = max(1, round(value / longest * BAR_WIDTH))
        kind = "ours" if target.is_ours else "other"
        lines += [
            f'<text x="{LABEL_WIDTH - 10}" y="{y + 12}" text-anchor="end">{escape(target.label)}</text>',
            f'<rect class="{kind}" x="{LABEL_WIDTH}" y="{y}" width="{length}" height="{ROW - 7}" rx="2"/>',
            f'<text x="{LABEL_WIDTH + length + 6}" y="{y + 12}">{value:.2g} ×</text>',
        ]
    return "\n".join([*lines, "</g>"])
