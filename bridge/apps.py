"""Registers the site so that Django finds its `serve` command."""

from django.apps import AppConfig


class BridgeConfig(AppConfig):
    """The site: no models, only what it takes to run."""

    name = "bridge"
    label = "bridge"
    verbose_name = "Ask Bridge site"
