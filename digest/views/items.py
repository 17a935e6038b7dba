"""One item with its reasons; hearing back about it; keeping it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from digest.errors import DigestError
from digest.forms import ThumbForm
from digest.models import Item, Reader
from digest.pages import item_page, response_page
from digest.readers import fetched_ahead, reader_of
from digest.selectors import feedback_by_items, item_for
from digest.services.feedback import feedback_clear, feedback_set, feedback_tags_set
from digest.services.readings import item_read, item_save, item_unread
from digest.ways import came_from, way_back


@login_required
@require_safe
def item(request: HttpRequest, item_id: int) -> HttpResponse:
    """One item, its text and the whole of its score; whoever looks at it has read it."""
    reader, now = reader_of(request), timezone.now()
    found = _item_or_404(reader, item_id)
    if request.method == "GET" and not fetched_ahead(request):
        item_read(reader=reader, item_id=item_id, now=now)
    return render(
        request, "digest/item.html", item_page(reader, found, now) | {"came_from": came_from(request)}
    )


@login_required
@require_POST
def feedback(request: HttpRequest, item_id: int) -> HttpResponse:
    """Take a thumb, its undoing or a reason; a script gets the changed part of the page back."""
    found = _item_or_404(reader_of(request), item_id)
    form = ThumbForm(request.POST)
    try:
        if form.is_valid():
            _respond(reader_of(request), found, form.cleaned_data)
    except DigestError as error:
        return HttpResponse(error.message, status=error.status, content_type="text/plain")
    return _answer(request, found)


@login_required
@require_POST
def save(request: HttpRequest, item_id: int) -> HttpResponse:
    """Save an item for later (`saved=1`), or stop; answers as `feedback` does."""
    found = _item_or_404(reader_of(request), item_id)
    saved = request.POST.get("saved") == "1"
    item_save(reader=reader_of(request), item_id=item_id, saved=saved, now=timezone.now())
    return _answer(request, found)


@login_required
@require_POST
def unread(request: HttpRequest, item_id: int) -> HttpResponse:
    """Mark an item as not read and go back to where the reader came from, or to the paper."""
    found = _item_or_404(reader_of(request), item_id)
    item_unread(reader=reader_of(request), item_id=item_id)
    messages.success(request, f"“{found.title}” is unread again.")
    return redirect(way_back(request))


def _answer(request: HttpRequest, item: Item) -> HttpResponse:
    """The changed part of the page for a script, else the way back to the item on the page it was on."""
    back = way_back(request)
    if request.headers.get("X-Requested-With") == "fetch":
        changed = response_page(reader_of(request), item)
        return render(request, "digest/_response.html", {**changed, "back": back})
    return redirect(f"{back}#item-{item.pk}")


def _respond(reader: Reader, item: Item, said: dict[str, str]) -> None:
    """Store what one tap said; a reason counts only beside a thumb."""
    now = timezone.now()
    if said["useful"] == "clear":
        feedback_clear(reader=reader, item_id=item.pk)
    elif said["useful"]:
        feedback_set(reader=reader, item_id=item.pk, useful=said["useful"] == "1", now=now)
    elif thumb := feedback_by_items(reader_id=reader.pk, item_ids=[item.pk]).get(item.pk):
        tags = sorted(({*thumb.tags} | {said["tag"]}) - {said["untag"], ""})
        feedback_tags_set(reader=reader, item_id=item.pk, tags=tags)


def _item_or_404(reader: Reader, item_id: int) -> Item:
    found = item_for(reader_id=reader.pk, item_id=item_id)
    if found is None:
        raise Http404("No such item among your sources.")
    return found
