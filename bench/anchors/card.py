"""What the anchors send to pages: as many bytes as an answered card of ours, and nothing to render."""

CARD_BYTES = 3_200

_LINE = '<p class="prompt-text">Which database should we use? <b class="option-label">PostgreSQL</b></p>'
CARD = f'<article class="card is-answered">{_LINE * (CARD_BYTES // len(_LINE))}</article>'
