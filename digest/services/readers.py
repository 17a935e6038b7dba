"""What a reader decides about their account."""

from digest.models import Reader


def reader_update(*, reader: Reader, time_zone: str, ai_enabled: bool, peers_enabled: bool) -> None:
    """Keep the reader's time zone (an IANA name), and whether models and other readers' sums may use their
    feedback; both switches hold from the next use on.

    Raises `ValidationError` for a zone that does not exist.
    """
    reader.time_zone, reader.ai_enabled, reader.peers_enabled = time_zone, ai_enabled, peers_enabled
    reader.clean_fields(exclude=["username", "password", "email"])
    reader.save(update_fields=["time_zone", "ai_enabled", "peers_enabled"])
