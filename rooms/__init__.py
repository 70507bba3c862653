"""Ask Bridge: agents ask, people answer on the team's own page."""

from bridge_client.version import __version__

__all__ = ["__version__"]
