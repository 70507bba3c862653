"""Notification channels: one module for each, listed in `registry.py`."""
