from django.apps import AppConfig
from django.conf import settings


class PeopleConfig(AppConfig):
    name = "people"
    verbose_name = "Personen"

    def ready(self) -> None:
        if settings.OIDC_ISSUER:
            from people import receivers  # noqa: F401 -- the import connects them
