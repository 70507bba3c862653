"""Django's defaults, SQLite as the site has it, and django-eventstream."""

import os
from pathlib import Path

from bridge import service_urls

HERE = "bench.anchors.eventstream"
SECRET_KEY = "bench" * 10  # on loopback, for as long as a measurement takes
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = [
    "daphne",
    "django_eventstream",
    f"{HERE}.apps.AnchorConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = f"{HERE}.urls"
ASGI_APPLICATION = f"{HERE}.asgi.application"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
EVENTSTREAM_CHANNELMANAGER_CLASS = f"{HERE}.channels.Channels"
# As its documentation advises where nothing may get lost: who was cut off for a moment gets it afterwards.
EVENTSTREAM_STORAGE_CLASS = "django_eventstream.storage.DjangoModelStorage"

# The same name and options as the site's, so that both do the same work and are counted alike. But for
# CONN_MAX_AGE: Django's documentation advises against lasting connections under ASGI.
_FILE = Path(os.environ["DATA_DIR"]) / "ask-bridge.sqlite3"
DATABASES = {"default": {**service_urls.database("DATABASE_URL", _FILE), "CONN_MAX_AGE": 0}}
USE_TZ = True
