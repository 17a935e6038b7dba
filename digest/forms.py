"""Forms of the digest room's doors."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.http import HttpRequest
from django.utils.dates import WEEKDAYS

from digest.models import ApiToken, Reader
from digest.starters import StarterFeed, starters, starters_chosen


def time_zone_choices() -> list[tuple[str, str]]:
    """The places a reader may live in, and UTC; not the machine's aliases such as `localtime`."""
    places = (name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))
    return [(name, name.replace("_", " ")) for name in ["UTC", *sorted(places)]]


class SignupTimeZoneForm(forms.Form):
    """Adds the reader's time zone to sign-up; a script fills it in from the browser."""

    time_zone = forms.ChoiceField(
        choices=time_zone_choices,
        initial="UTC",
        label="Time zone",
        help_text="Your digest starts a new page at your midnight.",
    )

    def signup(self, request: HttpRequest, user: Reader) -> None:
        """Keep the chosen zone with the new account (called by allauth)."""
        user.time_zone = self.cleaned_data["time_zone"]
        user.save(update_fields=["time_zone"])


class AccountForm(forms.Form):
    """Where the reader lives, whether models may read along, thumbs are shared in sums, and suggestions
    are worked out."""

    time_zone = forms.ChoiceField(
        choices=time_zone_choices,
        label="Time zone",
        help_text="Your digest starts a new page at your midnight.",
    )
    ai_enabled = forms.BooleanField(
        label="Let a language model study my feedback, where one is set up",
        required=False,
        help_text="Without it, suggestions come from statistics alone and nothing leaves this machine.",
    )
    peers_enabled = forms.BooleanField(
        label="Learn from other readers here, and let them learn from me",
        required=False,
        help_text="Your thumbs join rounded sums over at least five readers: never a name, a title or a "
        "single thumb of yours. Without it they join none, and no sum is used for you.",
    )
    suggestions_enabled = forms.BooleanField(
        label="Work out suggestions for my settings",
        required=False,
        help_text="Once a week, and when you ask. Without it none are worked out and none are brought up; "
        "those that wait stay on their page.",
    )


class MailForm(forms.Form):
    """When the digest comes by mail."""

    rhythm = forms.ChoiceField(choices=Reader.MailRhythm.choices, label="My digest by mail")
    hour = forms.TypedChoiceField(
        choices=[(hour, f"{hour}:00") for hour in range(24)],
        coerce=int,
        label="From what time on",
        help_text="In your time zone.",
    )
    weekday = forms.TypedChoiceField(
        choices=list(WEEKDAYS.items()), coerce=int, label="On which day", help_text="For weekly mail."
    )


class TokenForm(forms.Form):
    """A new personal token: what it is for, what it may do, how long it holds."""

    name = forms.CharField(
        max_length=60, label="What is it for?", help_text="For example: notes on my laptop."
    )
    scope = forms.ChoiceField(
        choices=ApiToken.Scope.choices,
        label="It may",
        help_text="Rating includes marking as read and saving; everything, your settings and suggestions.",
    )
    days = forms.TypedChoiceField(
        choices=[(30, "30 days"), (90, "90 days"), (365, "a year"), (0, "until I revoke it")],
        coerce=int,
        initial=90,
        label="It holds",
    )


class DeleteForm(forms.Form):
    """What somebody types who really means to delete their account: its name and its password."""

    username = forms.CharField(
        label="Your username", widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )
    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, reader: Reader, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reader = reader

    def clean_username(self) -> str:
        """The username, letter for letter."""
        if self.cleaned_data["username"] != self.reader.username:
            raise forms.ValidationError("This is not your username.")
        return self.reader.username

    def clean_password(self) -> str:
        """The password, checked against the account's."""
        password: str = self.cleaned_data["password"]
        if not self.reader.check_password(password):
            raise forms.ValidationError("This is not your password.")
        return password


class WelcomeForm(forms.Form):
    """What a first visit chooses: whole interests, single feeds of the list, or both."""

    interest = forms.MultipleChoiceField(
        choices=lambda: [(one.key, one.name) for one in starters()], required=False
    )
    feed = forms.MultipleChoiceField(
        choices=lambda: [(feed.url, feed.title) for one in starters() for feed in one.feeds], required=False
    )

    def chosen(self) -> list[StarterFeed]:
        """The feeds of a valid answer, each once."""
        said = self.cleaned_data
        return starters_chosen(interests=said["interest"], urls=said["feed"])

    def picked(self) -> set[str]:
        """Everything ticked so far, valid or not, so that a page shown again keeps it."""
        return {*self["interest"].data, *self["feed"].data} if self.is_bound else set()


class ThumbForm(forms.Form):
    """What a tap says: a thumb ("1", "0"), its undoing ("clear"), or one reason switched on or off."""

    useful = forms.ChoiceField(choices=[("1", "up"), ("0", "down"), ("clear", "undo")], required=False)
    tag = forms.SlugField(required=False)
    untag = forms.SlugField(required=False)
