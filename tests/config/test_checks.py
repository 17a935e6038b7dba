"""`check` refuses settings that can be read but cannot work, each with its own code."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings as real

from config.apps import (
    DJANGO_NAMES,
    LONELY_DEFAULTS,
    MINIMUM_VALUES,
    check_addresses,
    check_alerts,
    check_bounds,
    check_https,
    check_lonely_settings,
    check_mail_links,
    check_names,
    check_own_host,
)
from config.environment import Environment, typing_errors
from digest.apps import check_mail_wanted, check_models
from digest.models import Reader

EXAMPLE = (Path(__file__).parents[2] / ".env.example").read_text()
NAMED = re.compile(r"^#?([A-Z_0-9]+)=", re.MULTILINE)


@pytest.mark.parametrize("name", MINIMUM_VALUES)
def test_a_number_below_its_minimum_is_named(settings, name):
    known_as = DJANGO_NAMES.get(name, name)
    assert not check_bounds()
    setattr(settings, known_as, MINIMUM_VALUES[name])
    assert not check_bounds()
    for wrong in (MINIMUM_VALUES[name] - 1, float("nan")):
        setattr(settings, known_as, wrong)
        (error,) = check_bounds()
        assert error.id == "tidings.E015" and error.msg.startswith(f"{name}=")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("REDIS_URL", "http://ada:s3cret@broker", "tidings.E016"),
        ("REDIS_URL", "broker:6379", "tidings.E016"),
        ("REDIS_URL", "redis://broker:s3cret/0", "tidings.E016"),
        ("REDIS_URL", "rediss://broker:6379/0", None),
        ("REDIS_URL", "unix:///run/redis.sock", None),
        ("REDIS_URL", "", None),
        ("SITE_URL", "news.example.org", "tidings.E017"),
        ("SITE_URL", "ftp://news.example.org", "tidings.E017"),
        ("SITE_URL", "https://", "tidings.E017"),
        ("SITE_URL", "https://example.org/news", "tidings.E017"),
        ("SITE_URL", "https://example.org:port", "tidings.E017"),
        ("SITE_URL", "https://news.example.org/", None),
        ("SITE_URL", "http://[::1]:8000", None),
        ("ALERT_EMAILS", ["olga@example.org", "olga"], "tidings.E018"),
        ("ALERT_EMAILS", ["olga@example.org"], None),
        ("EMAIL_FROM", "tidings", "tidings.E018"),
        ("EMAIL_FROM", "Tidings <news@example.org>", None),
        ("ALLOWED_HOSTS", ["https://news.example.org"], "tidings.E019"),
        ("ALLOWED_HOSTS", ["news.example.org/"], "tidings.E019"),
        ("FETCH_ALLOW_HOSTS", ["http://x/"], "tidings.E019"),
        ("FETCH_ALLOW_HOSTS", ["http://ada:s3cret@x"], "tidings.E019"),
        ("FETCH_ALLOW_HOSTS", ["intranet", "127.0.0.1:8080"], None),
        ("NOTIFY_ALLOW_HOSTS", ["https://ntfy.example"], "tidings.E019"),
        ("ALLOWED_HOSTS", ["news.example.org", ".example.org", "[::1]", "*"], None),
    ],
)
def test_an_invalid_address_is_refused_by_its_code_without_its_password(settings, name, value, code):
    settings.REDIS_URL, settings.SITE_URL, settings.ALERT_EMAILS = "", "https://news.example.org", []
    setattr(settings, {"EMAIL_FROM": "DEFAULT_FROM_EMAIL"}.get(name, name), value)
    found = check_addresses()
    assert [error.id for error in found] == ([code] if code else [])
    assert all(name in error.msg and "s3cret" not in error.msg for error in found)


def test_the_defaults_pass(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert real.SITE_URL and not check_addresses() and not check_bounds()
    assert not check_own_host() and not check_alerts() and not check_lonely_settings()
    assert not check_mail_links()


@pytest.mark.parametrize(
    ("site", "hosts", "is_refused"),
    [
        ("https://news.example.org", ["127.0.0.1"], True),
        ("https://news.example.org", ["news.example.org", "127.0.0.1"], False),
        ("https://news.example.org:8443/", [".example.org"], False),
        ("http://10.0.0.5:8000", ["127.0.0.1", "localhost"], True),
        ("http://[::1]:8000", ["[::1]"], False),
        ("https://news.example.org", ["*"], False),
        ("no address", ["127.0.0.1"], False),  # E017 says so
    ],
)
def test_a_site_that_refuses_its_own_host_is_named_with_the_cure(client, settings, site, hosts, is_refused):
    settings.SITE_URL, settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = site, hosts, False
    found = check_own_host()
    assert [one.id for one in found] == ["tidings.E027"] * is_refused
    host = urlsplit(site).netloc
    if host:
        assert client.get("/healthz", headers={"Host": host}).status_code == (400 if is_refused else 200)
    settings.CSRF_TRUSTED_ORIGINS = [site]
    assert not check_own_host()


def test_alerts_by_mail_without_a_mail_server_are_warned_of(settings):
    settings.ALERT_EMAILS = ["olga@example.org"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert [one.id for one in check_alerts()] == ["tidings.W028"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert not check_alerts()


@pytest.mark.parametrize(
    ("site", "is_wrong"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("https://[::1]", True),
        ("http://10.0.0.5:8000", False),
        ("https://news.example.org", False),
        ("no address", False),  # E017 says so
    ],
)
def test_mails_that_would_link_to_their_reader_s_own_machine_are_warned_of(settings, site, is_wrong):
    settings.SITE_URL, settings.EMAIL_BACKEND = site, SMTP
    assert [one.id for one in check_mail_links()] == ["tidings.W031"] * is_wrong
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert not check_mail_links()


SMTP = "django.core.mail.backends.smtp.EmailBackend"
# For each setting: a value, and the other setting that it needs.
LONELY = {
    "EMAIL_FROM": ("Tidings <news@example.org>", {"EMAIL_BACKEND": SMTP}),
    "DATABASE_POOL": (4, {}),
    "HSTS_SUBDOMAINS": (True, {"SECURE_HSTS_SECONDS": 60}),
    "OIDC_NAME": ("Our login", {"OIDC_ISSUER": "https://login.example.org"}),
    "OPENAI_BASE_URL": ("https://ai.example.org/v1", {"OPENAI_API_KEY": "sk-1"}),
    "LOCAL_LLM_KEY": ("s3cret", {"LOCAL_LLM_BASE_URL": "http://127.0.0.1:1/v1"}),
    "LOCAL_LLM_MODEL": ("qwen3", {"LOCAL_LLM_BASE_URL": "http://127.0.0.1:1/v1"}),
    "LOCAL_LLM_CONTEXT": (32768, {"LOCAL_LLM_WIRE": "ollama"}),
    "LLM_REASONING_EFFORT": ("high", {"OPENAI_WIRE": "responses"}),
    "ADVISOR_PANEL_THRIFTY": (True, {"ADVISOR_PANEL": True}),
    "GUIDANCE": ({"holdout": "0.2"}, {"ADVISOR_GUIDANCE": True}),
}


@pytest.mark.parametrize("name", LONELY_DEFAULTS)
def test_a_setting_that_does_nothing_alone_is_warned_of_until_the_other_is_there(settings, monkeypatch, name):
    value, other = LONELY[name]
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    database = settings.DATABASES["default"]
    monkeypatch.setitem(database, "ENGINE", "config.shared_sqlite3")
    settings.ADVISOR_PANEL = settings.ADVISOR_GUIDANCE = False
    settings.GUIDANCE = {}
    assert not check_lonely_settings()
    setattr(settings, DJANGO_NAMES.get(name, name), value)
    (warning,) = check_lonely_settings()
    assert warning.id == "tidings.W029" and warning.msg.startswith(f"{name} does nothing")
    assert "s3cret" not in warning.msg
    for needed, given in other.items():
        setattr(settings, needed, given)
    if name == "DATABASE_POOL":
        monkeypatch.setitem(database, "ENGINE", "django.db.backends.postgresql")
    assert not check_lonely_settings()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"GEMINI_API_KEY": "k", "LLM_CHAIN": ["openai:gpt-6-luna"]}, "GEMINI_API_KEY LLM_CHAIN"),
        ({"LLM_CHAIN": ["openai:gpt-6-luna"]}, "LLM_CHAIN"),
        ({"LLM_CHAIN": ["openai:gpt-6-luna"], "OPENAI_API_KEY": "k"}, ""),
        ({"LOCAL_LLM_BASE_URL": "http://127.0.0.1:1/v1", "LLM_CHAIN": []}, "LOCAL_LLM_BASE_URL"),
        ({"LLM_CHAIN_REVIEW": ["anthropic:claude-haiku-5-5"]}, "LLM_CHAIN_REVIEW"),
        ({"LLM_CHAIN_REVIEW": ["anthropic:claude-haiku-5-5"], "ANTHROPIC_API_KEY": "k"}, ""),
        ({"GEMINI_API_KEY": "k"}, ""),
        ({}, ""),
    ],
)
def test_a_key_or_a_chain_that_no_run_uses_is_warned_of(settings, changed, named):
    for name, value in changed.items():
        setattr(settings, name, value)
    found = [one for one in check_models() if one.id == "tidings.W003"]
    assert [one.msg.split()[0] for one in found] == named.split()
    key = {"LLM_CHAIN": "OPENAI_API_KEY", "LLM_CHAIN_REVIEW": "ANTHROPIC_API_KEY"}
    chains = [one for one in found if one.msg.startswith("LLM_CHAIN")]
    assert all(f"Set {key[one.msg.split()[0]]}, or take the chain out" in one.hint for one in chains)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("SIGN_UP=invite", "SIGNUP"),
        ("NIGHTLY_HUOR=4", "NIGHTLY_HOUR"),
        ("export OPENAI_KEY=sk-1", "OPENAI_API_KEY"),
        ("signup=invite", "SIGNUP"),
        ("WEB_WORKER=2", "WEB_WORKERS"),
        ("SIGNUP=invite", ""),
        ("WEB_WORKERS=2", ""),
        ("#SIGN_UP=invite", ""),
        ("POSTGRES_PASSWORD=x", ""),
    ],
)
def test_a_mistyped_name_in_the_settings_file_is_warned_of(settings, monkeypatch, tmp_path, line, meant):
    monkeypatch.setattr(Environment, "ENVIRON", {})
    monkeypatch.setenv("TIDINGS_ENV_FILE", str(tmp_path / "env"))
    (tmp_path / "env").write_text(f"DEBUG=false\n{line}\n")
    environment = Environment()
    environment.read_settings_file("TIDINGS_ENV_FILE", default=tmp_path / "none")
    for name in ("DEBUG", *NAMED.findall(EXAMPLE)):
        environment.str(name, default="")
    settings.NAMES_UNREAD = environment.names_unread()
    found = [one.msg for one in check_names()]
    name = line.split("=")[0].split()[-1]
    assert found == ([f"{name} in the settings file does nothing: did you mean {meant}?"] if meant else [])


# What is set in a shell, by systemd, Docker, Kubernetes, a desktop, and services of continuous integration.
ORDINARY = """
PATH HOME USER LOGNAME SHELL TERM LANG LC_ALL LC_CTYPE PWD OLDPWD SHLVL MAIL EDITOR VISUAL PAGER TZ
DISPLAY HOSTNAME HOSTTYPE TMPDIR TEMP COLORTERM LS_COLORS SSH_AUTH_SOCK SSH_CONNECTION XDG_RUNTIME_DIR
XDG_SESSION_ID DBUS_SESSION_BUS_ADDRESS WAYLAND_DISPLAY VIRTUAL_ENV PYTHONPATH PYTHONUNBUFFERED
PYTHONDONTWRITEBYTECODE PIP_INDEX_URL PIP_NO_CACHE_DIR SSL_CERT_FILE REQUESTS_CA_BUNDLE HTTP_PROXY
HTTPS_PROXY NO_PROXY ALL_PROXY INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET MAINPID LISTEN_FDS LISTEN_PID
STATE_DIRECTORY CACHE_DIRECTORY RUNTIME_DIRECTORY LOGS_DIRECTORY CONFIGURATION_DIRECTORY
CREDENTIALS_DIRECTORY WATCHDOG_USEC SYSTEMD_EXEC_PID DOCKER_HOST DOCKER_CONFIG COMPOSE_PROJECT_NAME
COMPOSE_FILE container GPG_KEY PYTHON_VERSION PYTHON_SHA256 KUBERNETES_PORT KUBERNETES_SERVICE_HOST
KUBERNETES_SERVICE_PORT KUBERNETES_PORT_443_TCP TIDINGS_PORT TIDINGS_SERVICE_HOST TIDINGS_SERVICE_PORT
TIDINGS_PORT_8000_TCP TIDINGS_PORT_8000_TCP_ADDR REDIS_PORT REDIS_SERVICE_HOST REDIS_HOST REDIS_PASSWORD
POSTGRES_USER POSTGRES_PASSWORD POSTGRES_DB PGHOST PGUSER PGDATA PGPASSWORD DB_HOST DB_NAME DB_URL
EMAIL_HOST EMAIL_PORT EMAIL_USER SMTP_HOST BASE_URL APP_URL SITE_NAME NODE_ENV CI BUILD_ID JOB_NAME
BUILD_URL GITHUB_ACTIONS GITHUB_TOKEN GITHUB_SHA GITHUB_REPOSITORY RUNNER_OS GITLAB_CI CI_JOB_ID
CI_COMMIT_SHA CI_PROJECT_URL CI_REGISTRY JENKINS_URL TRAVIS CIRCLECI DYNO SENTRY_DSN AWS_REGION
AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY GOOGLE_APPLICATION_CREDENTIALS OPENAI_ORG_ID OPENAI_API_BASE
MISTRAL_API_KEY GROQ_API_KEY XAI_API_KEY HF_TOKEN OMP_NUM_THREADS MKL_NUM_THREADS MALLOC_ARENA_MAX
LD_PRELOAD DJANGO_SETTINGS_MODULE GUNICORN_CMD_ARGS WEB_CONCURRENCY CELERY_BROKER_URL FLOWER_PORT
S6_VERSION LESSOPEN
"""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SIGN_UP", "SIGNUP"),
        ("NIGHTLY_HUOR", "NIGHTLY_HOUR"),
        ("REDIS_URI", "REDIS_URL"),
        ("WEB_WORKER", "WEB_WORKERS"),
        ("ALOWED_HOST", "ALLOWED_HOSTS"),
        ("TIDINGS_SIGNUP", "SIGNUP"),
        ("TIDINGS_ENV_FLIE", "TIDINGS_ENV_FILE"),
        ("TIDINGS_PORT", ""),
        ("ANTHROPIC_TOKEN", ""),
        *((name, "") for name in ORDINARY.split()),
    ],
)
def test_a_mistyped_name_in_the_environment_is_warned_of(settings, monkeypatch, name, meant):
    monkeypatch.setattr(Environment, "ENVIRON", {name: "x", "PATH": "/bin"})
    environment = Environment()
    for known in NAMED.findall(EXAMPLE):
        environment.names.add(known)
    settings.NAMES_UNREAD = environment.names_unread()
    words = [f"{name} in the environment does nothing: did you mean {meant}?"] if meant else []
    assert [one.msg for one in check_names()] == words


def test_a_name_beside_the_setting_that_it_resembles_is_another_programs(monkeypatch):
    monkeypatch.setattr(Environment, "ENVIRON", {"REDIS_URI": "redis://x", "REDIS_URL": "redis://y"})
    environment = Environment()
    environment.names.update(("REDIS_URL", "EMAIL_URL"))
    assert environment.names_unread() == []


def test_this_process_has_no_mistyped_name(settings):
    assert not [one for one in settings.NAMES_UNREAD if one.place == "the environment"]


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ("AB", "AB", 0),
        ("ABC", "AC", 1),
        ("ABC", "ACB", 1),
        ("ABCD", "BADC", 2),
        ("ABCD", "XYZ", 3),
        ("A", "ABCD", 3),
    ],
)
def test_how_many_letters_are_wrong(one, other, errors):
    assert typing_errors(one, other) == typing_errors(other, one) == errors


def test_every_setting_of_the_example_file_is_known():
    from config.settings import env  # noqa: PLC0415 - the settings that are in use

    assert set(NAMED.findall(EXAMPLE)) <= env.names


def test_readers_who_want_mail_where_none_goes_out_are_warned_of(settings, ada):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert not check_mail_wanted()
    Reader.objects.filter(pk=ada.pk).update(mail_rhythm="daily")
    (warning,) = check_mail_wanted()
    assert warning.id == "tidings.W030" and warning.msg.startswith("1 reader wants the digest by mail")
    settings.EMAIL_BACKEND = SMTP
    assert not check_mail_wanted()


@pytest.mark.parametrize(
    ("tls", "changed", "named"),
    [
        (False, {}, ["SITE_URL"]),
        (True, {"SECURE_SSL_REDIRECT": False}, ["HTTPS_REDIRECT"]),
        (True, {"SECURE_HSTS_SECONDS": 0}, ["HSTS_SECONDS"]),
        (True, {"SECURE_HSTS_INCLUDE_SUBDOMAINS": False}, ["HSTS_SUBDOMAINS"]),
        (True, {}, []),
    ],
)
def test_what_is_not_over_tls_is_said_in_the_names_of_our_settings(settings, tls, changed, named):
    settings.TLS = settings.SECURE_SSL_REDIRECT = settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = tls
    settings.SECURE_HSTS_SECONDS = 60 * tls
    for name, value in changed.items():
        setattr(settings, name, value)
    found = check_https()
    assert [one.msg.split()[0].partition("=")[0] for one in found] == named
    assert {one.id for one in found} <= {"tidings.W027"} and not any("SECURE_" in one.msg for one in found)
