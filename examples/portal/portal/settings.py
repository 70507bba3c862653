"""Settings of a team's portal; comments mark the lines for Ask Bridge."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent

SECRET_KEY = os.environ.get("SECRET_KEY", "only to try it out")
DEBUG = "SECRET_KEY" not in os.environ
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]

INSTALLED_APPS = [
    "daphne",  # for Ask Bridge: `runserver` uses ASGI
    "portal",
    "people",
    "board",
    "ask_bridge",  # Ask Bridge
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "portal" / "templates"],  # `ask_bridge/base.html` is in there
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"

AUTH_USER_MODEL = "people.Person"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "home"

# Single sign-on with OpenID Connect, by django-allauth. Ask Bridge needs nothing for it.
OIDC_ISSUER = os.environ.get("OIDC_ISSUER", "")
if OIDC_ISSUER:
    INSTALLED_APPS += [
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ]
    MIDDLEWARE += ["allauth.account.middleware.AccountMiddleware"]
    SOCIALACCOUNT_ONLY = True  # passwords are only for accounts that an admin has made
    ACCOUNT_EMAIL_VERIFICATION = "none"
    SOCIALACCOUNT_LOGIN_ON_GET = True  # a link: the policy below lets no form lead to another site
    SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": "firma",
                    "name": "Firma",
                    "client_id": os.environ["OIDC_CLIENT_ID"],
                    "secret": os.environ["OIDC_CLIENT_SECRET"],
                    "settings": {"server_url": OIDC_ISSUER},
                }
            ],
        }
    }

ASK_BRIDGE = {
    "PERMISSIONS": "portal.permissions.TeamPermissions",
    "PROFILES": "portal.profiles.TeamProfiles",
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "manifest-src": ["'self'"],
    }
}

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": BASE_DIR / "portal.sqlite3",
        "ATOMIC_REQUESTS": True,
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"
# `npm install` brings Bootstrap; without it the portal works, and looks plain.
BOOTSTRAP = BASE_DIR / "node_modules" / "bootstrap" / "dist"
STATICFILES_DIRS = [("bootstrap", BOOTSTRAP)] if BOOTSTRAP.is_dir() else []
LANGUAGE_CODE = "de"
TIME_ZONE = "Europe/Berlin"
USE_TZ = True
