"""Groups over random histories: what holds of every state, and prohibitions as they would be kept step by step (B6)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_bg.core.groups.model import (
    GroupState,
    PromotionRejected,
    RouteMatch,
    VersionStage,
    add_service,
    promote,
    rollback,
)
from gitops_bg.core.groups.routing import Prohibition, prohibitions
from tests.core.groups.notation import NOW

MANY = int(os.environ.get("HISTORIES", "50")) * 2
"""How many random histories each promise is tried on; `make histories` takes more, as CI does."""
SERVICES = ("a", "b", "c")
PATHS = ("/1", "/2", "/3")
BRINGS = st.dictionaries(st.sampled_from(SERVICES), st.sets(st.sampled_from(PATHS)), min_size=1)
"""What a version brings: of each service some of its paths."""
MOVES = st.one_of(
    BRINGS.map(lambda brings: ("candidate", brings)),
    st.tuples(st.just("promote"), st.integers(0, 3)),
    st.just(("rollback", 0)),
)
HISTORIES = st.tuples(BRINGS, st.lists(MOVES, max_size=12))
ACTIVE, CANDIDATE, LEGACY = VersionStage.ACTIVE, VersionStage.CANDIDATE, VersionStage.LEGACY


def matches(service: str, paths: Iterable[str]) -> list[RouteMatch]:
    return [RouteMatch(f"/{service}{path}") for path in sorted(paths)]


class History:
    """A group, and beside it the prohibitions as Netcracker's control plane keeps them, one event after the other."""

    def __init__(self, first: dict[str, set[str]]) -> None:
        self.state = GroupState()
        self.kept: set[Prohibition] = set()
        self.number = 0
        self.candidate(first)

    def candidate(self, brings: dict[str, set[str]]) -> None:
        """A new version; the first one is active."""
        self.number += 1
        version = f"v{self.number}"
        for service, paths in sorted(brings.items()):
            self.state = add_service(self.state, service, version, matches(service, paths), NOW)
        if self.state.stage(version) is CANDIDATE:
            active = {(route.service, route.match) for route in self.of(self.state.only(ACTIVE))}
            own = {route.match for route in self.of(version)}
            self.kept |= {Prohibition(version, match) for service, match in active if service in brings} - {
                Prohibition(version, match) for match in own
            }

    def of(self, version: str) -> list:
        return [route for route in self.state.routes if route.version == version]

    def promote(self, which: int) -> None:
        candidates = self.state.at(CANDIDATE)
        if not candidates:
            return
        to = candidates[which % len(candidates)]
        self.moved(self.state.only(ACTIVE), to, lambda: promote(self.state, to, 1, NOW + timedelta(hours=1)))

    def rollback(self, _: int) -> None:
        try:
            back = rollback(self.state, NOW + timedelta(hours=1))
        except PromotionRejected:
            return
        self.moved(self.state.only(ACTIVE), self.state.only(LEGACY), lambda: back)

    def moved(self, source: str, target: str, change) -> None:
        """B4.4 to B4.6: the target's are deleted, and what only it has is prohibited in the source."""
        had = {route.match for route in self.of(source)}
        only = {route.match for route in self.of(target)} - had
        self.state = change()
        there = {each.name for each in self.state.versions if each.stage in (CANDIDATE, LEGACY)}
        self.kept |= {Prohibition(source, match) for match in only}
        self.kept = {each for each in self.kept if each.version != target and each.version in there}

    def run(self, moves: list) -> None:
        for name, what in moves:
            getattr(self, name)(what)


@settings(max_examples=MANY)
@given(HISTORIES)
def test_prohibitions_are_those_that_were_kept_step_by_step(history) -> None:
    first, moves = history
    world = History(first)
    for move in moves:
        world.run([move])
        assert prohibitions(world.state) == world.kept


@settings(max_examples=MANY)
@given(HISTORIES)
def test_what_holds_of_every_state(history) -> None:
    first, moves = history
    world = History(first)
    for move in moves:
        world.run([move])
        state = world.state
        names = [each.name for each in state.versions]
        assert len(state.at(ACTIVE)) == 1
        assert len(state.at(LEGACY)) <= 1
        assert len(state.at(VersionStage.ARCHIVED)) <= 1
        assert names == sorted(set(names), key=lambda name: int(name[1:]))
        for parts in (state.endpoints, state.registrations, state.routes):
            assert {each.version for each in parts} <= set(names)
            assert len(set(parts)) == len(parts)
        places = [(each.service, each.version) for each in state.endpoints]
        assert len(set(places)) == len(places), "a service serves once in a version"
        assert {each.version for each in prohibitions(state)} <= set(state.at(CANDIDATE, LEGACY))


@settings(max_examples=MANY)
@given(HISTORIES)
def test_a_rollback_undoes_a_promotion_but_for_other_candidates_and_the_archive(history) -> None:
    first, moves = history
    world = History(first)
    world.run(moves)
    candidates = world.state.at(CANDIDATE)
    if not candidates:
        return
    before = world.state
    after = rollback(promote(before, candidates[0], 1, NOW), NOW)
    kept = {before.only(ACTIVE), candidates[0]}
    for there, back in zip(
        (before.endpoints, before.registrations, before.routes),
        (after.endpoints, after.registrations, after.routes),
        strict=True,
    ):
        assert {each for each in there if each.version in kept} == {each for each in back if each.version in kept}
