"""App config of the site, so that Django finds its commands and tables."""

from django.apps import AppConfig


class BridgeConfig(AppConfig):
    """The site's app: commands, and the tables of the ways to sign in."""

    name = "bridge"
    label = "bridge"
    verbose_name = "Ask Bridge site"

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from bridge import own_data
        from rooms.db.collation import compare_texts_exactly
        from rooms.signals import exporting_person

        # Accounts of the provider that differ in a capital are two people.
        post_migrate.connect(compare_texts_exactly, self, dispatch_uid="bridge.collation")
        exporting_person.connect(own_data.sign_in_data, dispatch_uid="bridge.own_data")
