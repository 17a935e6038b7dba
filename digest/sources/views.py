"""Views of the sources: add a site or feed, change a subscription, remove, undo, import and export."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from digest.daily.first_fetch import first_fetch_wake
from digest.daily.first_fetch_notice import notice_import
from digest.daily.portrait import source_sparks
from digest.errors import DigestError, NoFeedFound, SiteUnreachable, TooManyRequests
from digest.feeds.address_checks import check_address
from digest.feeds.discovery import FoundFeed, feed_as_typed, feeds_discover, site_address
from digest.feeds.selectors import subscription_of, subscriptions_exist
from digest.llm.switch_hint import model_hint
from digest.models import Reader
from digest.requests import reader_of
from digest.sources.adding import feed_add, feed_readdress
from digest.sources.change_views import move_words, removal_read
from digest.sources.file_import import files_import
from digest.sources.list_page import FIND_CHARS, SHOWN, SourceLine, source_lines, sources_page
from digest.sources.names import NamedFeed, feeds_named, is_name, subscription_named
from digest.sources.newsletters import newsletters_are_on
from digest.sources.opml import FEEDS_MAX, FOLDER_MAX_CHARS, TITLE_MAX_CHARS
from digest.sources.private_views import PrivateFeedForm, private_page
from digest.sources.recommended import interests_offered
from digest.sources.rule_choices import rules_context
from digest.sources.subscription_changes import SubscriptionEdit, subscription_change
from digest.sources.subscriptions import opml_export
from digest.sources.weights import source_pin, source_rules_choose, sources_weigh
from digest.throttling import IMPORT, LOOKUP, SEARCH, limit_count, rate_limited
from ranking.config_words import AVOIDED, CHOICES, LOCKED, OPEN
from ranking.entities import RankingError
from ranking.language import thousands
from ranking.selectors import config_effective
from ranking.setting_scale import weight_read

# Files that one import may have.
FILES_MAX = 5
# The key of the last import's result in the session.
IMPORTED = "imported"

# How many characters of a typed address are read.
ADDRESS_CHARS = 2000
# The field that the first page's form sends beside an address; in the session, the key of its other fields.
WELCOME = "welcome"


class AddressForm(forms.Form):
    """The name or address of a site, or a feed's own address."""

    url = forms.CharField(
        label=gettext_lazy("A site or a feed"),
        max_length=ADDRESS_CHARS,
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
    """A subscription's name and folder, and whether models may read its items for this reader."""

    own_name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=TITLE_MAX_CHARS,
        required=False,
        help_text=gettext_lazy("What you call it. Empty for its publisher’s name."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    folder = forms.CharField(
        label=gettext_lazy("Folder"),
        max_length=FOLDER_MAX_CHARS,
        required=False,
        help_text=gettext_lazy(
            "“News / Local” stands beside “News” in lists, and inside it in an exported file. Empty for none."
        ),
        widget=forms.TextInput(attrs={"list": "folders", "autocomplete": "off"}),
    )
    in_today = forms.BooleanField(
        label=gettext_lazy("In Today, if it is among the best"),
        required=False,
        help_text=gettext_lazy(
            "Off: from your next look at Today, it is in All and its folder only, and in no digest, mail or "
            "feed of yours."
        ),
    )
    ai_enabled = forms.BooleanField(
        label=gettext_lazy("Language models may read what this feed brings, for summaries and the like"),
        required=False,
        help_text=gettext_lazy(
            "Off: no text of this feed leaves this machine, and suggestions come without a model."
        ),
    )
    full_text = forms.BooleanField(
        label=gettext_lazy("Always fetch the full text of its items from their pages"),
        required=False,
        help_text=gettext_lazy(
            "Their sites’ robots.txt is kept to. All readers of this feed then see the full text."
        ),
    )

    def __init__(self, *args: Any, line: SourceLine, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        switch = self.fields["ai_enabled"]
        switch.help_text = model_hint(str(switch.help_text))
        if not settings.FULL_TEXT or line.is_newsletter:
            del self.fields["full_text"]
        elif line.is_private:
            self.fields["full_text"].help_text = _(
                "Their sites’ robots.txt is kept to. Nobody else here sees the full text."
            )


class FilesInput(forms.ClearableFileInput):
    """An input for one or several files."""

    allow_multiple_selected = True

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        """Return all files that were sent."""
        return files.getlist(name)


class FilesField(forms.FileField):
    """One or several files, none of them empty."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        """Return the list of files."""
        if len(data) > FILES_MAX:
            raise forms.ValidationError(_("Choose {n} files at most.").format(n=FILES_MAX))
        return [super(FilesField, self).clean(one, initial) for one in data or [None]]


class ImportForm(forms.Form):
    """Lists of feeds, stars and read marks from files of another reader."""

    file = FilesField(
        label=gettext_lazy("Files of another reader"),
        widget=FilesInput(attrs={"accept": ".opml,.xml,text/xml,text/x-opml,.json,application/json"}),
        error_messages={
            "required": gettext_lazy("Choose a file first."),
            "empty": gettext_lazy("The file is empty."),
        },
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sources(request: HttpRequest) -> HttpResponse:
    """Show the reader's sources and feed health; a POST adds a site's feed, or offers several."""
    form = AddressForm(request.POST or None)
    found: list[FoundFeed] = []
    if WELCOME in request.POST:
        _welcome_keep(request)
    if request.method == "POST" and form.is_valid():
        try:
            if is_name(form.cleaned_data["url"]) and not form.cleaned_data["as_is"]:
                return _page(request, form, named=_feeds_named(request, form.cleaned_data["url"]))
            found = _feeds_of(request, form)
            if len(found) == 1:
                return _subscribe(request, found[0])
        except DigestError as error:
            if isinstance(error, SiteUnreachable) and error.is_locked:
                asked = PrivateFeedForm(initial={"url": site_address(form.cleaned_data["url"])})
                return private_page(request, asked, locked=error.message, status=422)
            form.add_error("url", error.message)
            can_add = isinstance(error, SiteUnreachable) and error.may_answer
            if WELCOME in request.POST and not can_add:
                return _welcome_again(request, form)
            answer = _page(request, form, can_add=can_add, status=422)
            if isinstance(error, TooManyRequests):
                answer.status_code, answer["Retry-After"] = error.status, str(error.retry_after_s)
            return answer
    if WELCOME in request.POST and form.errors:
        return _welcome_again(request, form)
    return _page(request, form, found=found, status=422 if form.errors else 200)


def _welcome_keep(request: HttpRequest) -> None:
    """Keep what is ticked on the first page, until its list is answered."""
    known = {key for one in interests_offered() for key in (one.key, *(feed.url for feed in one.feeds))}
    ticked = dict.fromkeys([*request.POST.getlist("interest"), *request.POST.getlist("feed")])
    request.session[WELCOME] = {"picked": [one for one in ticked if one in known]}


def _welcome_again(request: HttpRequest, form: AddressForm) -> HttpResponse:
    """Go back to the first page, which lists sources to start with, and say there what was wrong."""
    typed = (form["url"].data or "")[:ADDRESS_CHARS]
    errors = [str(error) for error in form.errors.get("url", ())]
    request.session[WELCOME] |= {"url": typed, "errors": errors}
    return redirect("digest:welcome")


def _feeds_named(request: HttpRequest, name: str) -> list[NamedFeed]:
    """Return the known feeds with this name. Raises `NoFeedFound` if there are none."""
    limit_count(limit=SEARCH, who=reader_of(request).pk, now=timezone.now())
    if found := feeds_named(name=name, now=timezone.now()):
        return found
    if title := subscription_named(reader_id=reader_of(request).pk, name=name):
        raise NoFeedFound(_("You read “{title}” already: it is in the list below.").format(title=title))
    raise NoFeedFound(_("No source known here has that name. Type the site’s address, such as example.org."))


def _feeds_of(request: HttpRequest, form: AddressForm) -> list[FoundFeed]:
    """Return the feeds to choose from; an address to be taken as it is, is the only one."""
    url = form.cleaned_data["url"]
    if form.cleaned_data["as_is"]:
        return [FoundFeed(feed_as_typed(url=url), "", 0)]
    check_address(url=site_address(url))  # before a lookup is counted
    limit_count(limit=LOOKUP, who=reader_of(request).pk, now=timezone.now())
    return feeds_discover(url=url, reader_id=reader_of(request).pk)


def _subscribe(request: HttpRequest, found: FoundFeed) -> HttpResponse:
    """Subscribe. The message promises items only if they are there already.

    The first source leads to Today, which shows its items, or says how far its fetch is. From a first page
    with ticks, any leads back there.
    """
    is_first = not subscriptions_exist(reader_id=reader_of(request).pk)
    added = feed_add(reader=reader_of(request), found=found, now=timezone.now())
    feed = added.subscription.feed
    name = added.subscription.own_name or feed.title or found.title or str(feed)
    if not added.new:
        messages.info(request, _("You read {name} already.").format(name=name))
        return redirect("digest:sources")
    if added.stored:
        next_step = _("Its posts are here.")
    else:
        first_fetch_wake()
        next_step = _("It is being fetched.")
    messages.success(request, _("You now read {name}. {next_step}").format(name=name, next_step=next_step))
    if WELCOME in request.POST and request.session[WELCOME]["picked"]:
        return redirect("digest:welcome")
    return redirect("digest:today" if is_first else "digest:sources")


def _page(
    request: HttpRequest,
    form: AddressForm,
    *,
    found: list[FoundFeed] | None = None,
    named: list[NamedFeed] | None = None,
    can_add: bool = False,
    import_form: ImportForm | None = None,
    status: int = 200,
) -> HttpResponse:
    show = request.GET.get("show", "")
    find = request.GET.get("find", "")[:FIND_CHARS].strip()
    page = sources_page(reader_of(request), timezone.now(), find, show if show in SHOWN else "") | {
        "form": form,
        "found": found,
        "named": named,
        "can_add": can_add,
        "newsletters": newsletters_are_on(),
        "import_form": import_form or ImportForm(),
        "list_feeds_max": thousands(min(FEEDS_MAX, settings.SUBSCRIPTIONS_MAX)),
        "undo": removal_read(request, timezone.now()),
        "moved": move_words(request, timezone.now()),
    }
    return render(request, "digest/sources.html", page, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def source(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Show one subscription: feed health, weight, rules, folder, and whether models may read it.

    A POST saves all parts that it brings: `level` the weight, `rules` the shelf life, daily limit and kept
    places, `pin` the suggestions allowed for the source, `folder` or `own_name` the subscription. If one part
    cannot be saved, none is. A GET with `level` shows why a weight cannot be set.
    """
    reader = reader_of(request)
    lines = source_lines(reader, timezone.now())
    line = next((line for line in lines if line.subscription.feed_id == feed_id), None)
    if line is None:
        raise Http404(_("You do not read that feed."))
    key, sent = line.subscription.feed.source_id, request.POST
    current = {name: getattr(line.subscription, name) for name in SubscriptionForm.base_fields}
    of_form = not sent.keys().isdisjoint(("folder", "own_name"))
    form = SubscriptionForm(sent if of_form else None, initial=current, line=line)
    typed = (sent.get("level") or request.GET.get("level", "")).strip()
    refused = ""
    try:
        if typed or "level" in sent:
            weight_read(typed)
        if sent and (not form.is_bound or form.is_valid()):
            _source_save(reader, line, sent, form)
            saved = subscription_of(reader_id=reader.pk, feed_id=feed_id) or line.subscription
            messages.success(request, _("Saved: {name}.").format(name=saved.name))
            return redirect("digest:source", feed_id)
    except RankingError as error:
        refused = error.message
    folders = sorted({line.folder for line in lines if line.folder}, key=str.casefold)
    config = config_effective(reader_id=reader.pk).config
    pinned = LOCKED if key in config.locked else AVOIDED if key in config.avoided else OPEN
    pins = [(code, _(words), code == sent.get("pin", pinned)) for code, words in CHOICES.items()]
    page = {"form": form, "line": line, "folders": folders, "refused": refused, "typed": typed or line.figure}
    page |= rules_context(reader, key, config, sent if "rules" in sent else None, timezone.now())
    page |= {"pins": pins, "spark": source_sparks(reader_id=reader.pk, now=timezone.now()).get(key, ())}
    return render(request, "digest/source.html", page, status=422 if form.errors or refused else 200)


@transaction.atomic
def _source_save(reader: Reader, line: SourceLine, sent: QueryDict, form: SubscriptionForm) -> None:
    """Save the parts of a source's page that were sent. Raises `RankingError`, and then saves nothing.

    A weight as it was is left alone: saved again, it would stay for two weeks.
    """
    now, feed_id, key = timezone.now(), line.subscription.feed_id, line.subscription.feed.source_id
    if (level := sent.get("level", line.figure).strip()) != line.figure:
        sources_weigh(reader=reader, feed_ids=[feed_id], level=level, now=now)
    if (pin := sent.get("pin")) in CHOICES:
        source_pin(reader_id=reader.pk, source=key, pin=pin, now=now)
    if "rules" in sent:
        source_rules_choose(
            reader_id=reader.pk,
            source=key,
            shelf_life=sent.get("shelf_life", ""),
            daily_limit=sent.get("daily_limit", ""),
            never_missed="never_missed" in sent,
            now=now,
        )
    if form.is_bound:
        edit = SubscriptionEdit(**form.cleaned_data)
        subscription_change(reader=reader, feed_id=feed_id, edit=edit, now=now)


@login_required
@require_POST
def source_address(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Read a source at another address from now on, with folder, name and switches as they are."""
    reader, now, typed = reader_of(request), timezone.now(), request.POST.get("url", "")
    if subscription_of(reader_id=reader.pk, feed_id=feed_id) is None:
        raise Http404(_("You do not read that feed."))
    try:
        check_address(url=site_address(typed))
        limit_count(limit=LOOKUP, who=reader.pk, now=now)
        found = feeds_discover(url=typed, reader_id=reader.pk)
        if len(found) > 1:
            words = _("This site has {n} feeds. Type the address of one, such as {url}.")
            raise NoFeedFound(words.format(n=len(found), url=found[0].url))
        added = feed_readdress(reader=reader, feed_id=feed_id, found=found[0], now=now)
    except DigestError as error:
        messages.error(request, error.message)
        return redirect("digest:source", feed_id)
    if not added.stored:
        first_fetch_wake()
    row = added.subscription
    messages.success(request, _("{name} is read at {url} now.").format(name=row.name, url=row.feed.url))
    return redirect("digest:source", row.feed_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited(IMPORT, is_long=True)
def files_upload(request: HttpRequest) -> HttpResponse:
    """Import lists and stars. The page that it leads to shows what each file was. A GET leads to the form."""
    if request.method != "POST":
        return redirect("digest:sources")
    form, reader, now = ImportForm(request.POST, request.FILES), reader_of(request), timezone.now()
    if form.is_valid():
        files = files_import(reader=reader, files=form.cleaned_data["file"], now=now)
        if any(one.feeds for one in files):
            first_fetch_wake()
        if not all(one.error for one in files):
            request.session[IMPORTED] = [one.as_dict() for one in files]
            return redirect("digest:imported")
        for one in files:
            form.add_error("file", one.error)
    return _page(request, AddressForm(), import_form=form, status=422)


@login_required
@require_GET
def files_imported(request: HttpRequest) -> HttpResponse:
    """Show what each file of the last import was, from the session, so that *Back* finds it again."""
    if IMPORTED not in request.session:
        return redirect("digest:sources")
    filling = notice_import(reader_of(request), timezone.now())
    return render(request, "digest/imported.html", {"files": request.session[IMPORTED], "filling": filling})


@login_required
@require_GET
@cache_control(private=True, no_store=True)
def opml_download(request: HttpRequest) -> HttpResponse:
    """Return the reader's feeds as an OPML file."""
    document = opml_export(reader=reader_of(request), now=timezone.now())
    answer = HttpResponse(document, content_type="text/x-opml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="tidings.opml"'
    return answer
