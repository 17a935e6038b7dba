"""A site, a reader at a browser, and a program that connects."""

from tests.support.assistants import assistant, person, site

__all__ = ["assistant", "person", "site"]
