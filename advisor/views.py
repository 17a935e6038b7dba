"""Views of the advisor: request suggestions, dismiss a tip."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from advisor.guidance.tips import AWAY_DAYS, tip_dismiss
from advisor.models import Run
from advisor.run.request import run_request
from advisor.run.status_words import status_message
from digest.places import turn_end
from digest.requests import reader_of, return_path
from digest.throttling import GENERATE, rate_limited


@login_required
@require_POST
@rate_limited(GENERATE, is_long=True)
def generate(request: HttpRequest) -> HttpResponse:
    """Request a run, and show its result on the suggestions page."""
    turn_end()  # without a worker the run happens here
    # A reason may be stored, and all that is stored is in one language.
    with translation.override(settings.LANGUAGE_CODE):
        result = run_request(reader=reader_of(request), trigger=Run.Trigger.UI, now=timezone.now())
    messages.info(request, status_message(result.status, result.suggestions_created, result.reason))
    return redirect("suggestions:list")


@login_required
@require_POST
def tip_dismiss_view(request: HttpRequest, tip_id: int) -> HttpResponse:
    """Dismiss a tip, and return to its page."""
    if not tip_dismiss(reader_id=reader_of(request).pk, tip_id=tip_id, now=timezone.now()):
        raise Http404(_("There is no such tip."))
    messages.success(request, _("The tip is hidden for {away_days} days.").format(away_days=AWAY_DAYS))
    return redirect(return_path(request))
