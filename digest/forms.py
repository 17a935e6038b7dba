"""Forms of the digest room's doors."""

from zoneinfo import available_timezones

from django import forms
from django.http import HttpRequest

from digest.models import Reader


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
    """Where the reader lives, whether models may read along, and whether thumbs are shared in sums."""

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


class FeedForm(forms.Form):
    """The address of a feed to read."""

    url = forms.URLField(
        label="Address of a feed",
        max_length=2000,
        assume_scheme="https",
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "url"}),
    )


class ThumbForm(forms.Form):
    """What a tap says: a thumb ("1", "0"), its undoing ("clear"), or one reason switched on or off."""

    useful = forms.ChoiceField(choices=[("1", "up"), ("0", "down"), ("clear", "undo")], required=False)
    tag = forms.SlugField(required=False)
