"""Read all settings of Tidings from the environment and `.env`. `.env.example` explains each one.

All are optional: the defaults run the whole product on one machine with SQLite, without a broker or a model
key.
"""

import ctypes
import gc
import os
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config.environment import (
    Environment,
    PrivateConnection,
    data_folder,
    postgresql_settings,
    private_folder_create,
    stored_secret_key,
    url_host,
)
from config.jobs.schedule import celery_settings
from config.logs import logging_config, structlog_configure
from config.retention import retention_days
from config.static_files import static_version

# One thread for linear algebra, set before NumPy is imported. Our matrices are small, and the processes use
# the other cores. With one thread per core a posterior took 50 times as long on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Pydantic searches every installed distribution for plugins. We have none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

# Half a million objects are created at the start and stay. With the default, a garbage collection after every
# 700 new objects, these took a fifth of the start's time, and some time of each request.
gc.set_threshold(20_000, 10, 20)
# One heap for all threads. glibc gives each thread its own, and after sixteen threads had read documents, 31
# MB stayed unused in them (measured). Python runs only one thread at a time anyway.
with suppress(AttributeError, OSError):  # not glibc
    ctypes.CDLL(None).mallopt(-8, 1)  # M_ARENA_MAX

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()
IS_CHECKOUT = (BASE_DIR / "pyproject.toml").is_file()
# The folder with templates and static files: a checkout's root, or config/site in a wheel (pyproject.toml).
SITE_FILES = BASE_DIR if IS_CHECKOUT else BASE_DIR / "config" / "site"
# The folder for the SQLite database, the secret key and the demo's feed files.
_DATA = data_folder(BASE_DIR, is_checkout=IS_CHECKOUT)
env.read_settings_file("TIDINGS_ENV_FILE", default=(BASE_DIR if IS_CHECKOUT else _DATA) / ".env")
VAR_DIR = Path(env.str("TIDINGS_VAR_DIR", default=str(_DATA)))
private_folder_create(VAR_DIR, "TIDINGS_VAR_DIR")

# --- Core -----------------------------------------------------------------------------------------
SECRET_KEY = env.str("SECRET_KEY", default="") or stored_secret_key(VAR_DIR / "secret_key")
SECRETS_KEY = env.str("SECRETS_KEY", default="")
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    # "Simple" because the registrations import half the product. config/urls.py loads them.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.idp.oidc",
    "ranking",
    "digest",
    "suggestions",
    "advisor",
    "config",
]

