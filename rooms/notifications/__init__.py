"""Notifications outside of the page: planned per recipient, queued in the outbox, sent by channels."""
