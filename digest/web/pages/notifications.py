"""The page of notifications: topics, times and destinations; and sending an item on to a service."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from digest.errors import DeliveryFailed, DestinationInvalid, DestinationMissing, ItemNotFound
from digest.items.selectors import item_get
from digest.models import Destination, NotificationSettings
from digest.notifications.destinations import (
    ADDRESS_CHARS_MAX,
    PER_DAY_MAX,
    SAVING,
    SECRET_CHARS_MAX,
    WORD_CHARS_MAX,
    WORDS_MAX,
    destination_add,
    destination_remove,
    destination_test,
    destinations_of,
    item_send_on,
    notification_settings_of,
    notification_settings_update,
    notifications_recent,
    saving_destination,
)
from digest.notifications.news import NOTIFIED
from digest.notifications.send import failure_words, vapid
from digest.requests import reader_of, return_path
from digest.throttling import SEND_ON, rate_limited

Event, Kind = NotificationSettings.Event, Destination.Kind
HOURS = [(hour, f"{hour}:00") for hour in range(24)]


class NotificationsForm(forms.Form):
    """The reader's choice of notifications, their rhythm, and quiet hours."""

    digest = forms.BooleanField(label=gettext_lazy("My digest is ready"), required=False)
    suggestion = forms.BooleanField(label=gettext_lazy("A suggestion waits for me"), required=False)
    effect = forms.BooleanField(
        label=gettext_lazy("The effect of a change I accepted is known"), required=False
    )
    word = forms.BooleanField(
        label=gettext_lazy("A word I watch for is in a new item of my feeds"), required=False
    )
    words = forms.CharField(
        required=False,
        max_length=WORDS_MAX * (WORD_CHARS_MAX + 2),
        label=gettext_lazy("Words I watch for"),
        help_text=format_lazy(
            gettext_lazy("Words or phrases, {words_max} at most, with commas between."), words_max=WORDS_MAX
        ),
    )
    per_day = forms.TypedChoiceField(
        choices=[(n, str(n)) for n in range(1, PER_DAY_MAX + 1)],
        coerce=int,
        label=gettext_lazy("How many a day, at most"),
        help_text=gettext_lazy("What happens in between comes together with the next one."),
    )
    quiet_from = forms.TypedChoiceField(choices=HOURS, coerce=int, label=gettext_lazy("Nothing from"))
    quiet_until = forms.TypedChoiceField(
        choices=HOURS,
        coerce=int,
        label=gettext_lazy("until"),
        help_text=gettext_lazy("In your time zone. The same hour: at any time."),
    )

    def clean_words(self) -> list[str]:
        """Return the words, each once. Raises `ValidationError` for too many, or one that is too long."""
        words = list(dict.fromkeys(" ".join(word.split()) for word in self.cleaned_data["words"].split(",")))
        words = [word for word in words if any(c.isalnum() for c in word)]
        if len(words) > WORDS_MAX or any(len(word) > WORD_CHARS_MAX for word in words):
            raise forms.ValidationError(
                _(
                    "{words_max} words or phrases at most, each of {word_chars_max} characters at most."
                ).format(words_max=WORDS_MAX, word_chars_max=WORD_CHARS_MAX)
            )
        return words


