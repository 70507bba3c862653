"""Channels: one module for each way to send a notification."""
