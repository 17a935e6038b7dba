"""Errors of the digest room. Each has a stable code, an HTTP status, and a message with the problem and its
remedy.

Pure.
"""


class DigestError(Exception):
    """A refused request. `code` and `status` are stable. `message` names the problem and its remedy."""

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
    """An item that does not exist or that this reader may not see. Both give the same error on purpose."""

    code = "item_not_found"
    status = 404


class ArticleUnknown(DigestError):
    """An address at which none of the reader's sources brought an article."""

    code = "article_unknown"
    status = 404


class PictureMissing(DigestError):
    """A picture that cannot be shown."""

    code = "picture_missing"
    status = 404


class FullTextMissing(DigestError):
    """An article whose page gives no full text."""

    code = "full_text_missing"
    status = 404


class PicturesBusy(DigestError):
    """Too many pictures are being fetched at the same time."""

    code = "pictures_busy"
    status = 503


class CursorInvalid(DigestError):
    """A cursor that no list page returned, or whose order is no longer valid."""

    code = "cursor_invalid"
    status = 422


class FeedbackMissing(DigestError):
    """Reasons for an item without a rating."""

    code = "feedback_missing"
    status = 409


class InvalidRating(DigestError):
    """A form value that is neither a rating, its undo, nor a reason."""

    code = "invalid_rating"
    status = 400


class UnknownReasonTag(DigestError):
    """A reason outside the taxonomy."""

    code = "unknown_reason_tag"
    status = 422


class InvalidFeedUrl(DigestError):
    """A text that cannot be a feed's URL."""

    code = "invalid_feed_url"
    status = 422


class AccessInvalid(DigestError):
    """A password, header, cookie or user agent that cannot be sent with a feed's request."""

    code = "access_invalid"
    status = 422


class FutureDate(DigestError):
    """A digest for a day that has not begun in the reader's zone."""

    code = "future_date"
    status = 422


class LinkInvalid(DigestError):
    """A mail link with a wrong signature, or whose reader or item is deleted."""

    code = "link_invalid"
    status = 404


class LinkExpired(DigestError):
    """An expired mail link."""

    code = "link_expired"
    status = 410


class InvalidToken(DigestError):
    """A personal token that is unknown or revoked, or belongs to an inactive account."""

    code = "invalid_token"
    status = 401


class TokenExpired(DigestError):
    """An expired personal token."""

    code = "token_expired"
    status = 401


class ScopeMissing(DigestError):
    """A personal token without the scope for the request."""

    code = "scope_missing"
    status = 403


class TooManySearches(DigestError):
    """More saved searches than a reader may have."""

    code = "too_many_searches"
    status = 409


class SearchMissing(DigestError):
    """A saved search that the reader does not have."""

    code = "search_not_found"
    status = 404


class SearchEmpty(DigestError):
    """A search without a word to search for, or without one that can be a topic."""

    code = "search_empty"
    status = 422


class TooManyTokens(DigestError):
    """More personal tokens than a reader may have."""

    code = "too_many_tokens"
    status = 409


class TooManyRequests(DigestError):
    """More requests than a limit allows. `retry_after_s` is the number of seconds to wait."""

    code = "too_many_requests"
    status = 429

    def __init__(self, message: str, *, retry_after_s: int = 60) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class LastOperator(DigestError):
    """The last operator, whose account cannot be deleted."""

    code = "last_operator"
    status = 409


class NotOpml(DigestError):
    """A file that is not a subscription list."""

    code = "not_opml"
    status = 422


class NotAPast(DigestError):
    """A file that is no export of stars or read marks, or too large a one."""

    code = "not_a_past"
    status = 422


class OpmlTooLarge(DigestError):
    """A subscription list above the size limit."""

    code = "opml_too_large"
    status = 413


class FeedNotFound(DigestError):
    """A feed that does not exist or that this reader never had. Both give the same error on purpose."""

    code = "feed_not_found"
    status = 404


class SiteUnreachable(DigestError):
    """A site that did not answer.

    `may_answer`: it may answer later, so its URL may still be added as a feed. `is_locked`: it answered 401
    or 403, so a password may help.
    """

    code = "site_unreachable"
    status = 422

    def __init__(self, message: str, *, may_answer: bool = True, is_locked: bool = False) -> None:
        super().__init__(message)
        self.may_answer, self.is_locked = may_answer, is_locked


class AccessRefused(DigestError):
    """A server that refuses the password, header or cookie."""

    code = "access_refused"
    status = 422


class LookupsBusy(DigestError):
    """Too many sites are being looked up at the same time."""

    code = "lookups_busy"
    status = 503


class NoFeedFound(DigestError):
    """A site that answers but offers no feed."""

    code = "no_feed_found"
    status = 422


class FeedIsGone(DigestError):
    """A feed that its publisher removed for good."""

    code = "feed_is_gone"
    status = 409


class TooManySubscriptions(DigestError):
    """More subscriptions than a reader may have."""

    code = "too_many_subscriptions"
    status = 409


class OperatorsOnly(DigestError):
    """A page or endpoint for operators, requested by another reader."""

    code = "operators_only"
    status = 403


class UnknownSource(DigestError):
    """A source that does not exist, or that would be moved into itself."""

    code = "unknown_source"
    status = 404


class InvalidSourceKey(DigestError):
    """An invalid key for a source."""

    code = "invalid_source_key"
    status = 422


class DestinationInvalid(DigestError):
    """An address or a secret that cannot be used to send anything."""

    code = "destination_invalid"
    status = 422


class DestinationMissing(DigestError):
    """A destination that the reader does not have."""

    code = "destination_missing"
    status = 404


class DeliveryFailed(DigestError):
    """A delivery that the destination did not accept. `reason` is a stable code for the cause."""

    code = "delivery_failed"
    status = 502

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class DigestMissing(DigestError):
    """A past day for which no digest was made."""

    code = "digest_missing"
    status = 404