MIDDLEWARE = [
    "config.middleware.requests_count",
    "config.middleware.TextCompression",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.middleware.malformed_requests_refuse",
    "config.middleware.RefusalsRepeated",
    "digest.middleware.ReadersArrivals",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.uploads_bound",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "config.api.middleware.api_responses",
    "digest.middleware.reader_locale",
    "digest.middleware.browser_storage",
    "digest.middleware.SignInAndReturn",
    "digest.middleware.FormAddressReturn",
    "digest.middleware.WelcomeFirst",
    "digest.middleware.TooManyChangesPage",
    "digest.middleware.ReadersTurns",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [SITE_FILES / "templates"],
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

# --- Database -------------------------------------------------------------------------------------
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.database("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'tidings.sqlite3'}")
}
DATABASE_POOL = env.int("DATABASE_POOL", default=0)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # With WAL alone, concurrent writers still fail. IMMEDIATE takes the write lock at BEGIN, so a transaction
    # waits its turn and does not fail half-way (measured: 51 lock errors without, 0 with).
    DATABASES["default"]["ENGINE"] = "config.shared_sqlite3"
    DATABASES["default"]["OPTIONS"] = {
        "factory": PrivateConnection,
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"] = postgresql_settings(DATABASES["default"], pool=DATABASE_POOL)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Broker: it only wakes workers; empty: an embedded worker polls the database, or work runs inline ----
REDIS_URL = env.str("REDIS_URL", default="")
_REDIS_CACHE = {"BACKEND": "config.cache.FaultTolerantRedisCache", "LOCATION": REDIS_URL}
_LOCAL_CACHE = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
CACHES = {
    # Without Redis, enough for the counters of rate limits and a flood of invented names.
    "default": _REDIS_CACHE if REDIS_URL else _LOCAL_CACHE | {"OPTIONS": {"MAX_ENTRIES": 100_000}},
    # The used tokens must be remembered even if strangers flood the other cache.
    "claims": _REDIS_CACHE | {"KEY_PREFIX": "claims"}
    if REDIS_URL
    else _LOCAL_CACHE | {"LOCATION": "claims", "OPTIONS": {"MAX_ENTRIES": 100_000}},
}

# --- Accounts -------------------------------------------------------------------------------------
AUTH_USER_MODEL = "digest.Reader"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "digest:today"
ACCOUNT_ADAPTER = "digest.accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_EMAIL_VERIFICATION = env.str("ACCOUNT_EMAIL_VERIFICATION", default="none")
if ACCOUNT_EMAIL_VERIFICATION not in ("none", "optional", "mandatory"):
    raise ImproperlyConfigured("ACCOUNT_EMAIL_VERIFICATION must be none, optional or mandatory.")
# Who may sign up, here or through a provider: everybody, people with an invitation, or nobody.
SIGNUP = env.str("SIGNUP", default="open")
if SIGNUP not in ("open", "invite", "closed"):
    raise ImproperlyConfigured("SIGNUP must be open, invite or closed.")
_EMAIL = "email*" if ACCOUNT_EMAIL_VERIFICATION == "mandatory" else "email"
ACCOUNT_SIGNUP_FIELDS = ["username*", _EMAIL, "password1*", "password2*"]
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "digest.accounts.resets.ResetTokens"
ACCOUNT_SIGNUP_FORM_CLASS = "digest.web.pages.forms.SignupTimeZoneForm"
ACCOUNT_FORMS = {
    "login": "digest.accounts.forms.SignInForm",
    "signup": "digest.accounts.forms.NewAccountForm",
    "add_email": "digest.accounts.forms.AddressForm",
    "reset_password": "digest.accounts.forms.ForgottenPasswordForm",
    "change_password": "digest.accounts.forms.NewPasswordForm",
    "reset_password_from_key": "digest.accounts.forms.PasswordByLinkForm",
    "reauthenticate": "digest.accounts.forms.PasswordAgainForm",
}
ACCOUNT_CHANGE_EMAIL = True
# Sign-up does not reveal whether an address has an account. An address may have two, each confirmed
# separately.
ACCOUNT_PREVENT_ENUMERATION = "strict"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
# Failed sign-ins count against the typed name first. So one reader with a wrong password does not lock out
# others behind the same network address, which has its own, far higher limit.
ACCOUNT_RATE_LIMITS = {
    "login": "300/m/ip",
    "login_failed": "5/5m/key",
    "login_failed_account": "10/5m/key",
    "login_failed_address": "60/m/ip",
    "signup": "20/m/ip,100/h/ip",
    "reset_password": "60/h/ip,5/h/key",
    # Each stores a session, which remembers what was asked.
    "provider": "60/m/ip,600/h/ip",
    "passkey_challenge": "60/m/ip,600/h/ip",
}
# The number of our own proxies that add to X-Forwarded-For. Limits count the client address that these saw.
ALLAUTH_TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)
MFA_ADAPTER = "digest.accounts.adapters.SecondFactorAdapter"
_MFA_FORMS = {"authenticate": "SecondFactor", "reauthenticate": "SecondFactorAgain", "activate_totp": "App"}
MFA_FORMS = {name: f"digest.accounts.forms.{form}Form" for name, form in _MFA_FORMS.items()}
MFA_TOTP_ISSUER = "Tidings"
# The reader's clock may be half a minute off.
MFA_TOTP_TOLERANCE = 1
# A second factor also helps accounts whose address cannot be confirmed, because there is no mail server.
MFA_ALLOW_UNVERIFIED_EMAIL = True
# Sign-in by passkeys, beside passwords, and as a second factor.
PASSKEYS = MFA_PASSKEY_LOGIN_ENABLED = env.bool("PASSKEYS", default=False)
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", *(["webauthn"] if PASSKEYS else [])]
_PASSKEY_FORMS = {"login": "PasskeySignIn", "authenticate": "PasskeyCode", "reauthenticate": "PasskeyAgain"}
MFA_FORMS |= {
    f"{name}_webauthn": f"digest.accounts.passkeys.{form}Form"
    for name, form in (_PASSKEY_FORMS | {"add": "NewPasskey", "edit": "PasskeyName"}).items()
}
# Sign-in by OpenID Connect, beside passwords. It has its own tables: run `make migrate` after setting it.
OIDC_ISSUER = env.str("OIDC_ISSUER", default="").rstrip("/")
OIDC_NAME = env.str("OIDC_NAME", default="single sign-on")
OIDC_CLIENT_ID, OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_ID", ""), env.str("OIDC_CLIENT_SECRET", "")
if OIDC_ISSUER:
    at = INSTALLED_APPS.index("allauth.mfa")
    INSTALLED_APPS[at:at] = ["allauth.socialaccount", "allauth.socialaccount.providers.openid_connect"]
    SOCIALACCOUNT_ADAPTER = "digest.accounts.oidc.SingleSignOnAdapter"
    _OIDC = {"provider_id": "oidc", "name": OIDC_NAME, "settings": {"server_url": OIDC_ISSUER}}
    _OIDC |= {"client_id": OIDC_CLIENT_ID, "secret": OIDC_CLIENT_SECRET}
    SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [_OIDC]}}
    # Connect to the account with the same address, if both the provider and we have confirmed it.
    SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
    # A new reader chooses a name and a time zone.
    SOCIALACCOUNT_AUTO_SIGNUP = False
    SOCIALACCOUNT_FORMS = {"signup": "digest.accounts.oidc_forms.NewAccountByProviderForm"}
