"""Active Services whose manifest left the folder, and that say more than one that is derived from the pods. Pure.

A derived Service in the place of what is live would end how users come in: a load balancer goes with its address, and
another port answers nobody. So what is live stays, as with a manifest that nobody can read (docs/decisions/0021).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import SERVICES
from gitops_bg.cluster.manifests.render import digest_in
from gitops_bg.cluster.manifests.services import at_hand
from gitops_bg.cluster.observation.field_paths import item_in
from gitops_bg.cluster.observation.ownership import owner_of
from gitops_bg.cluster.observation.states import ServiceState
from gitops_bg.core import names
from gitops_bg.core.checks.ports import derived_ports
from gitops_bg.core.foreign_json import read_json, reread_json
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.load import AppConfig

_OF_PORTS = ("name", "port", "protocol", "targetPort")


Snapshots = Callable[[], Mapping[str, str]]
"""The snapshots of the live workloads, by short digest; asked for where they are needed."""


def left_manifests(
    config: AppConfig, find: Callable[[str], ServiceState | None], snapshots: Snapshots
) -> tuple[Problem, ...]:
    """A problem for each active Service that is live as a manifest said it which is in the folder no more.

    ``find`` finds a live Service by its name. Nothing is said of a folder that was not read, or not as a whole.
    """
    if config.spec is None or not config.whole or not config.folder:
        return ()
    gone = [name for name in config.spec.strategy.active_services if name not in config.services]
    found = ((name, state) for name in gone if (state := find(name)) is not None)
    return tuple(
        _problem(config, name, said)
        for name, state in found
        if (said := list(_manifest_lines(config, state, snapshots)))
    )


def _problem(config: AppConfig, name: str, said: list[str]) -> Problem:
    live = f"which is live with {', '.join(said)}: it stays as it is"
    remedy = f"put its manifest back, or write one that says what Service {name} is to be"
    message = f"no file of the folder describes Service {name} any more, {live}"
    return Problem(f"{config.folder}/{APP_FILE}", message, remedy=remedy)


def _manifest_lines(config: AppConfig, state: ServiceState, snapshots: Snapshots) -> Iterator[str]:
    """What a manifest said of a live Service of ours, as far as nobody has changed it since."""
    if owner_of(SERVICES, state.meta, config.app, config.spec.adopt if config.spec else None):
        return
    applied, live = reread_json(state.applied), reread_json(state.content)
    for key in applied.get("f:spec") or {}:
        name = key.removeprefix("f:")
        if name in live["spec"] and name not in ("selector", "ports"):
            yield f"{name} {live['spec'][name]}" if isinstance(live["spec"][name], str | int) else name
    annotations = (applied.get("f:metadata") or {}).get("f:annotations") or {}
    yield from (f"annotation {name}" for name in map(_name, annotations) if not name.startswith(f"{names.GROUP}/"))
    ports = (applied.get("f:spec") or {}).get("f:ports") or {}
    digest = digest_in(config.app, dict(state.selector))
    if ports and (template := at_hand(config, snapshots()).get(digest, "")):
        yield from _port_lines(template, ports, live["spec"].get("ports") or ())


def _name(key: str) -> str:
    return key.removeprefix("f:")


def _port_lines(template: str, applied: Mapping[str, Any], live: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The live ports that the pods do not imply, where all that they say is ours."""
    derived = [_of_port(each) for each in read_json(derived_ports(template) or "[]")]
    ours = {
        (said.get("port"), said.get("protocol")): fields for key, fields in applied.items() if (said := item_in(key))
    }
    for port in live:
        fields = ours.get((port.get("port"), port.get("protocol") or "TCP")) or {}
        is_ours = all(f"f:{field}" in fields for field in ("port", "targetPort") if field in port)
        if is_ours and _of_port(port) not in derived:
            yield f"port {port['port']}"


def _of_port(port: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(port.get(field) or ("TCP" if field == "protocol" else None) for field in _OF_PORTS)
