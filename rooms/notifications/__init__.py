"""Notifications beyond the page: planned per person, queued in the outbox, sent by channels."""
