"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
# Pages and API are loaded with the process, and not while its first reader waits (0.7 s of processor).
_ = get_resolver().url_patterns
