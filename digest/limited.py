"""Pages that answer 429 to whoever asks for them too often."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from digest.errors import TooManyRequests
from digest.limits import MINUTE, Limit, limit_count
from digest.readers import reader_of

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=HttpResponseBase)


def limited(
    limit: Limit, when: Callable[[HttpRequest], bool] = lambda request: request.method == "POST"
) -> Callable[
    [Callable[Concatenate[HttpRequest, P], Answer]],
    Callable[Concatenate[HttpRequest, P], Answer | HttpResponse],
]:
    """Make the view of a signed-in reader answer 429 beyond `limit`; only what `when` is true for counts."""

    def decorate(
        view: Callable[Concatenate[HttpRequest, P], Answer],
    ) -> Callable[Concatenate[HttpRequest, P], Answer | HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> Answer | HttpResponse:
            try:
                if when(request):
                    limit_count(limit=limit, who=reader_of(request).pk, now=timezone.now())
            except TooManyRequests as refused:
                return too_often(request, refused)
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def too_often(request: HttpRequest, refused: TooManyRequests | None = None) -> HttpResponse:
    """The page of 429 in our looks, with `Retry-After`; without words of its own it speaks of accounts."""
    answer = render(request, "429.html", {"words": refused.message if refused else ""}, status=429)
    answer["Retry-After"] = str(refused.retry_after_s if refused else MINUTE)
    return answer
