"""The mail backend of the settings of this test run: in MAILERS since Django 6.1, before in EMAIL_BACKEND."""

from typing import Any

from bridge.service_urls import MAIL_SETTINGS


def use_mail_backend(settings: Any, name: str, **options: Any) -> None:
    """Let mails go through Django's backend of this name, with these options."""
    backend = f"django.core.mail.backends.{name}.EmailBackend"
    if hasattr(settings, "MAILERS"):
        settings.MAILERS = {"default": {"BACKEND": backend, "OPTIONS": options}}
        return
    settings.EMAIL_BACKEND = backend
    for option, value in options.items():
        setattr(settings, MAIL_SETTINGS[option], value)
