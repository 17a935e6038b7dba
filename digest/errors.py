"""What the digest room refuses, with a stable code, words to mend it by and the HTTP status that fits."""


class DigestError(Exception):
    """A refused request. `code` and `status` are stable; `message` says what was wrong and what to do."""

    code = "digest_error"
    status = 400

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class SignInNeeded(DigestError):
    """A request without a session."""

    code = "not_logged_in"
    status = 401


class ItemNotFound(DigestError):
    """An item that does not exist, or that this reader never had before them: the two look the same."""

    code = "item_not_found"
    status = 404


class FeedbackMissing(DigestError):
    """Reasons given for an item without a thumb."""

    code = "feedback_missing"
    status = 409


class UnknownReasonTag(DigestError):
    """A reason outside the taxonomy."""

    code = "unknown_reason_tag"
    status = 422


class InvalidFeedUrl(DigestError):
    """Something that cannot be the address of a feed."""

    code = "invalid_feed_url"
    status = 422


class FutureDate(DigestError):
    """A digest of a day that has not begun for its reader."""

    code = "future_date"
    status = 422
