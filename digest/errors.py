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


class LinkInvalid(DigestError):
    """A link of a mail that is not ours, was changed, or whose reader or item is gone."""

    code = "link_invalid"
    status = 404


class LinkExpired(DigestError):
    """A link of a mail whose time is over."""

    code = "link_expired"
    status = 410


class InvalidToken(DigestError):
    """A personal token that is not known here, was revoked, or belongs to an account that is switched off."""

    code = "invalid_token"
    status = 401


class TokenExpired(DigestError):
    """A personal token whose time is over."""

    code = "token_expired"
    status = 401


class ScopeMissing(DigestError):
    """A personal token that may not do what was asked for."""

    code = "scope_missing"
    status = 403


class TooManyTokens(DigestError):
    """One personal token more than a reader may have."""

    code = "too_many_tokens"
    status = 409


class TooManyRequests(DigestError):
    """More requests than a limit allows. `retry_after_s`: seconds after which it is worth asking again."""

    code = "too_many_requests"
    status = 429

    def __init__(self, message: str, *, retry_after_s: int = 60) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LastOperator(DigestError):
    """The only operator left, who cannot go before there is another."""

    code = "last_operator"
    status = 409


class NotOpml(DigestError):
    """A file that is no subscription list."""

    code = "not_opml"
    status = 422


class OpmlTooLarge(DigestError):
    """A subscription list beyond what is read at once."""

    code = "opml_too_large"
    status = 413


class FeedNotFound(DigestError):
    """A feed that does not exist, or that this reader never had: the two look the same."""

    code = "feed_not_found"
    status = 404


class SiteUnreachable(DigestError):
    """A site that could not be asked for its feeds. `may_answer`: asking later may help, so that its address
    may be added as it is."""

    code = "site_unreachable"
    status = 422

    def __init__(self, message: str, *, may_answer: bool = True) -> None:
        super().__init__(message)
        self.may_answer = may_answer


class NoFeedFound(DigestError):
    """A site that answers and offers no feed."""

    code = "no_feed_found"
    status = 422


class FeedIsGone(DigestError):
    """A feed whose publisher took it down for good."""

    code = "feed_is_gone"
    status = 409


class OperatorsOnly(DigestError):
    """A door for operators, asked by somebody else."""

    code = "operators_only"
    status = 403


class UnknownSource(DigestError):
    """A source that does not exist, or is about to be moved into itself."""

    code = "unknown_source"
    status = 404


class InvalidSourceKey(DigestError):
    """A key no source can have."""

    code = "invalid_source_key"
    status = 422


class DigestMissing(DigestError):
    """A past day for which no digest was made."""

    code = "digest_missing"
    status = 404
