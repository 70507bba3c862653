"""The version of the package, client and app: the one place that says it."""

__version__ = "0.2.0"
