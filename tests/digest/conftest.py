"""Fixtures that the digest room's tests share."""

from tests.support.mailbox import mailbox

__all__ = ["mailbox"]
