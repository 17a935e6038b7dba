"""Forms of the digest room's pages."""

from functools import cache
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest
from django.utils.dates import WEEKDAYS
from django.utils.translation import get_language, gettext, gettext_lazy
from django.utils.translation import gettext as _

from digest.accounts.limits import LOGIN_CHARS, PASSWORD_CHARS
from digest.llm.switch_hint import model_hint
from digest.models import ApiToken, Reader
from digest.models.readers import time_zone_names
from digest.sources.recommended import StarterFeed, interests_offered, starter_feeds_chosen


@cache
def time_zone_choices() -> list[tuple[str, str]]:
    """Return UTC and the zones named by place; not the machine's aliases such as `localtime`."""
    places = (name for name in time_zone_names() if "/" in name and not name.startswith("Etc/"))
    return [(name, name.replace("_", " ")) for name in ["UTC", *sorted(places)]]


class TimeZoneForm(forms.Form):
    """The reader's time zone."""

    time_zone = forms.ChoiceField(
        choices=time_zone_choices,
        initial="UTC",
        label=gettext_lazy("Time zone"),
    )


class SignupTimeZoneForm(TimeZoneForm):
    """Adds the reader's time zone to sign-up; a script fills it in from the browser."""

    def signup(self, request: HttpRequest, user: Reader) -> None:
        """Store the chosen zone, and the language of the page, with the new account (called by allauth)."""
        user.time_zone = self.cleaned_data["time_zone"]
        # Mails have no browser that names a language. A reader with English pages has not chosen one yet.
        language = get_language() or settings.LANGUAGE_CODE
        user.language = "" if language == settings.LANGUAGE_CODE else language
        user.save(update_fields=["time_zone", "language"])


def language_choices() -> list[tuple[str, str]]:
    """Return the languages on offer, each by its own name, and first the browser's."""
    return [("", gettext("the browser’s")), *settings.LANGUAGES]


