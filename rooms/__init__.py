"""Ask Bridge: agents ask, people answer on the team's own page."""

__version__ = "0.1.0"
