"""What tests of the digest room share."""

from tests.mailbox import mailbox

__all__ = ["mailbox"]
