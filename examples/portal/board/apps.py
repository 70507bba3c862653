from django.apps import AppConfig


class BoardConfig(AppConfig):
    name = "board"
    verbose_name = "Schwarzes Brett"

    def ready(self) -> None:
        from board import receivers  # noqa: F401 -- the import connects them