# Readers' assistants over MCP at /mcp. Clients register themselves, have no secret, and use PKCE.
MCP_HTTP = env.bool("MCP_HTTP", default=False)
IDP_OIDC_ADAPTER = "digest.accounts.oauth.AssistantAdapter"
IDP_OIDC_AUTH_METHODS = ["none"]
IDP_OIDC_DCR_REQUIRES_INITIAL_ACCESS_TOKEN = False
IDP_OIDC_RATE_LIMITS = {"client_registration": "10/m/ip,60/d/ip"}
# In seconds: access for an hour, renewal until a month without use.
IDP_OIDC_ACCESS_TOKEN_EXPIRES_IN, IDP_OIDC_REFRESH_TOKEN_EXPIRES_IN = 3600, 30 * 86_400
vars().update(env.mail("EMAIL_URL", default="consolemail://"))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("EMAIL_FROM", default="tidings@localhost")
# A mail server that hangs must not block a request.
EMAIL_TIMEOUT = 10
ALERT_EMAILS = env.list("ALERT_EMAILS", default=[])

# --- Web ------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
# The languages that readers may choose. Catalogues are in LOCALE_PATHS; a test reports missing translations.
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [Path(__file__).resolve().parent / "locale"]
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "config.formats"
USE_TZ = True
STATICFILES_DIRS = [SITE_FILES / "static"]
# A developer changes files while the server runs, so DEBUG has one address for all versions.
STATIC_URL = "static/"
if not DEBUG:
    STATIC_URL += static_version(STATICFILES_DIRS[0], map(version, ("django", "django-allauth"))) + "/"
    WHITENOISE_IMMUTABLE_FILE_TEST = f"^/{STATIC_URL}"
STATIC_ROOT = VAR_DIR / "staticfiles"
private_folder_create(STATIC_ROOT, "TIDINGS_VAR_DIR")
WHITENOISE_USE_FINDERS = True
WHITENOISE_MIMETYPES = {".webmanifest": "application/manifest+json"}
# The settings page sends three fields for each source, and a reader may import thousands of sources by OPML.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 15_000
_SAME_SITE = ("script-src", "style-src", "img-src", "font-src", "connect-src", "form-action", "manifest-src")
_NOTHING = ("default-src", "base-uri", "frame-ancestors")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {kind: [SELF] for kind in _SAME_SITE} | {kind: [NONE] for kind in _NOTHING},
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_ENGINE = "digest.sessions"
# Who comes back after two weeks of holidays is still signed in.
SESSION_DAYS = env.int("SESSION_DAYS", default=90)
SESSION_COOKIE_AGE = 86_400 * SESSION_DAYS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = TLS = env.str("SITE_URL", default="").startswith("https://")
SECURE_SSL_REDIRECT = env.bool("HTTPS_REDIRECT", default=TLS)
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # internal, without readers' data
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000 if TLS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("HSTS_SUBDOMAINS", default=False)
if ALLAUTH_TRUSTED_PROXY_COUNT > 0:
    # Our own proxy says whether a request came over TLS.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# security.W021 asks for HSTS preload. That is a promise for a whole domain, which only its owner can make.
