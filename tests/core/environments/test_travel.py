"""Releases on their way through three environments and one repository: every order of what may happen, up to a bound,
and at random beyond it. Ledgers arrive late, are lost and come back; releases fail and are rolled back.

The model keeps the truth (what really served where, for how long); `choose` sees only what ledgers say.
"""

from dataclasses import field, replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_bg.core.checks.release_choice import Here, choose
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import ClusterReport, EnvironmentInput, Former, KnownRelease, ProvenRelease
from gitops_bg.core.model.version import ReleaseId
from tests.core.worlds import EARLIER, NOW

NAMES = ("dev", "staging", "prod")
ASKED = {"staging": 1, "prod": 2}
"""How many ticks a release must have served in the environment before."""


def known(number: int) -> KnownRelease:
    return KnownRelease(ReleaseId(number, f"r1:{number:064x}", f"{number:040x}"), f"{number:040x}", number)


@dataclass(frozen=True)
class Place:
    """One environment: what serves, for how many ticks, what came in, and what was rolled back."""

    serves: int = 0
    ticks: int = 0
    entered: int = 0
    held: frozenset[int] = frozenset()
    truth: frozenset[tuple[int, int]] = frozenset()
    """What it has really proven: release and ticks."""
    told: frozenset[tuple[int, int]] = frozenset()
    """What its ledger in Git says."""
    readable: bool = True


@dataclass(frozen=True)
class Model:
    """The repository, and the three environments."""

    head: int = 1
    places: dict[str, Place] = field(default_factory=lambda: {name: Place() for name in NAMES})
    alive: frozenset[str] = frozenset(NAMES)

    def with_place(self, name: str, **changes: object) -> "Model":
        return replace(self, places={**self.places, name: replace(self.places[name], **changes)})


def before(name: str) -> str:
    return NAMES[NAMES.index(name) - 1]


def environment(model: Model, name: str) -> EnvironmentInput:
    former = before(name)
    place, own = model.places[former], model.places[name]
    proven = tuple(
        ProvenRelease(known(number).id, ticks, f"v1:{number}", EARLIER, NOW, known(number).commit)
        for number, ticks in sorted(place.told)
    )
    report = ClusterReport(f"{former}-1", proven, trouble="" if place.readable else "gone")
    return EnvironmentInput(
        name,
        formers=(Former(former, ASKED[name], (report,)),),
        known=tuple(map(known, range(1, model.head + 1))),
        entered=known(own.entered) if own.entered else None,
    )


def look(model: Model, name: str) -> Model:
    """The agent of an environment looks at Git, and does what follows."""
    if name not in model.alive:
        return model
    own = model.places[name]
    if name == "dev":
        return (
            model
            if model.head == own.serves
            else model.with_place(name, serves=model.head, ticks=0, entered=model.head)
        )
    held = tuple((known(number).id.digest, "rolled back") for number in own.held)
    chosen = choose(environment(model, name), Here(held)).release
    if chosen is None:
        return model
    number = chosen.id.number
    truth = model.places[before(name)].truth
    assert any(one == number and ticks >= ASKED[name] for one, ticks in truth), "E1: it never was proven before"
    assert number > own.entered, "an older release came in"
    assert number not in own.held, "a held release came in"
    return model.with_place(name, entered=number, serves=number, ticks=0)


def tick(model: Model) -> Model:
    """Time goes on: what serves under an agent that looks is proven for longer."""
    for name, place in model.places.items():
        if name in model.alive and place.serves:
            ticks = place.ticks + 1
            model = model.with_place(name, ticks=ticks, truth=place.truth | {(place.serves, ticks)})
    return model


def publish(model: Model, name: str) -> Model:
    place = model.places[name]
    return model.with_place(name, told=place.truth) if name in model.alive else model


def roll_back(model: Model, name: str) -> Model:
    place = model.places[name]
    if not place.serves:
        return model
    gone = frozenset(each for each in place.truth if each[0] != place.serves)
    return model.with_place(
        name, serves=0, ticks=0, held=place.held | {place.serves}, truth=place.truth, told=place.told & gone
    )


def push(model: Model) -> Model:
    return replace(model, head=model.head + 1)


EVENTS = {
    "push": push,
    "tick": tick,
    "staging fails": lambda model: model.with_place("staging", ticks=0),
    "prod goes back": lambda model: roll_back(model, "prod"),
    "staging dies": lambda model: replace(model, alive=model.alive - {"staging"}),
    "staging lives": lambda model: replace(model, alive=model.alive | {"staging"}),
    "the ledger of dev is lost": lambda model: model.with_place("dev", readable=False),
    "the ledger of dev is back": lambda model: model.with_place("dev", readable=True),
    **{f"{name} looks": (lambda model, name=name: look(model, name)) for name in NAMES},
    **{f"{name} writes": (lambda model, name=name: publish(model, name)) for name in NAMES},
}


def test_every_order_of_six_events_from_a_push_on() -> None:
    start = publish(tick(look(Model(), "dev")), "dev")
    some = [
        "push",
        "tick",
        "staging looks",
        "staging writes",
        "prod looks",
        "the ledger of dev is lost",
        "staging dies",
    ]
    for order in product(some, repeat=5):
        model = start
        for event in order:
            model = EVENTS[event](model)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(sorted(EVENTS)), max_size=60))
def test_any_order_of_many_events(order: list[str]) -> None:
    model = Model()
    for event in order:
        model = EVENTS[event](model)


def test_with_everybody_alive_a_push_reaches_production() -> None:
    model = Model()
    for _ in range(8):
        model = tick(model)
        for name in NAMES:
            model = publish(look(model, name), name)
    assert [model.places[name].serves for name in NAMES] == [1, 1, 1]


@pytest.mark.parametrize("dead", ["dev", "staging"])
def test_e4_behind_an_agent_that_is_dead_nothing_comes_in(dead: str) -> None:
    model = replace(Model(), alive=frozenset(NAMES) - {dead})
    for _ in range(20):
        model = tick(push(model))
        for name in NAMES:
            model = publish(look(model, name), name)
    behind = NAMES[NAMES.index(dead) + 1 :]
    assert [model.places[name].serves for name in behind] == [0] * len(behind)


def test_releases_that_come_faster_than_they_are_proven_do_not_starve_production() -> None:
    """kargo#5342: each push begins the time anew, so that what is proven never is."""
    model, reached = Model(), set[int]()
    for turn in range(40):
        model = push(model) if turn % 4 == 0 else model
        model = tick(model)
        for name in NAMES:
            model = publish(look(model, name), name)
        reached.add(model.places["prod"].serves)
    assert len(reached - {0}) >= 3