class AccountForm(TimeZoneForm):
    """The reader's time zone and language, and switches for models, shared ratings and suggestions."""

    language = forms.ChoiceField(
        choices=language_choices,
        required=False,
        label=gettext_lazy("Language"),
    )
    ai_enabled = forms.BooleanField(
        label=gettext_lazy("Let a language model read my ratings"),
        required=False,
        help_text=gettext_lazy("Off: nothing leaves this machine."),
    )
    peers_enabled = forms.BooleanField(
        label=gettext_lazy("Learn from other readers, and they from me"),
        required=False,
        help_text=gettext_lazy("Only blurred totals: nobody can see your ratings."),
    )
    suggestions_enabled = forms.BooleanField(
        label=gettext_lazy("Suggest changes to my settings every week"),
        required=False,
    )
    learn_from_reading = forms.BooleanField(
        label=gettext_lazy("Learn from what I open"),
        required=False,
        help_text=gettext_lazy("If you switch this off, what was learned from it is forgotten."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        switch = self.fields["ai_enabled"]
        switch.help_text = model_hint(str(switch.help_text))


class DisplayForm(forms.Form):
    """The display settings and the handling of read items: the fields of `Display`."""

    theme = forms.ChoiceField(choices=Reader.Theme.choices, label=gettext_lazy("Light or dark"))
    list_density = forms.ChoiceField(
        choices=[
            (Reader.ListDensity.COMFORTABLE, gettext_lazy("with opening")),
            (Reader.ListDensity.COMPACT, gettext_lazy("title alone")),
        ],
        label=gettext_lazy("Each item"),
    )
    list_size = forms.TypedChoiceField(
        choices=[(size, str(size)) for size in Reader.ListSize.values],
        coerce=int,
        label=gettext_lazy("Items on a page of All"),
    )
    pictures = forms.ChoiceField(
        choices=Reader.Pictures.choices,
        label=gettext_lazy("Pictures in articles and lists"),
    )
    read_gone = forms.TypedChoiceField(
        choices=[
            (1, gettext_lazy("is gone")),
            (0, gettext_lazy("stays if it is among the best")),
        ],
        coerce=lambda chosen: bool(int(chosen)),
        label=gettext_lazy("What you read yesterday"),
    )
    hide_read = forms.BooleanField(
        label=gettext_lazy("Leave read items out of Today"),
        required=False,
        help_text=gettext_lazy("Its mail and its feed keep them."),
    )
    hide_counts = forms.BooleanField(
        label=gettext_lazy("No counts anywhere"),
        required=False,
        help_text=gettext_lazy("No page says how much is unread."),
    )
    read_on_scroll = forms.BooleanField(label=gettext_lazy("Mark as read what I scroll past"), required=False)
    offline_today = forms.BooleanField(
        label=gettext_lazy("Keep Today on my devices, to read offline"),
        required=False,
        help_text=gettext_lazy("Until you sign out there."),
    )


class MailForm(forms.Form):
    """When the digest comes by mail."""

    rhythm = forms.ChoiceField(choices=Reader.MailRhythm.choices, label=gettext_lazy("How often"))
    hour = forms.TypedChoiceField(
        choices=[(hour, f"{hour}:00") for hour in range(24)],
        coerce=int,
        label=gettext_lazy("Not before"),
    )
    weekday = forms.TypedChoiceField(
        choices=list(WEEKDAYS.items()),
        coerce=int,
        label=gettext_lazy("Day of weekly mail"),
    )


class TokenForm(forms.Form):
    """A new personal token: its name, its scope, how long it is valid."""

    name = forms.CharField(
        max_length=60,
        label=gettext_lazy("What is it for?"),
        help_text=gettext_lazy("For example: notes on my laptop."),
    )
    scope = forms.ChoiceField(
        choices=ApiToken.Scope.choices,
        label=gettext_lazy("It may"),
        help_text=gettext_lazy(
            "“Read and rate” includes marking as read and saving. “Everything” includes your settings and "
            "suggestions."
        ),
    )
    days = forms.TypedChoiceField(
        choices=[
            (30, gettext_lazy("30 days")),
            (90, gettext_lazy("90 days")),
            (365, gettext_lazy("a year")),
            (0, gettext_lazy("until I revoke it")),
        ],
        coerce=int,
        initial=90,
        label=gettext_lazy("Valid for"),
    )


class DeleteForm(forms.Form):
    """Username and password, typed to confirm an account deletion; the name alone without `by_password`."""

    username = forms.CharField(
        label=gettext_lazy("Your username"),
        max_length=LOGIN_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Your password"),
        max_length=PASSWORD_CHARS,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, reader: Reader, by_password: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reader = reader
        if not by_password:
            del self.fields["password"]

    def clean_username(self) -> str:
        """Return the username; it has to match exactly. Raises `ValidationError`."""
        if self.cleaned_data["username"] != self.reader.username:
            raise forms.ValidationError(_("This is not your username."))
        return self.reader.username

    def clean_password(self) -> str:
        """Return the password, checked against the account's. Raises `ValidationError`."""
        password: str = self.cleaned_data["password"]
        if not self.reader.check_password(password):
            if not self.reader.has_usable_password():
                raise forms.ValidationError(_("You have no password. Set one first, on your account page."))
            raise forms.ValidationError(_("This is not your password."))
        return password


class WelcomeForm(forms.Form):
    """The choice of a first visit: whole interests, single feeds of the list, or both."""

    interest = forms.MultipleChoiceField(
        choices=lambda: [(one.key, one.name) for one in interests_offered()], required=False
    )
    feed = forms.MultipleChoiceField(
        choices=lambda: [(feed.url, feed.title) for one in interests_offered() for feed in one.feeds],
        required=False,
    )

    def chosen(self) -> list[StarterFeed]:
        """Return the feeds of a valid answer, each once."""
        chosen = self.cleaned_data
        return starter_feeds_chosen(interests=chosen["interest"], urls=chosen["feed"])

    def picked(self) -> set[str]:
        """Return everything ticked so far, valid or not, for a page that is shown again."""
        return {*self["interest"].data, *self["feed"].data}


class ThumbForm(forms.Form):
    """One tap: a rating ("1", "0"), its undo ("clear"), or one reason switched on or off.

    With `named_before` an undo also asks for more like the item again.
    """

    useful = forms.ChoiceField(choices=[("1", "up"), ("0", "down"), ("clear", "undo")], required=False)
    tag = forms.SlugField(max_length=200, required=False)
    untag = forms.SlugField(max_length=200, required=False)
    named_before = forms.BooleanField(required=False)