class DestinationForm(forms.Form):
    """A destination: a kind, its address, and its secret if it has one."""

    kind = forms.ChoiceField(choices=Kind.choices, label=gettext_lazy("What is it?"))
    address = forms.CharField(
        max_length=ADDRESS_CHARS_MAX,
        label=gettext_lazy("Its address"),
        help_text=gettext_lazy(
            "A webhook’s own; of ntfy the server with the topic, https://ntfy.sh/my-topic; of a "
            "service that saves, where you open it."
        ),
        widget=forms.URLInput,
    )
    secret = forms.CharField(
        max_length=SECRET_CHARS_MAX,
        required=False,
        label=gettext_lazy("Its token"),
        help_text=gettext_lazy(
            "A webhook needs none, an open topic neither. Wallabag: client id, client secret, user "
            "name and password, one in each line. It is stored encrypted and never shown."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off", "spellcheck": "false"}),
    )


class TypedDestinationForm(DestinationForm):
    """A typed destination. A browser cannot be typed, because nobody knows its address."""

    kind = forms.ChoiceField(
        choices=[one for one in Kind.choices if one[0] != Kind.PUSH], label=gettext_lazy("What is it?")
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def notifications(request: HttpRequest) -> HttpResponse:
    """Show the notifications and their destinations. A POST stores the choice and its times."""
    if request.method != "POST":
        return _page(request)
    form = NotificationsForm(request.POST)
    if not form.is_valid():
        return _page(request, form=form)
    chosen = form.cleaned_data
    notification_settings_update(
        reader=reader_of(request),
        events=[event for event in Event.values if chosen.pop(event)],
        now=timezone.now(),
        **chosen,
    )
    messages.success(request, _("Saved."))
    return redirect("digest:notifications")


@login_required
@never_cache
@require_POST
def destination_new(request: HttpRequest) -> HttpResponse:
    """Add a destination; the secret of a new webhook is on this answer and nowhere else."""
    is_push = request.POST.get("kind") == Kind.PUSH
    form = DestinationForm(request.POST) if is_push else TypedDestinationForm(request.POST)
    if not form.is_valid():
        return _destination_errors(request, form)
    reader = reader_of(request)
    before = saving_destination(reader_id=reader.pk) if form.cleaned_data["kind"] in SAVING else None
    try:
        session = request.session.session_key or ""
        row, made = destination_add(
            reader=reader, now=timezone.now(), session_key=session, **form.cleaned_data
        )
    except DestinationInvalid as error:
        form.add_error(None, error.message)
        return _destination_errors(request, form)
    if made:
        return _page(request, made=made)
    words = _("{get_kind_display} is added.").format(get_kind_display=row.get_kind_display())
    if before:
        replaced = _("{name} was replaced.").format(name=before.get_kind_display())
        words = f"{words} {replaced}"
    messages.success(request, words)
    return redirect("digest:notifications")


def _destination_errors(request: HttpRequest, form: DestinationForm) -> HttpResponse:
    """Show the typed form with its errors. The destination's secret is not shown again."""
    if isinstance(form, TypedDestinationForm):
        return _page(request, add_form=form)
    messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    answer = _page(request)
    answer.status_code = 422
    return answer


@login_required
@require_POST
@rate_limited(SEND_ON)
def test(request: HttpRequest, destination_id: int) -> HttpResponse:
    """Send a test to one destination and say how it went."""
    try:
        row = destination_test(reader=reader_of(request), destination_id=destination_id, now=timezone.now())
    except DestinationMissing as error:
        raise Http404(error.message) from error
    except DeliveryFailed as error:
        messages.error(request, _("The test did not arrive. {message}").format(message=error.message))
    else:
        messages.success(
            request,
            _("The test was taken: {get_kind_display}.").format(get_kind_display=row.get_kind_display()),
        )
    return redirect("digest:notifications")


@login_required
@require_POST
def remove(request: HttpRequest, destination_id: int) -> HttpResponse:
    """Remove one destination with its secret."""
    if not destination_remove(reader=reader_of(request), destination_id=destination_id):
        raise Http404(_("You have no such destination."))
    messages.success(request, _("Removed. Nothing is sent there any more."))
    return redirect("digest:notifications")


@login_required
@require_POST
@rate_limited(SEND_ON)
def item_send(request: HttpRequest, item_id: int) -> HttpResponse:
    """Send the address of an item to the reader's service, and go back to the last page."""
    reader = reader_of(request)
    try:
        row = item_send_on(reader=reader, item=item_get(reader_id=reader.pk, item_id=item_id))
    except (ItemNotFound, DestinationMissing) as error:
        raise Http404(error.message) from error
    except DeliveryFailed as error:
        messages.error(request, _("It was not saved. {message}").format(message=error.message))
    else:
        messages.success(
            request, _("Saved to {get_kind_display}.").format(get_kind_display=row.get_kind_display())
        )
    return redirect(return_path(request))


def _page(
    request: HttpRequest,
    form: NotificationsForm | None = None,
    add_form: DestinationForm | None = None,
    made: str = "",
) -> HttpResponse:
    """Show the page, with a refused form in place of a fresh one; `made` is a new webhook's secret."""
    reader, now = reader_of(request), timezone.now()
    current = notification_settings_of(reader=reader, now=now)
    at = {name: getattr(current, name) for name in ("per_day", "quiet_from", "quiet_until")}
    initial = {event: event in current.events for event in Event.values} | at
    found = destinations_of(reader_id=reader.pk)
    page: dict[str, Any] = {
        "form": form or NotificationsForm(initial=initial | {"words": ", ".join(current.words)}),
        "add_form": add_form or TypedDestinationForm(),
        "destinations": [
            (row, failure_words(row.code) if row.code else "", row.kind in NOTIFIED) for row in found
        ],
        "recent": [
            (row, failure_words(row.code) if row.code else "")
            for row in notifications_recent(reader_id=reader.pk)
        ],
        "saving": next((row for row in found if row.kind in SAVING), None),
        "made": made,
        "push_key": vapid().public,
    }
    refused = any(one and one.errors for one in (form, add_form))
    return render(request, "digest/notifications.html", page, status=422 if refused else 200)
