"""The agents' JSON API."""
