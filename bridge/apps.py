"""App config of the site, so that Django finds its `serve` command."""

from django.apps import AppConfig


class BridgeConfig(AppConfig):
    """The site's app: commands, no models."""

    name = "bridge"
    label = "bridge"
    verbose_name = "Ask Bridge site"
