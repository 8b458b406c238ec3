"""Promotion, rollback and deletion of a group's versions: the conformance table by its numbers, the whole end state.

The numbers are stable names, with gaps; ``want`` marks where Netcracker's control plane errs
(versions-and-routes.md §10).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import reduce

import pytest

from gitops_bg.core.groups.model import (
    GroupState,
    PromotionRejected,
    Rejection,
    RouteMatch,
    VersionStage,
    add_service,
    delete,
    promote,
    remove_service,
    rollback,
)
from gitops_bg.core.groups.routing import Prohibition, prohibitions
from gitops_bg.core.model.auxiliary import PathKind
from tests.core.groups.notation import NOW, group, parts_of, registry_of, versions_of

LATER = NOW + timedelta(hours=1)
Step = Callable[[GroupState], GroupState]

FIX1 = "svc@v1 svc@v2 svc@v3 authz@v1 authz@v2 authz@v3 /t->svc@v1 /t->svc@v2 /t->svc@v3"
SIX = "a@v3 a@v4 a@v5 b@v4 c@v4 d@v5 /a->a@v3 /a->a@v4 /a->a@v5 /b->b@v4 /c->c@v4 /d->d@v5"
ROWS = "svc@v1 svc@v2 svc@v3 authz@v1 authz@v2 authz@v3"


def promotes(version: str, keeps: int = 1) -> Step:
    return lambda state: promote(state, version, keeps, LATER)


def rolls_back(state: GroupState) -> GroupState:
    return rollback(state, LATER)


def deletes(version: str) -> Step:
    return lambda state: delete(state, version)


def registers(service: str, version: str, *paths: str, pods: bool = True) -> Step:
    return lambda state: add_service(state, service, version, map(RouteMatch, paths), LATER, pods=pods)


def unregisters(service: str, version: str) -> Step:
    return lambda state: remove_service(state, service, version)


def of(version: str, parts: str) -> str:
    """Some parts without those of one version."""
    return " ".join(each for each in parts.split() if not each.endswith(f"@{version}"))


TABLE: dict[str, tuple[GroupState, list[Step], str, str, str]] = {
    "1: the other candidates go, the active one is kept as legacy": (
        group("v1A v2C v3C", FIX1, ROWS),
        [promotes("v2", 0)],
        "v1L v2A",
        of("v3", FIX1),
        of("v3", ROWS),
    ),
    "2: the legacy one is archived, with its data": (
        group("v1L v2A v3C", FIX1, ROWS),
        [promotes("v3")],
        "v1R v2L v3A",
        FIX1,
        ROWS,
    ),
    "3: what only the former active one has is prohibited in neither": (
        group("v1A v2C v3C", f"{FIX1} /u->svc@v1"),
        [promotes("v2", 3)],
        "v1L v2A",
        f"{of('v3', FIX1)} /u->svc@v1",
        "",
    ),
    "4: and in the candidate that it is after a rollback": (
        group("v1A v2C v3C", f"{FIX1} /u->svc@v1"),
        [promotes("v2", 3), rolls_back],
        "v1A v2C",
        f"{of('v3', FIX1)} /u->svc@v1 /u->404@v2",
        "",
    ),
    "7: what the new version does not bring serves on in it": (
        group("v1A v2C v3C", "svc@v1 authz@v1 /t->svc@v1", "svc@v1"),
        [promotes("v2", 3)],
        "v1L v2A",
        "svc@v2(v1) authz@v2(v1) /t->svc@v2(v1)",
        "svc@v2(v1)",
    ),
    "8: and goes back": (
        group("v1A v2C v3C", "svc@v1 authz@v1 /t->svc@v1", "svc@v1"),
        [promotes("v2", 3), rolls_back],
        "v1A v2C",
        "svc@v1 authz@v1 /t->svc@v1",
        "svc@v1",
    ),
    "9: a candidate is deleted with all it has": (
        group("v1L v2A v3C", FIX1, ROWS),
        [deletes("v3")],
        "v1L v2A",
        of("v3", FIX1),
        of("v3", ROWS),
    ),
    "14: pods that serve in a later version are found by the one that they were deployed in": (
        group("v1A v2C", "s2@v2 /b->s2@v2"),
        [
            promotes("v2"),
            registers("s1", "v2", "/a"),
            registers("s2", "v3", "/b"),
            promotes("v3"),
            registers("s1", "v2", "/a"),
        ],
        "v1R v2L v3A",
        "s1@v3(v2) /a->s1@v3(v2) s2@v2 /b->s2@v2 s2@v3 /b->s2@v3",
        "s1@v3(v2) s2@v3",
    ),
    "16: what passed may say again what it has, and a version that is not named is the active one": (
        group("v1L v2A", "s@v1 s@v2 /a->s@v1 /a->s@v2 /b->s@v2"),
        [registers("s", "v1", "/a"), registers("s", "", "/new")],
        "v1L v2A",
        "s@v1 s@v2 /a->s@v1 /a->s@v2 /b->s@v2 /new->s@v2 /b->404@v1 /new->404@v1",
        "s@v1 s@v2",
    ),
    "17: a route that outlives its version is registered again, and no second time": (
        group("v1A v2C", "s1@v1 s2@v1 s2@v2 /a->s1@v1 /b->s2@v1 /b->s2@v2"),
        [promotes("v2"), deletes("v1"), registers("s1", "v2", "/a")],
        "v2A",
        "s1@v2(v1) s2@v2 /a->s1@v2(v1) /b->s2@v2",
        "s1@v2(v1)",
    ),
    "19: a candidate that leaves a route out has none": (
        group("v1A", "t@v1 /h->t@v1 /t->t@v1 /p->t@v1"),
        [registers("t", "v2", "/h", "/t2", "/p")],
        "v1A v2C",
        "t@v1 /h->t@v1 /t->t@v1 /p->t@v1 t@v2 /h->t@v2 /t2->t@v2 /p->t@v2 /t->404@v2",
        "t@v2",
    ),
    "20: until it brings it": (
        group("v1A", "t@v1 /h->t@v1 /t->t@v1 /p->t@v1"),
        [registers("t", "v2", "/h", "/t2", "/p"), registers("t", "v2", "/t")],
        "v1A v2C",
        "t@v1 /h->t@v1 /t->t@v1 /p->t@v1 t@v2 /h->t@v2 /t2->t@v2 /p->t@v2 /t->t@v2",
        "t@v2",
    ),
    "21: a candidate with a new service alone prohibits nothing": (
        group("v1A", "t@v1 /t->t@v1"),
        [registers("n", "v2", "/new")],
        "v1A v2C",
        "t@v1 /t->t@v1 n@v2 /new->n@v2",
        "n@v2",
    ),
    "26: there and back, as often as one likes": (
        group("v1A v2C", "a@v1 a@v2 /a->a@v1 /a->a@v2"),
        [promotes("v2"), rolls_back] * 5 + [promotes("v2")],
        "v1L v2A",
        "a@v1 a@v2 /a->a@v1 /a->a@v2",
        "",
    ),
    "28, want: an archive of size 0 keeps nothing": (
        group("v1L v2A v3C", FIX1),
        [promotes("v3", 0)],
        "v2L v3A",
        of("v1", FIX1),
        "",
    ),
    "29: what only another candidate has goes with it": (
        group("v1A v2C v3C", "a@v1 a@v2 x@v3 /x->x@v3"),
        [promotes("v2")],
        "v1L v2A",
        "a@v1 a@v2",
        "",
    ),
    "30: a rollback deletes all candidates": (
        group("v1L v2A v3C v4C", "a@v1 a@v2 a@v3 a@v4"),
        [rolls_back],
        "v1A v2C",
        "a@v1 a@v2",
        "",
    ),
    "32: a service without pods is handed over": (
        group("v1A v2C", registry="job@v1"),
        [promotes("v2")],
        "v1L v2A",
        "",
        "job@v2(v1)",
    ),
    "32, then: and handed back": (
        group("v1A v2C", registry="job@v1"),
        [promotes("v2"), rolls_back],
        "v1A v2C",
        "",
        "job@v1",
    ),
    "36: legacy and archived ones may be deleted": (
        group("v1R v2L v3A", FIX1),
        [deletes("v1"), deletes("v2")],
        "v3A",
        of("v1", of("v2", FIX1)),
        "",
    ),
    "38: of six one is deleted, with the service that only it had": (
        group("v1R v2R v3L v4A v5C v6C", f"{SIX} a@v6 b@v6 c@v6 e@v6 /a->a@v6 /b->b@v6 /c->c@v6 /e->e@v6"),
        [deletes("v6")],
        "v1R v2R v3L v4A v5C",
        f"{SIX} /b->404@v3 /c->404@v3",
        "",
    ),
    "39: a candidate begins with the first word of it": (
        group("v1A"),
        [registers("ms1", "v2", pods=False), registers("ms2", "v2", pods=False), unregisters("ms1", "v2")],
        "v1A v2C",
        "",
        "ms2@v2",
    ),
    "39, then: and ends with the last": (
        group("v1A"),
        [registers("ms1", "v2", pods=False), unregisters("ms1", "v2")],
        "v1A",
        "",
        "",
    ),
    "41: a route of each version, and after the promotion": (
        group("v1A v2C", "ts@v1 /c->ts@v1 /u1->ts@v1 ts@v2 /c->ts@v2 /u2->ts@v2"),
        [promotes("v2")],
        "v1L v2A",
        "ts@v1 /c->ts@v1 /u1->ts@v1 ts@v2 /c->ts@v2 /u2->ts@v2 /u2->404@v1",
        "",
    ),
    "41, then: after the rollback as before": (
        group("v1A v2C", "ts@v1 /c->ts@v1 /u1->ts@v1 ts@v2 /c->ts@v2 /u2->ts@v2"),
        [promotes("v2"), rolls_back],
        "v1A v2C",
        "ts@v1 /c->ts@v1 /u1->ts@v1 ts@v2 /c->ts@v2 /u2->ts@v2 /u1->404@v2",
        "",
    ),
    "46: versions are in the order of their numbers": (
        group("v1A"),
        [registers("a", name) for name in ("v12", "v11", "v10", "v2")],
        "v1A v2C v10C v11C v12C",
        "a@v2 a@v10 a@v11 a@v12",
        "a@v2 a@v10 a@v11 a@v12",
    ),
    "47, want: a route that the active one gets later is prohibited in a candidate": (
        group("v1A v2C", "a@v1 a@v2 /a->a@v1 /a->a@v2"),
        [registers("a", "v1", "/a-new")],
        "v1A v2C",
        "a@v1 a@v2 /a->a@v1 /a->a@v2 /a-new->a@v1 /a-new->404@v2",
        "a@v1",
    ),
    "what was born in the version rolled back stays in it": (
        group("v1A v2C", "a@v1 a@v2 n@v2 /n->n@v2"),
        [promotes("v2"), rolls_back],
        "v1A v2C",
        "a@v1 a@v2 n@v2 /n->n@v2",
        "",
    ),
    "and what was moved comes back from beside it": (
        group("v1A v2C", "a@v1 /a->a@v1 n@v2"),
        [promotes("v2"), registers("a", "v2", "/more"), rolls_back],
        "v1A v2C",
        "a@v1 /a->a@v1 /more->a@v1 n@v2",
        "a@v1",
    ),
    "a legacy version never has what is younger, whatever the service": (
        group("v1A v2C", "a@v1 a@v2 n@v2 /n->n@v2"),
        [promotes("v2")],
        "v1L v2A",
        "a@v1 a@v2 n@v2 /n->n@v2 /n->404@v1",
        "",
    ),
    "a route that the new version has for another service is not taken from it": (
        group("v1A v2C", "a@v1 b@v2 /x->a@v1 /x->b@v2"),
        [promotes("v2")],
        "v1L v2A",
        "a@v2(v1) b@v2 /x->a@v1 /x->b@v2",
        "",
    ),
    "the first version of all is active": (GroupState(), [registers("a", "v1", "/a")], "v1A", "a@v1 /a->a@v1", "a@v1"),
    "the oldest archived ones go": (
        group("v1R v2R v9R v10L v11A v12C"),
        [promotes("v12", 2)],
        "v9R v10R v11L v12A",
        "",
        "",
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_whole_end_state(name: str) -> None:
    before, steps, versions, parts, registry = TABLE[name]
    state = reduce(lambda reached, step: step(reached), steps, before)
    assert versions_of(state) == versions
    assert parts_of(state) == set(parts.split())
    assert registry_of(state) == set(registry.split())


THREE = group("v1L v2A v3C", FIX1)
REJECTED: dict[str, tuple[GroupState, list[Step], Step, Rejection]] = {
    "15: a new service of a version that has passed": (THREE, [], registers("new", "v1", "/n"), Rejection.PASSED),
    "16: a new route of one": (THREE, [], registers("svc", "v1", "/new"), Rejection.PASSED),
    "16: a route that the active one has": (
        group("v1L v2A", "s@v1 s@v2 /b->s@v2"),
        [],
        registers("s", "v1", "/b"),
        Rejection.PASSED,
    ),
    "24: a second rollback": (group("v1A v2C"), [promotes("v2"), rolls_back], rolls_back, Rejection.NO_LEGACY),
    "25: an archived version does not come back": (
        group("v1L v2A v3C"),
        [promotes("v3"), rolls_back],
        rolls_back,
        Rejection.NO_LEGACY,
    ),
    "28, want: an archive of negative size": (THREE, [], promotes("v3", -1), Rejection.WRONG_SIZE),
    "35: the active one": (THREE, [], promotes("v2"), Rejection.NOT_A_CANDIDATE),
    "35: the legacy one": (THREE, [], promotes("v1"), Rejection.NOT_A_CANDIDATE),
    "35: an archived one": (group("v1R v2A"), [], promotes("v1"), Rejection.NOT_A_CANDIDATE),
    "36: one that is not there": (THREE, [], promotes("v4012"), Rejection.NO_SUCH_VERSION),
    "36: deleted twice": (THREE, [deletes("v3")], deletes("v3"), Rejection.NO_SUCH_VERSION),
    "36: the active one deleted": (THREE, [], deletes("v2"), Rejection.IS_ACTIVE),
    "37: a rollback without a legacy version": (group("v1R v2R v4A v5C v6C"), [], rolls_back, Rejection.NO_LEGACY),
    "44, want: the second of two promotions at once": (
        group("v1A v2C v3C"),
        [promotes("v2")],
        promotes("v3"),
        Rejection.NO_SUCH_VERSION,
    ),
    "want (X6): a rollback without an active version": (group("v1L"), [], rolls_back, Rejection.NO_ACTIVE),
    "a promotion without an active version": (group("v1C"), [], promotes("v1"), Rejection.NO_ACTIVE),
    "want (X12): a new version below the active one": (group("v3A"), [], registers("a", "v2"), Rejection.PASSED),
    "no version, and none is active": (GroupState(), [], registers("a", ""), Rejection.NO_ACTIVE),
}


@pytest.mark.parametrize("name", REJECTED)
def test_what_is_rejected_changes_nothing(name: str) -> None:
    before, steps, last, why = REJECTED[name]
    state = reduce(lambda reached, step: step(reached), steps, before)
    shown = (versions_of(state), parts_of(state), registry_of(state))
    with pytest.raises(PromotionRejected) as caught:
        last(state)
    assert caught.value.why is why
    assert (versions_of(state), parts_of(state), registry_of(state)) == shown


def test_only_versions_that_change_their_stage_have_a_new_time() -> None:
    state = promote(group("v1R v2L v3A v4C"), "v4", 2, LATER)
    assert [each.changed_at for each in state.versions] == [NOW, LATER, LATER, LATER]
    assert state.stage("v4") is VersionStage.ACTIVE


def test_a_match_is_more_than_its_path() -> None:
    """Want (X8): a prohibition compares host, headers and kind, too."""
    other = RouteMatch("/t", PathKind.EXACT)
    state = add_service(group("v1A v2C", "t@v1 t@v2 /t->t@v2"), "t", "v1", [RouteMatch("/t"), other], NOW)
    assert prohibitions(state) == {Prohibition("v2", other)}
