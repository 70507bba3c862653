"""Settings of the standalone site: everything that differs between machines is in the environment.

docs/settings.md lists the variables; `bridge.env` reads them.
"""

from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from bridge import env

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.folder("DATA_DIR", BASE_DIR / "data")
PRODUCTION = env.flag("PRODUCTION")
HOST = env.text("HOST", "127.0.0.1")
PORT = env.port("PORT", 8000)

# Never on a real site: a debug page shows settings, and every query is kept. `make dev` has its own settings.
DEBUG = False

# --- Who may come in

ALLOWED_HOSTS = env.words("ALLOWED_HOSTS")
SECRET_KEY = env.text("SECRET_KEY")
# Earlier ones, which still open sessions, agent keys, webhooks and the audit.
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")

if PRODUCTION:
    # It signs logins and agent keys: a word that somebody made up can be guessed without asking us.
    if len(SECRET_KEY) < 32 or SECRET_KEY.startswith("django-insecure-"):
        raise ImproperlyConfigured(
            "PRODUCTION=1 needs SECRET_KEY: a random text of 32 characters or more, such as "
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))" makes.'
        )
    if any(len(key) < 32 for key in SECRET_KEY_FALLBACKS):
        raise ImproperlyConfigured(
            "SECRET_KEY_FALLBACKS takes earlier values of SECRET_KEY, separated by commas: each has 32 "
            "characters or more."
        )
    if not ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "PRODUCTION=1 needs ALLOWED_HOSTS: the host names people use, separated by commas."
        )
    # A proxy ends TLS in front of us, and has to set this header itself on every request.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # probes come past the proxy
    SECURE_HSTS_SECONDS = 30 * 24 * 3600  # a month: long enough to protect, short enough to undo
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    # ".example.org" stands for all its subdomains; as an origin Django spells that with a star.
    CSRF_TRUSTED_ORIGINS = [
        f"https://{'*' if host.startswith('.') else ''}{host}" for host in ALLOWED_HOSTS if host != "*"
    ]
else:
    SECRET_KEY = SECRET_KEY or env.kept_secret("SECRET_KEY", DATA_DIR / "secret-key")
    ALLOWED_HOSTS = [*ALLOWED_HOSTS, "localhost", "127.0.0.1", "[::1]", HOST]

# The first knows nobody; it stops who guesses passwords.
AUTHENTICATION_BACKENDS = ["bridge.login.GuessLimit", "bridge.login.Accounts"]
SESSION_ENGINE = "bridge.sessions"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{validator}"}
    for validator in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "ask_bridge:inbox"
LOGOUT_REDIRECT_URL = "login"

# --- What the site is made of

INSTALLED_APPS = [
    "rooms.apps.RoomsConfig",
    "bridge",
    "django_htmx",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    # What follows is for people.
    "bridge.agents.AgentCalls",
    # Early, so that these are also on what the later ones refuse.
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "bridge.paths.KnownPaths",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "bridge.login.GuessLimitPage",
]
ROOT_URLCONF = "bridge.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# For the admin. Django's default prepares to sign a cookie at every request.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# Nothing but our own files, whatever an agent manages to write into a page.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "manifest-src": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# `serve` itself keeps a second process off SQLite and off the channel layer in memory.
SILENCED_SYSTEM_CHECKS = ["ask_bridge.W003", "ask_bridge.W004"]

# --- Where things are kept

DATABASES = {"default": env.database("DATABASE_URL", DATA_DIR / "ask-bridge.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Guessed passwords are counted here, for all processes together and across restarts. Beyond this many entries
# Django throws some away: more guesses than can be checked in the quarter of an hour that they are kept.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "bridge_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}
REDIS_URL = env.text("REDIS_URL")
CHANNEL_LAYERS = {"default": env.channel_layer("REDIS_URL", SECRET_KEY)}
# Where people find us, unless somebody says better: the first name that is allowed, or this machine.
here = f"https://{ALLOWED_HOSTS[0].lstrip('*.') or 'localhost'}" if PRODUCTION else f"http://127.0.0.1:{PORT}"
ORIGIN = env.origin("ORIGIN", here)
ASK_BRIDGE = {
    "METRICS_TOKEN": env.text("METRICS_TOKEN"),
    "ORIGIN": ORIGIN,
    "VAPID_PRIVATE_KEY": env.push_key("VAPID_PRIVATE_KEY", DATA_DIR / "vapid-key"),
    "VAPID_SUBJECT": env.text("VAPID_SUBJECT"),
    "WEBHOOK_ALLOWED_NETWORKS": env.networks("WEBHOOK_ALLOWED_NETWORKS"),
    "PUSH_ALLOWED_NETWORKS": env.networks("PUSH_ALLOWED_NETWORKS"),
}

# Each as a setting of Django's own.
globals().update(env.mail("EMAIL_URL"))
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", f"Ask Bridge <ask-bridge@{urlsplit(ORIGIN).hostname}>")

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = env.text("STATIC_DIR", str(DATA_DIR / "static"))
WHITENOISE_ALLOW_ALL_ORIGINS = False  # nobody else's pages need our files
if PRODUCTION:
    # Names carry a hash of the content, so that browsers may keep them for ever.
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }
else:
    # Straight from the source folders: nothing to collect, and an edit shows on reload.
    WHITENOISE_USE_FINDERS = True
    WHITENOISE_AUTOREFRESH = True
    WHITENOISE_MAX_AGE = 0

# Room for an answer to four prompts with every text at its longest, several times over. The server
# keeps no larger body than this, so the limit also bounds its memory.
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024

# --- Language and time

# The ones that are complete; a browser that asks for none of them gets the default.
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LANGUAGE_CODE = env.one_of("LANGUAGE_CODE", [code for code, _ in LANGUAGES])
LOCALE_PATHS = [BASE_DIR / "locale"]  # of the templates around what `rooms` brings
TIME_ZONE = "UTC"
USE_TZ = True

# --- Log: one line each, to stderr, and only what somebody should look at

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "bridge.logs.RequestId"}},
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s%(of_request)s"},
        "json": {"()": "bridge.logs.JsonLine"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["request_id"],
            "formatter": env.one_of("LOG_FORMAT", ["line", "json"]),
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING"},
        "django.request": {"level": "ERROR"},  # a 404 is the client's business
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # so is a made-up host name, told by a 400
    },
}
