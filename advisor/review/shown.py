"""The votes on a suggestion as operators see them beside it."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from advisor.models import PanelVote
from suggestions.models import Suggestion


def votes_shown(suggestion: Suggestion) -> SafeString:
    """Every vote of the run that wrote it, round by round, with reasons and cost; empty without any.

    What reviewers wrote is escaped: a model wrote it, about text of strangers.
    """
    votes = PanelVote.objects.filter(run_id=suggestion.run_id, target_key=suggestion.target_key)
    rows = [
        (
            vote.round,
            vote.reviewer,
            vote.verdict,
            f"{vote.confidence:.0%}",
            vote.error_code,
            "; ".join(vote.issues) or vote.reasoning,
            "; ".join(vote.suggestions),
            vote.model,
            f"${vote.cost_usd:.6f}",
        )
        for vote in votes.order_by("round", "pk")
    ]
    if not rows:
        return SafeString("")
    names = ("Round", "Reviewer", "Vote", "Sure", "Missing", "Why", "To do", "Model", "Cost")
    head = format_html_join("", "<th scope='col'>{}</th>", ((name,) for name in names))
    cells = "".join(["<td>{}</td>"] * len(names))
    body = format_html_join("", f"<tr>{cells}</tr>", rows)
    return format_html(
        "<section><h2>Votes</h2><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></section>",
        head,
        body,
    )
