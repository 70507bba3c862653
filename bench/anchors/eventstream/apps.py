"""The one app of this project."""

from django.apps import AppConfig


class AnchorConfig(AppConfig):
    name = "bench.anchors.eventstream"
    label = "anchor"
    default_auto_field = "django.db.models.BigAutoField"
