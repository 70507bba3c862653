"""The client's version: the same as the server's that offers it."""

__version__ = "0.1.0"
