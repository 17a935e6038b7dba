"""Who is at a door of ranking, which knows readers by their id alone."""

from uuid import UUID

from django.http import HttpRequest


def reader_id_of(request: HttpRequest) -> UUID:
    """Whose settings these are; every door here asks for a sign-in first."""
    assert request.user.pk is not None, "login_required comes first"
    return request.user.pk
