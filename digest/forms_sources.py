"""Forms of the sources pages."""

from django import forms

from digest.opml import FOLDER_MAX_CHARS


class AddressForm(forms.Form):
    """What a reader wants to read: the name or address of a site, or a feed's own address."""

    url = forms.CharField(
        label="A site or a feed",
        max_length=2000,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "url",
                "inputmode": "url",
                "autocapitalize": "none",
                "spellcheck": "false",
                "aria-describedby": "url-hint",
            }
        ),
    )
    as_is = forms.BooleanField(required=False)


class SubscriptionForm(forms.Form):
    """Where a subscription is filed, and whether models may read its items for this reader."""

    folder = forms.CharField(
        label="Folder",
        max_length=FOLDER_MAX_CHARS,
        required=False,
        help_text="Any name; “News / Local” is a folder in a folder. Empty for none.",
        widget=forms.TextInput(attrs={"list": "folders", "autocomplete": "off"}),
    )
    ai_enabled = forms.BooleanField(
        label="Language models may read what this feed brings, for summaries and the like",
        required=False,
        help_text="Off: no text of this feed leaves this machine on your behalf. As your thumbs are studied "
        "all together, suggestions then come from statistics alone.",
    )


class OpmlForm(forms.Form):
    """A subscription list from a file."""

    file = forms.FileField(
        label="An OPML list",
        widget=forms.ClearableFileInput(attrs={"accept": ".opml,.xml,text/xml,text/x-opml"}),
        error_messages={"required": "Choose a file first.", "empty": "The file is empty."},
    )
