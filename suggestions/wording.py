"""The words of suggestions in tables: headlines, answers, states, errors, stored sentences.

They are English. `suggestions.sentences` translates them when they are shown. Pure.
"""

from ranking.language import gettext_noop

# The effect of each answer on later suggestions.
SENTENCES = {
    "accept": gettext_noop(
        "You may be asked about more changes like this one, and we check in two weeks whether it helped."
    ),
    "edit": gettext_noop(
        "We will remember how large a step you like, and check in two weeks whether it helped."
    ),
    "reject": gettext_noop(
        "You will get fewer suggestions like this one, and we leave this one alone for a while."
    ),
    "reject_reason": gettext_noop(
        "You will get fewer suggestions like this one, and we leave this one alone for a while. "
        "Your reason is kept with it."
    ),
    "reject_step": gettext_noop(
        "We will leave this one alone for a while. "
        "After two steps that are too large we will offer smaller ones."
    ),
    "never": gettext_noop("We will not suggest this again."),
    "snooze": gettext_noop("We will ask again in a week; this counts neither for nor against it."),
    "expired": gettext_noop(
        "You did not answer, so we learn nothing from it, and leave it alone for a while."
    ),
    "superseded": gettext_noop("You changed this yourself, so we learn nothing from it."),
    "revert": gettext_noop(
        "We count this as a no to changes of this kind, and leave this one alone for a while."
    ),
    "undo": gettext_noop("That answer counts no more; the suggestion is open again."),
    "helped": gettext_noop("This worked: it stays a yes to changes of this kind."),
    "harmed": gettext_noop(
        "This did not work: it counts as a no to changes of this kind, and is not suggested again."
    ),
    "unclear": gettext_noop("This showed no clear difference, so we learn nothing from it."),
}
STATUSES = {
    "accepted": gettext_noop("You said yes"),
    "rejected": gettext_noop("You said no"),
    "snoozed": gettext_noop("You said later"),
    "superseded": gettext_noop("Replaced by your own change"),
    "expired": gettext_noop("Expired unanswered"),
    "withdrawn": gettext_noop("Withdrawn after your check"),
    "reverted": gettext_noop("You said yes, and undid it later"),
    "taken_back": gettext_noop("You said no, and took that back"),
    "undone": gettext_noop("You said yes, and undid it at once"),
    "never": gettext_noop("Never to be suggested again"),
    "never_taken_back": gettext_noop("Never to be suggested again, then undone"),
}
CHECK_DONE = {
    "surer": gettext_noop("So we are surer now."),
    "doubt": gettext_noop("So we are less sure now."),
    "same": gettext_noop("So we are as sure as before."),
    "withdrawn": gettext_noop("That does not fit this suggestion, so we withdraw it."),
}
CONFIDENCE = {
    "high": gettext_noop("We are fairly sure"),
    "medium": gettext_noop("We think so"),
    "low": gettext_noop("We are not sure"),
}
TOO_LARGE = gettext_noop("The step is too large")
# Reasons behind "No" for one tap: each means one code of `suggestions.reasons`.
WHY_NOT = (
    gettext_noop("It is fine as it is"),
    gettext_noop("I am not interested in this"),
    TOO_LARGE,
    gettext_noop("Too soon to say"),
    gettext_noop("I am not convinced"),
)
# Stored as a note of a suggestion that came back as a copy, by the answer that was undone: pages recognise
# the copy by this text.
BROUGHT_BACK = {
    "accepted": gettext_noop("You said yes and took that back at once."),
    "rejected": gettext_noop("You said no and took that back."),
}
CAME_BACK = gettext_noop("the same suggestion, after you undid your first answer")
NOT_IN_FORCE = gettext_noop("No longer in force: your settings are as they were before.")
# The one word for taking anything back, whatever the API calls it.
UNDO = gettext_noop("Undo")
EFFECTS = {
    "helped": gettext_noop("Checked two weeks later: it helped."),
    "harmed": gettext_noop("Checked two weeks later: it made your digest worse."),
    "unclear": gettext_noop("Checked two weeks later: no clear difference."),
}
DONE = {
    "accept": gettext_noop("✓ Applied"),
    "reject": gettext_noop("✗ You said no"),
    "snooze": gettext_noop("Later: it comes back in a week"),
    "never": gettext_noop("✗ Never to be suggested again"),
    "revert": gettext_noop("Undone"),
    "undo": gettext_noop("Undone"),
}
ERRORS = {
    "already_resolved": gettext_noop("Already answered"),
    "invalid_weight": gettext_noop("Couldn’t apply this change"),
    "missing_target_key": gettext_noop("This suggestion is no longer valid"),
    "not_found": gettext_noop("Suggestion not found"),
    "config_changed": gettext_noop("Your settings changed meanwhile, so nothing was applied"),
    "too_late": gettext_noop("That was too long ago to undo"),
    "not_logged_in": gettext_noop("You are signed out, so nothing was done"),
    "csrf_failed": gettext_noop("You are signed out, so nothing was done"),
}
# The end of a run without suggestions, if code knows no closer reason.
NO_CHANGE = gettext_noop("Nothing was found that your ratings support clearly enough.")
MODEL_ADDS = gettext_noop("The model adds: “{note}”")
# A run's finding that its reader does not see: held in review, or stopped by a rule with one of these codes.
# Stored as the run's reason, so without names: only plain words are shown again.
CHANGE_IN_REVIEW = gettext_noop("A change was found. An operator looks at it before you are asked.")
CHANGE_STOPPED = gettext_noop("A change was found, but it could not be proposed.")
_REFUSED = gettext_noop("A change was found, but the rules refused it, so it was not proposed.")
_NO_CHANGE_LEFT = gettext_noop("A change was found, but your settings are like that already.")
_NOT_BORNE_OUT = gettext_noop(
    "A change was found, but the ratings cited for it do not bear it out, so it was not proposed."
)
_NOT_REVIEWED = gettext_noop(
    "Your ratings point to a change, but a second look found them too few or too mixed. More can settle it."
)
UNSEEN = gettext_noop(
    "Your ratings support a change, but you would have noticed nothing of it on last week’s pages, so "
    "it was not proposed."
)
# By the codes of the rules, of the kinds of change and of the reviewers.
CHANGES_STOPPED = {
    **dict.fromkeys(
        (
            "unknown_type",
            "field_mismatch",
            "invalid_topic",
            "invalid_weight",
            "invalid_word",
            "invalid_rule",
            "invalid_level",
            "invalid_name",
            "names_late",
            "source_not_in_history",
            "wrong_direction",
            "run_cap",
            "question_unknown",
        ),
        _REFUSED,
    ),
    **dict.fromkeys(
        ("topic_already_present", "topic_not_present", "word_already_muted", "no_change"), _NO_CHANGE_LEFT
    ),
    "kind_off": gettext_noop("A change was found, but this installation does not suggest its kind."),
    "type_declined": gettext_noop(
        "A change was found, but you said no to every change of its kind so far, so it was not proposed."
    ),
    "pinned": gettext_noop(
        "A change was found, but you keep that source or topic as it is, so it was not proposed."
    ),
    "duplicate_pending": gettext_noop(
        "A change was found, but a suggestion about the same source or topic waits for you already."
    ),
    "asked_already": gettext_noop(
        "A change was found, but another suggestion asks about the same articles, so it was not proposed."
    ),
    "on_cooldown": gettext_noop(
        "A change was found, but its source or topic was suggested or decided lately, so it was not proposed."
    ),
    "resting": gettext_noop(
        "A change was found, but its source or topic was suggested or decided lately, waits for you, "
        "or is to stay as it is."
    ),
    "unlikely": gettext_noop("A change was found, but it is likelier to harm than to help."),
    **dict.fromkeys(
        (
            "evidence_not_grounded",
            "evidence_off_target",
            "evidence_wrong_polarity",
            "name_unsaid",
            "name_disliked",
        ),
        _NOT_BORNE_OUT,
    ),
    "insufficient_evidence": gettext_noop(
        "A change was found, but too few of your ratings speak for it, so it was not proposed."
    ),
    "too_few_sources": gettext_noop(
        "A change was found, but all ratings that speak for it are of one source, so it was not proposed."
    ),
    "evidence_contradicts": gettext_noop(
        "A change was found, but your ratings as a whole speak against it, so it was not proposed."
    ),
    "weak_evidence": gettext_noop(
        "A change was found, but your ratings may speak for it by chance, so it was not proposed."
    ),
    "moves_nothing": UNSEEN,
    "unsafe_reason": gettext_noop(
        "A change was found, but the reason given for it could not be shown to you, so it was not proposed."
    ),
    **dict.fromkeys(("review_improve", "review_refused", "reflector_refused"), _NOT_REVIEWED),
}
# Stored before.
_MONEY_SPENT = gettext_noop(
    "A change was found, but the money for this run was spent, so it was not proposed."
)
CHANGES_FOUND = frozenset({CHANGE_IN_REVIEW, CHANGE_STOPPED, _MONEY_SPENT, *CHANGES_STOPPED.values()})
ERROR_OTHER = gettext_noop("Something went wrong. Please try again.")
# With the number of pending suggestions for {}.
ACCEPT_ALL = gettext_noop("Accept all {}")
ALL_DONE = gettext_noop("All done! Your preferences have been updated.")
NOTHING_CHANGED = gettext_noop("All done! Your preferences stay as they are.")


# Sentences that are stored with a suggestion, in English.
MEASURED = (
    gettext_noop("Since then you rated {thumbs} articles and liked {likes}."),
    gettext_noop("Your earlier ratings put those you liked higher, more often than chance would."),
    gettext_noop(
        "Your earlier ratings tell them from the others no better than chance may; you can go back."
    ),
    gettext_noop("Your earlier ratings put those you liked lower; you can go back."),
    gettext_noop(
        "Since then you liked {likes} of {ratings} articles from {label}, "
        "against {else_likes} of {else_ratings} elsewhere."
    ),
    gettext_noop(
        "Since then you liked {likes} of {ratings} articles about {label}, "
        "against {else_likes} of {else_ratings} elsewhere."
    ),
    gettext_noop(
        "Before you hid it you liked {likes} of {ratings} articles with “{label}” that were not shown as "
        "evidence, against {else_likes} of {else_ratings} elsewhere since."
    ),
    gettext_noop("They took {share} of your digest instead of {before}."),
)