# The others name Django's settings: `tidings.W027` (config/apps.py) reports the same by our names.
SILENCED_SYSTEM_CHECKS = [f"security.W{number:03}" for number in (4, 5, 8, 12, 16, 21)]
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.middleware.ErrorReportFilter"

# The bearer token for /metrics. Empty: only requests from this machine, if no proxy can be in between.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# --- Feeds ----------------------------------------------------------------------------------------
FETCH_ALLOW_HOSTS = env.list("FETCH_ALLOW_HOSTS", default=[])
FETCH_PORTS = env.list("FETCH_PORTS", cast=int, default=[80, 443])
FETCH_HOST_GAP_S = env.float("FETCH_HOST_GAP_S", default=2.0)
FETCH_WORKERS = env.int("FETCH_WORKERS", default=16)
SUBSCRIPTIONS_MAX = env.int("SUBSCRIPTIONS_MAX", default=1000)
FETCH_WATCHDOG_MINUTES = env.int("FETCH_WATCHDOG_MINUTES", default=120)
NEWSLETTERS_URL = env.str("NEWSLETTERS_URL", default="")
NEWSLETTERS_ADDRESS = env.str("NEWSLETTERS_ADDRESS", default="")
FULL_TEXT = env.bool("FULL_TEXT", default=False)
PICTURE_CACHE_MB = env.int("PICTURE_CACHE_MB", default=256)

# --- Delivery -------------------------------------------------------------------------------------
PORT = env.int("PORT", default=8000)
SITE_URL = env.str("SITE_URL", default=f"http://127.0.0.1:{PORT}")
NOTIFY_ALLOW_HOSTS = env.list("NOTIFY_ALLOW_HOSTS", default=[])
NIGHTLY_HOUR = env.int("NIGHTLY_HOUR", default=3)
ACCOUNT_DEFAULT_HTTP_PROTOCOL = SITE_URL.partition("://")[0]

# --- Retention: days by kind, 0 for ever (config/retention.py has the kinds and their defaults) ---------
KEEP_DAYS = retention_days(env.dict("KEEP_DAYS", default={}))

# --- Language models ------------------------------------------------------------------------------
OPENAI_API_KEY = env.str("OPENAI_API_KEY", default="")
OPENAI_BASE_URL = env.str("OPENAI_BASE_URL", default="")
ANTHROPIC_API_KEY = env.str("ANTHROPIC_API_KEY", default="")
GEMINI_API_KEY = env.str("GEMINI_API_KEY", default="")
OPENROUTER_API_KEY = env.str("OPENROUTER_API_KEY", default="")
LOCAL_LLM_BASE_URL = env.str("LOCAL_LLM_BASE_URL", default="")
LOCAL_LLM_MODEL = env.str("LOCAL_LLM_MODEL", default="default")
LOCAL_LLM_KEY = env.str("LOCAL_LLM_KEY", default="")
LOCAL_LLM_WIRE = env.str("LOCAL_LLM_WIRE", default="chat")
LOCAL_LLM_CONTEXT = env.int("LOCAL_LLM_CONTEXT", default=16384)
LOCAL_LLM_TOOL_MODE = env.str("LOCAL_LLM_TOOL_MODE", default="native")
LOCAL_LLM_REASONING_EFFORT = env.str("LOCAL_LLM_REASONING_EFFORT", default="none")
LOCAL_LLM_TIMEOUT_S = env.float("LOCAL_LLM_TIMEOUT_S", default=150.0)
OPENAI_WIRE = env.str("OPENAI_WIRE", default="chat")
LLM_REASONING_EFFORT = env.str("LLM_REASONING_EFFORT", default="low")
LLM_CHAIN_DEFAULT = [
    "openai:gpt-6-luna",
    "anthropic:claude-haiku-5-5",
    "gemini:gemini-3.5-flash-lite",
    "openrouter:mistralai/mistral-small-2603",
    "local",
]
LLM_CHAIN = env.list("LLM_CHAIN", default=LLM_CHAIN_DEFAULT)
LLM_CHAIN_ADVISOR = env.list("LLM_CHAIN_ADVISOR", default=[])
LLM_CHAIN_REVIEW = env.list("LLM_CHAIN_REVIEW", default=[])
LLM_CHAIN_SUMMARY = env.list("LLM_CHAIN_SUMMARY", default=[])
LLM_SUMMARIES_PER_NIGHT = env.int("LLM_SUMMARIES_PER_NIGHT", default=500)
LLM_PRICES = env.dict("LLM_PRICES", default={})
LLM_DAILY_CAP_USD = env.float("LLM_DAILY_CAP_USD", default=5.00)
ADVISOR_DAILY_CAP_USD = env.float("ADVISOR_DAILY_CAP_USD", default=1.00)
ADVISOR_RUN_CAP_USD = env.float("ADVISOR_RUN_CAP_USD", default=0.50)
ADVISOR_READER_DAILY_CAP_USD = env.float("ADVISOR_READER_DAILY_CAP_USD", default=0.50)

