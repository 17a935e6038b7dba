"""The first visit: what would you like to read?"""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from digest.forms import WelcomeForm
from digest.readers import reader_of
from digest.services.opml import REASON_GONE
from digest.services.welcome import welcome_answer
from digest.starters import starters


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest) -> HttpResponse:
    """Offer sources by interest; a POST subscribes to those chosen, or puts the question aside."""
    form = WelcomeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        wanted = [] if "skip" in request.POST else form.chosen()
        if wanted or "skip" in request.POST:
            answered = welcome_answer(reader=reader_of(request), feeds=wanted, now=timezone.now())
            if added := answered.added:
                words = "source is" if added == 1 else "sources are"
                messages.success(
                    request, f"Your first {added} {words} being fetched. It takes a few minutes."
                )
            for title in answered.gone:
                messages.warning(request, f"{title}: {REASON_GONE} You are not subscribed to it.")
            return redirect("digest:today")
        form.add_error(None, "Choose at least one interest or source, or skip this.")
    page = {"form": form, "interests": starters(), "picked": form.picked()}
    return render(request, "digest/welcome.html", page, status=422 if form.errors else 200)
