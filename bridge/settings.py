"""Django settings of the standalone site. Everything that differs between machines is in the environment.

docs/settings.md lists the variables; `bridge.env` and `bridge.service_urls` read them.
"""

from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from bridge import env, service_urls

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.folder("DATA_DIR", BASE_DIR / "data")
PRODUCTION = env.flag("PRODUCTION")
HOST = env.text("HOST", "127.0.0.1")
PORT = env.port("PORT", 8000)

# Never on a real site: a debug page shows settings, and every query is kept. `make dev` has its own settings.
DEBUG = False

# --- Access and login

ALLOWED_HOSTS = env.comma_list("ALLOWED_HOSTS")
SECRET_KEY = env.text("SECRET_KEY")
# Earlier keys: sessions, agent keys, webhooks and audit entries made with them stay valid.
SECRET_KEY_FALLBACKS = env.comma_list("SECRET_KEY_FALLBACKS")

if PRODUCTION:
    # It signs logins and agent keys: a key that is not random can be guessed offline.
    if len(SECRET_KEY) < 32 or SECRET_KEY.startswith("django-insecure-"):
        raise ImproperlyConfigured(
            "PRODUCTION=1 needs SECRET_KEY: a random text of 32 characters or more, for example from "
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))".'
        )
    if any(len(key) < 32 for key in SECRET_KEY_FALLBACKS):
        raise ImproperlyConfigured(
            "SECRET_KEY_FALLBACKS takes earlier values of SECRET_KEY, separated by commas, each with 32 "
            "characters or more."
        )
    if not ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "PRODUCTION=1 needs ALLOWED_HOSTS: the host names people use, separated by commas."
        )
    # A proxy in front terminates TLS. It must set this header itself on every request.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # probes bypass the proxy
    SECURE_HSTS_SECONDS = 30 * 24 * 3600  # a month: long enough to protect, short enough to undo
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    # ".example.org" means all its subdomains; in an origin Django writes that as "*.example.org".
    CSRF_TRUSTED_ORIGINS = [
        f"https://{'*' if host.startswith('.') else ''}{host}" for host in ALLOWED_HOSTS if host != "*"
    ]
else:
    SECRET_KEY = SECRET_KEY or env.secret_from_file("SECRET_KEY", DATA_DIR / "secret-key")
    ALLOWED_HOSTS = [*ALLOWED_HOSTS, "localhost", "127.0.0.1", "[::1]", HOST]

# The first only limits password guesses and never returns a user.
AUTHENTICATION_BACKENDS = ["bridge.login.GuessLimitBackend", "bridge.login.Accounts"]
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

# Each of these is off until its variable is set; docs/sign-in.md describes them. Links of a password reset
# work for as long as slow mail takes: they open an account.
PASSWORD_RESET = env.flag("PASSWORD_RESET")
PASSWORD_RESET_TIMEOUT = 2 * 3600
SESSION_LIST = env.flag("SESSION_LIST")
TWO_FACTOR = env.one_of("TWO_FACTOR", ["off", "optional", "required"])
OIDC_ISSUER = env.issuer("OIDC_ISSUER")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = env.text("OIDC_CLIENT_SECRET")
OIDC_NAME = env.text("OIDC_NAME")
OIDC_SCOPES = env.text("OIDC_SCOPES", "openid profile email")
OIDC_EMAIL_DOMAINS = env.comma_list("OIDC_EMAIL_DOMAINS")
OIDC_TRUST_EMAILS = env.flag("OIDC_TRUST_EMAILS")
OIDC_NEW_USERS = env.one_of("OIDC_NEW_USERS", ["create", "refuse"])
OIDC_SESSION_HOURS = env.hours("OIDC_SESSION_HOURS", 24)
if PASSWORD_RESET and not env.text("EMAIL_URL"):
    raise ImproperlyConfigured("PASSWORD_RESET=1 needs EMAIL_URL, the mail server that sends the links.")
if OIDC_ISSUER and not (OIDC_CLIENT_ID and OIDC_CLIENT_SECRET):
    raise ImproperlyConfigured(
        "OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET: the provider shows both where the site is "
        "registered as a client."
    )

# --- Apps, middleware, templates

