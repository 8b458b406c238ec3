"""Which repairs are said by themselves while an object is fought over."""

from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.agent.reconcile.contests import Contests
from gitops_bg.core.model.drift import Change, ChangeSetEntry, Drift, FieldChange
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SUBJECTS = (AppKey("shop", "web"), GroupKey("shop", "checkout"))


def changed(field: str, by: str) -> list[ChangeSetEntry]:
    """The write that repairs what somebody changed of a live Service."""
    drift = Drift((FieldChange(field, f"{field}: a → b"),), by)
    return [ChangeSetEntry("Service", "shop", "web", Change.CONFIGURED, drift)]


LABEL = changed('metadata.labels["a"]', "argocd-controller")
SELECTOR = changed("spec.selector", "kubectl-edit")
SAID = {
    "a fight": ([LABEL] * 7, [True, True, True, True, False, False, False]),
    "another field of the same writer": ([*[LABEL] * 5, changed("spec.type", "argocd-controller")], [False]),
    "a second writer, and the first again": ([*[LABEL] * 5, SELECTOR, LABEL, LABEL], [True, True, False]),
    "a second writer that goes on": ([*[LABEL] * 5, SELECTOR, SELECTOR], [True, False]),
    "a writer that nobody knows": ([*[LABEL] * 5, changed("spec.selector", "")], [True]),
}


@pytest.mark.parametrize("subject", SUBJECTS, ids=["app", "group"])
@pytest.mark.parametrize(("repairs", "said"), SAID.values(), ids=SAID)
def test_a_repair_in_a_fight_is_said_only_where_somebody_else_made_the_change(
    subject: AppOrGroup, repairs: list[list[ChangeSetEntry]], said: list[bool]
) -> None:
    contests, heard = Contests(), list[bool]()
    for second, entries in enumerate(repairs):
        contests.count(subject, entries, NOON + timedelta(seconds=second))
        heard.append(not contests.repeats(subject, entries))
    assert heard[-len(said) :] == said
