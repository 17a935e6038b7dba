"""How like-rates and weights went over the last weeks."""

from datetime import UTC, datetime, time

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from digest.days import day_of
from digest.readers import reader_of
from digest.selectors import source_titles
from digest.selectors.trends import feedback_weeks
from digest.trends import trends_of, weeks_until
from ranking.selectors import config_effective, weights_course


@login_required
@require_safe
def trends(request: HttpRequest) -> HttpResponse:
    """The sources the reader rates most: useful or not, and how much of them is shown, week by week."""
    reader = reader_of(request)
    starts = weeks_until(day_of(timezone.now(), UTC))
    tallies = feedback_weeks(reader_id=reader.pk, starts=starts)
    since = datetime.combine(starts[0], time.min, UTC)
    found = trends_of(
        tallies,
        weights_course(reader_id=reader.pk, since=since),
        config_effective(reader_id=reader.pk).weights(),
        source_titles(keys={tally.source for tally in tallies}),
        starts,
    )
    return render(request, "digest/trends.html", {"trends": found, "weeks": len(starts)})
