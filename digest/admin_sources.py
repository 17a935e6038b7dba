"""Sources for operators: retitle them, give them another key, join two that are one publisher."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from digest.errors import DigestError
from digest.identity import SOURCE_KEY_MAX_CHARS
from digest.models import Source
from digest.services.sources import SourceMove, source_move, source_move_plan
from ranking.readonly import OperatorAdmin
from ranking.selectors import key_now


class MoveForm(forms.Form):
    """The key a source is to have."""

    into = forms.CharField(
        label="New key",
        max_length=SOURCE_KEY_MAX_CHARS,
        help_text="A key that exists joins the two; any other renames this one.",
    )


@admin.register(Source)
class SourceAdmin(OperatorAdmin):
    """Publishers. A title is edited in place; a key moves, with all that speaks of it, after a question."""

    list_display = ["key", "title"]
    ordering = ["key"]
    search_fields = ["key", "title"]

    def get_readonly_fields(self, request: HttpRequest, obj: Source | None = None) -> list[str]:
        """A key is never edited in the form: that would make a second source and leave the first."""
        return ["key"] if obj else []

    def get_urls(self) -> list[URLPattern]:
        """The page on which a source moves, before the admin's own pages that take any address."""
        move = self.admin_site.admin_view(self.move_view)
        return [path("<path:object_id>/move/", move, name="digest_source_move"), *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of one source; by a key it once had, the way to the page it has now."""
        if (key := key_now(key=unquote(object_id))) != unquote(object_id):
            return redirect("admin:digest_source_change", quote(key))
        return super().change_view(request, object_id, form_url, extra_context)

    def move_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for the key, then whether to do what it leads to, then do it."""
        source = self.get_object(request, key_now(key=unquote(object_id)))
        if source is None:
            raise Http404("There is no such source.")
        if not (self.has_change_permission(request, source) and self.has_delete_permission(request, source)):
            raise PermissionDenied
        form, plan = MoveForm(request.POST or None), None
        if request.method == "POST" and form.is_valid():
            into = form.cleaned_data["into"]
            try:
                if request.POST.get("confirmed"):
                    return self._moved(request, source_move(key=source.pk, into=into, now=timezone.now()))
                plan = source_move_plan(key=source.pk, into=into)
            except DigestError as error:
                form.add_error("into", error.message)
        context: dict[str, Any] = self.admin_site.each_context(request) | {
            "title": f"Move {source.pk}",
            "opts": self.opts,
            "source": source,
            "back": reverse("admin:digest_source_change", args=[quote(source.pk)]),
            "form": form,
            "plan": plan,
        }
        return render(request, "admin/digest/source/move.html", context, status=422 if form.errors else 200)

    def _moved(self, request: HttpRequest, move: SourceMove) -> HttpResponse:
        self.log_change(request, Source.objects.get(pk=move.into), f"Took over everything of “{move.key}”.")
        counts = ((move.feeds, "feed"), (move.items, "item"), (move.configs, "setting"))
        took = ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in counts)
        words = f"“{move.key}” is now “{move.into}”: {took}."
        messages.success(request, words)
        return redirect(f"{reverse('admin:digest_source_changelist')}?{urlencode({'q': move.into})}")
