"""What an app was called before, and is called now, where main says one step of it only (docs/decisions/0070)."""

from dataclasses import dataclass, field, replace

import pytest

from gitops_bg.agent.desired.lineage import Followed
from gitops_bg.agent.desired.reading import AppEntry, Reading
from gitops_bg.agent.reconcile.facts import former_names
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import LastRead, Record
from gitops_bg.core.model.spec import Adoption, AppSpec, Strategy
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.alike import RecordUnreadable
from gitops_bg.repo.read.app_index import Hidden
from gitops_bg.spec.app.load import AppConfig


def app(name: str, namespace: str = "shop") -> AppKey:
    return AppKey(namespace, name)


@dataclass
class Records:
    """The live apps, each with what it was to be called; None: its record cannot be read."""

    moved: dict[str, str | None]
    elsewhere: dict[str, str] = field(default_factory=dict)

    def apps(self, namespace: str) -> list[AppKey]:
        return [app(name, namespace) for name in (self.moved if namespace == "shop" else self.elsewhere)]

    def record(self, of: AppKey) -> Record:
        said = self.moved[of.name] if of.namespace == "shop" else self.elsewhere[of.name]
        if said is None:
            raise RecordUnreadable("it is broken")
        return Record(last_read=LastRead(moved_to=said))


def config(adopt: Adoption | None) -> AppConfig:
    return AppConfig(app("store"), AppSpec(app("store"), Strategy("web"), adopt=adopt), {}, None, None)


MIDDLE = Adoption(app="shp")
FORMER = {
    "one that never was anything else": (None, Records({"web": "store"}), ()),
    "one that was adopted from a Deployment": (Adoption("web"), Records({"web": "store"}), ()),
    "one that was named once": (MIDDLE, Records({"shp": "", "store": ""}), ()),
    "one that was named twice": (MIDDLE, Records({"shp": "store", "web": "shp", "store": ""}), ("web",)),
    "one whose second name came so fast that the first one never ran": (MIDDLE, Records({"web": "shp"}), ("web",)),
    "one of which that is known already": (MIDDLE, Records({"web": "store"}), ("web",)),
    "one that was named three times": (MIDDLE, Records({"a": "web", "web": "shp"}), ("web", "a")),
    "one that was named in a circle": (MIDDLE, Records({"shp": "web", "web": "shp"}), ("web",)),
    "one beside others": (MIDDLE, Records({"cart": "basket", "basket": "", "pay": ""}), ()),
    "one whose name another namespace has": (MIDDLE, Records({}, {"web": "shp"}), ()),
    "one whose former record cannot be read": (MIDDLE, Records({"web": None}), ()),
}


@pytest.mark.parametrize("name", FORMER)
def test_the_former_names_of(name):
    adopt, records, names = FORMER[name]
    assert former_names(records, Reading(), config(adopt)) == names


def test_an_app_with_a_folder_is_nobody_elses_former_name():
    reading = Reading(entries={app("web"): object()})
    assert former_names(Records({"web": "shp"}), reading, config(MIDDLE)) == ()


READ, HIDDEN = Followed("c" * 40), Hidden({"apps/shop": Problem("apps/shop", "is a symbolic link")})
LEFT = {
    "it has no folder": (Reading(READ), True),
    "it has one": (Reading(READ, {app("web"): object()}), False),
    "its name in another namespace has one": (Reading(READ, {app("web", "pay"): object()}), True),
    "main was not read yet": (Reading(), False),
    "main was rewritten, and none of it counts": (Reading(replace(READ, lost="d" * 40)), False),
    "its folder may be one that cannot be read": (Reading(READ, hidden=HIDDEN), False),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_former_app_has_left_main_only_for_sure(name):
    reading, left = LEFT[name]
    assert reading.has_left(app("web")) is left


NOW = {
    "what main says": ("", {"web": "shop"}, "shop"),
    "what main says, whatever it said before": ("shp", {"web": "shop", "shp": "store"}, "shop"),
    "what became of the name that main said before": ("shp", {"shp": "shop"}, "shop"),
    "nothing, where main says nothing": ("", {"cart": "basket"}, ""),
    "nothing, where main says no more": ("shp", {}, ""),
}


@pytest.mark.parametrize("name", NOW)
def test_an_app_without_a_folder_is_called(name):
    remembered, moved, called = NOW[name]
    reading = Reading(moved={app(former): new for former, new in moved.items()})
    assert reading.moved_to(app("web"), remembered) == called


def entry(name: str, *services: str) -> AppEntry:
    """An app in main with these active Services."""
    strategy = Strategy(services[0], more_active_services=services[1:]) if services else Strategy("none")
    spec = AppSpec(app(name), strategy) if services else None
    return AppEntry(AppConfig(app(name), spec, {}, None, None), has_primary=True, has_target=True)


BACK = {
    "the name before, which is back with its Service": (Adoption(app="web"), entry("web", "live"), "web"),
    "the name before, which is back with one of its Services": (Adoption(app="web"), entry("web", "x", "more"), "web"),
    "nothing, where the name is another app's by now": (Adoption(app="web"), entry("web", "other"), ""),
    "nothing, where its file cannot be read": (Adoption(app="web"), entry("web"), ""),
    "nothing, where the name is not back": (Adoption(app="web"), entry("cart", "live"), ""),
    "nothing, where it was adopted from a Deployment": (Adoption("web"), entry("web", "live"), ""),
    "nothing, where it never had another name": (None, entry("web", "live"), ""),
}


@pytest.mark.parametrize("name", BACK)
def test_an_app_whose_folder_is_gone_after_a_move_is_called(name):
    adopt, back, called = BACK[name]
    spec = AppSpec(app("shop"), Strategy("live", more_active_services=("more",)), adopt=adopt)
    reading = Reading(entries={back.config.app: back})
    assert reading.moved_to(app("shop"), "", spec) == called
    assert replace(reading, moved={app("shop"): "store"}).moved_to(app("shop"), "", spec) == "store"
