"""What tests of the digest room share."""

from tests.support.mailbox import mailbox

__all__ = ["mailbox"]
