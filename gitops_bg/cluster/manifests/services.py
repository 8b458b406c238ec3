"""The Services of an app: their names, and the manifest for a digest. Pure.

The names come from Git, and, where ``app.yaml`` is broken or missing, from the live BlueGreenDeployment: the last good
state keeps serving (DESIGN §10).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.manifests.render import service_manifest
from gitops_bg.cluster.observation.states import AppState, ServiceState
from gitops_bg.core import names
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.groups.model import version_number
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig


@dataclass(frozen=True, slots=True)
class ServiceNames:
    """The names of an app's Services; None where there is no such Service, or its name is unknown."""

    active: str | None = None
    preview: str | None = None
    more_active: tuple[str, ...] = ()

    def all_active(self) -> tuple[str, ...]:
        """The names of the Services that carry live traffic."""
        return (self.active, *self.more_active) if self.active else self.more_active

    def all(self) -> tuple[str, ...]:
        """All known names."""
        return (*self.all_active(), self.preview) if self.preview else self.all_active()


def service_names(config: AppConfig | None, state: AppState | None) -> ServiceNames:
    """The names of the Services: from Git, else from the live object."""
    if config is not None and config.spec is not None:
        strategy = config.spec.strategy
        return ServiceNames(strategy.active_service, strategy.preview_service, strategy.more_active_services)
    return live_service_names(state)


def live_service_names(state: AppState | None) -> ServiceNames:
    """The names of the Services in the live BlueGreenDeployment."""
    spec = reread_json(state.spec) if state is not None else {}
    strategy = (spec.get("strategy") or {}).get("blueGreen") or {}
    first, *more = strategy.get("activeServices") or (strategy.get("activeService"),)
    return ServiceNames(first, strategy.get("previewService"), tuple(more))


def former_names(
    config: AppConfig | None, state: AppState | None, record: Record, found: Iterable[ServiceState] = ()
) -> tuple[str, ...]:
    """The Services that the live object or the record names as active, and Git no longer does, be it that Git names
    them for the preview now; the former preview Service; and of those ``found`` with the labels of the app, all that
    lead to a version of it.
    """
    live, wanted = live_service_names(state), service_names(config, state)
    carried = {*live.all_active(), *(each.name for each in record.last_read.former_services)}
    others = {each.meta.name for each in found if names.DIGEST in dict(each.selector)}
    others |= {live.preview} if live.preview else set()
    return tuple(sorted(carried.difference(wanted.all_active()) | others.difference(wanted.all())))


def former_preview(config: AppConfig | None, state: AppState | None) -> str:
    """The preview Service that the live object names, where Git no longer does; empty where there is none."""
    live = live_service_names(state)
    gone = live.preview is not None and live.preview not in service_names(config, state).all()
    return live.preview or "" if gone else ""


def at_hand(config: AppConfig | None, live: Mapping[str, str]) -> Mapping[str, str]:
    """The snapshot texts by short digest: those of ``live`` workloads, and those of Git's files."""
    known = dict(live)
    for source in (config.primary, config.target) if config is not None else ():
        if source is not None:
            known[short(source.snapshot.digest)] = source.snapshot.text
    return known


def git_says(config: AppConfig | None, name: str) -> bool:
    """Whether Git describes Service ``name``: by a manifest, or by having none in a folder that was read.

    Where it does not, everything in a live Service but its selector and its owner stays unchanged (DESIGN §10).
    """
    if config is None or config.spec is None:
        return False
    strategy = config.spec.strategy
    named = (*strategy.active_services, strategy.preview_service)
    return name in config.services or (config.whole and name in named)


def desired_service(
    app: AppKey,
    app_uid: str,
    name: str,
    digest: str,
    config: AppConfig | None,
    known: Mapping[str, str],
    ports: str = "",
) -> Object:
    """The manifest of a Service with the selector of ``digest`` (short or full), and with its ``ports`` if known.

    Raises `InvalidInput` where its ports are unknown.
    """
    given = config.services.get(name) if config is not None else None
    return service_manifest(app, app_uid, name, digest, given, known.get(short(digest), ""), ports)


def desired_service_if_known(
    app: AppKey,
    app_uid: str,
    name: str,
    digest: str,
    config: AppConfig | None,
    known: Mapping[str, str],
    ports: str = "",
) -> Object | None:
    """The manifest, or None where its ports are unknown."""
    try:
        return desired_service(app, app_uid, name, digest, config, known, ports)
    except InvalidInput:
        return None


def stable_names(app: AppKey) -> tuple[str, ...]:
    """The Service of a release group that may follow an app: the service's own name, where the app is a member.

    >>> stable_names(AppKey("shop", "cart-v1")), stable_names(AppKey("shop", "web"))
    (('cart',), ())
    """
    service, _, version = app.name.rpartition("-")
    return (service,) if service and version_number(version) else ()
