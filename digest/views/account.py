"""The reader's own settings."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from digest.forms import AccountForm
from digest.readers import reader_of
from digest.services.readers import reader_update


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """The reader's time zone and the switches for models and for sums over readers."""
    reader = reader_of(request)
    now_set = {name: getattr(reader, name) for name in AccountForm.base_fields}
    form = AccountForm(request.POST or None, initial=now_set)
    if request.method == "POST" and form.is_valid():
        reader_update(reader=reader, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("digest:account")
    return render(request, "digest/account.html", {"form": form}, status=422 if form.errors else 200)