INSTALLED_APPS = [
    "rooms.apps.RoomsConfig",
    "bridge",
    "channels",
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
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # Agent requests skip all that follows, which is for browsers.
    "bridge.middleware.AgentRequestMiddleware",
    # Early, so that replies of later middleware have the policy, too.
    "csp.middleware.CSPMiddleware",
    "bridge.static_files.StaticFilesMiddleware",
    "bridge.static_files.PageCompressionMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "bridge.middleware.GuessLimitMiddleware",
]
if TWO_FACTOR != "off":
    MIDDLEWARE += ["django_otp.middleware.OTPMiddleware", "bridge.second_factor.SecondFactorMiddleware"]
if SESSION_LIST:
    MIDDLEWARE += ["bridge.own_sessions.OwnSessionsMiddleware"]
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

# For the admin. Django's default would prepare a signed cookie for every request.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# Only the site's own files, even if an agent manages to inject HTML into a page.
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

# About SQLite and the in-memory channel layer with several processes: `serve` refuses a second one.
SILENCED_SYSTEM_CHECKS = ["ask_bridge.W003", "ask_bridge.W004", "ask_bridge.W009"]

# --- Database, cache, channel layer, notifications

DATABASES = {"default": service_urls.database("DATABASE_URL", DATA_DIR / "ask-bridge.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Counts password guesses, for all processes and across restarts. Above MAX_ENTRIES Django deletes some:
# that is more guesses than the site can check in the 15 minutes for which they are kept.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "bridge_cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}
REDIS_URL = env.text("REDIS_URL")
CHANNEL_LAYERS = {"default": service_urls.channel_layer("REDIS_URL", SECRET_KEY)}
# The first allowed host, or this machine.
default_origin = (
    f"https://{ALLOWED_HOSTS[0].lstrip('*.') or 'localhost'}" if PRODUCTION else f"http://127.0.0.1:{PORT}"
)
ORIGIN = env.origin("ORIGIN", default_origin)
ASK_BRIDGE = {
    "METRICS_TOKEN": env.text("METRICS_TOKEN"),
    "ORIGIN": ORIGIN,
    "VAPID_PRIVATE_KEY": env.push_key("VAPID_PRIVATE_KEY", DATA_DIR / "vapid-key"),
    "VAPID_SUBJECT": env.text("VAPID_SUBJECT"),
    "WEBHOOK_ALLOWED_NETWORKS": env.networks("WEBHOOK_ALLOWED_NETWORKS"),
    "PUSH_ALLOWED_NETWORKS": env.networks("PUSH_ALLOWED_NETWORKS"),
    "ROOM_CREATORS": env.one_of("ROOM_CREATORS", ["staff", "everyone"]),
    "KEEP_DAYS": env.whole_number("KEEP_DAYS", most=36_500),
    "DELETED_PEOPLE": env.one_of("DELETED_PEOPLE", ["named", "anonymous"]),
}

# MAILERS, or before Django 6.1 EMAIL_BACKEND, EMAIL_HOST and others.
globals().update(service_urls.mail("EMAIL_URL"))
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM", f"Ask Bridge <ask-bridge@{urlsplit(ORIGIN).hostname}>")

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = env.text("STATIC_DIR", str(DATA_DIR / "static"))
if not PRODUCTION:
    Path(STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # WhiteNoise warns of a missing folder
WHITENOISE_ALLOW_ALL_ORIGINS = False  # pages of other sites need none of these files
# `serve` collects them. Names contain a hash of the content, so browsers may cache the files without a limit.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "bridge.static_files.CollectedFiles"},
}

# Several times the size of the largest possible answer: four prompts with texts of maximum length. The server
# reads no larger body into memory.
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024

# --- Language and time

# Complete translations; a browser that asks for another language gets LANGUAGE_CODE.
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LANGUAGE_CODE = env.one_of("LANGUAGE_CODE", [code for code, _ in LANGUAGES])
LOCALE_PATHS = [BASE_DIR / "locale"]  # for the site's own templates; `rooms` has its own folder
# For readers whose browser has not told its own, for the admin and the log.
TIME_ZONE = env.time_zone("TIME_ZONE", "UTC")
USE_TZ = True

# --- Log: one line per event, to stderr, only warnings and errors

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "bridge.logs.RequestId"},
        "outages": {"()": "rooms.db.outages.WithoutOutages"},
    },
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s%(request_suffix)s"},
        "json": {"()": "bridge.logs.JsonLine"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["outages", "request_id"],
            "formatter": env.one_of("LOG_FORMAT", ["line", "json"]),
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING"},
        "django.request": {"level": "ERROR"},  # a 404 is a mistake of the client
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # so is a forged host name, which gets a 400
    },
}