# --- Advisor --------------------------------------------------------------------------------------
ADVISOR_ENABLED = env.bool("ADVISOR_ENABLED", default=True)
ADVISOR_MAX_TURNS = env.int("ADVISOR_MAX_TURNS", default=50)
ADVISOR_MAX_TOOL_CALLS = env.int("ADVISOR_MAX_TOOL_CALLS", default=30)
ADVISOR_HISTORY_TURNS = env.int("ADVISOR_HISTORY_TURNS", default=15)
ADVISOR_TIMEOUT_S = env.float("ADVISOR_TIMEOUT_S", default=30)
ADVISOR_SCHEDULED_TIMEOUT_S = env.float("ADVISOR_SCHEDULED_TIMEOUT_S", default=180)
ADVISOR_MIN_ITEMS = env.int("ADVISOR_MIN_ITEMS", default=10)
ADVISOR_MIN_DAYS = env.int("ADVISOR_MIN_DAYS", default=7)
ADVISOR_MIN_TAGGED = env.int("ADVISOR_MIN_TAGGED", default=10)
ADVISOR_MIN_CONFIDENCE = env.str("ADVISOR_MIN_CONFIDENCE", default="low")
ADVISOR_KINDS = env.list("ADVISOR_KINDS", default=[])
ADVISOR_PANEL = env.bool("ADVISOR_PANEL", default=True)
ADVISOR_PANEL_THRIFTY = env.bool("ADVISOR_PANEL_THRIFTY", default=False)
ADVISOR_REFLECTOR = env.bool("ADVISOR_REFLECTOR", default=True)
ADVISOR_GUIDANCE = env.bool("ADVISOR_GUIDANCE", default=True)
# Name=value pairs over the defaults of advisor.guidance.tunables; a system check refuses invalid ones.
GUIDANCE = env.dict("GUIDANCE", default={})
# All names, because a dictionary loses a name that is given twice, which the system check reports.
GUIDANCE_NAMES = [pair.partition("=")[0] for pair in env.list("GUIDANCE", default=[])]
COOLDOWN_DAYS = env.int("COOLDOWN_DAYS", default=10)
PEERS_ENABLED = env.bool("PEERS_ENABLED", default=True)
vars().update(celery_settings(REDIS_URL, VAR_DIR, run_timeout_s=ADVISOR_SCHEDULED_TIMEOUT_S))

# --- Logs: last, because they hide the secrets above ------------------------------------------------------
LOG_LEVEL = env.level("LOG_LEVEL", default="INFO")
SECRETS = (SECRET_KEY, *env.secrets())
LOGGING = logging_config(LOG_LEVEL, SECRETS, url_host(SITE_URL))
structlog_configure()

# --- Tests ----------------------------------------------------------------------------------------
TIDINGS_DATA = env.str("TIDINGS_DATA", default="")

# --- Checks -----------------------------------------------------------------------------------------------
# Names in the settings file that nothing reads, and the setting that each resembles. All were read by now.
NAMES_UNREAD = env.names_unread()
