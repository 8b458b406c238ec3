"""The condition that Services which the app does not name have pods that nobody promoted, or would have them."""

from gitops_bg.core.checks.adoption.exposure import Exposure, exposures
from gitops_bg.core.checks.phase import version_name
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.version import Version
from gitops_bg.core.names import ALL_VERSIONS
from gitops_bg.core.world import World

EXPOSED = "Exposed"
_MOST = 3
_WHAT_TO_DO = (
    "name it in activeServices, or have it select a label of activeMetadata as well; "
    f"if it may have the pods of every version, annotate it {ALL_VERSIONS}=true"
)


def exposed(world: World) -> Condition:
    """The condition; unknown where the Services of the namespace cannot be listed."""
    found = exposures(world)
    if found:
        more = f"; and {len(found) - _MOST} more Services" if len(found) > _MOST else ""
        said = "; ".join(map(_said, found[:_MOST]))
        reason = "SelectedByOthers" if any(each.versions for each in found) else "SelectedOnceUp"
        return Condition(EXPOSED, True, reason, f"{said}{more}: {_WHAT_TO_DO}")
    if refused := world.observed.other_services_refused:
        why = f"whether other Services select the pods of the app is unknown: {refused}"
        return Condition(EXPOSED, None, "ServicesUnreadable", why)
    return Condition(EXPOSED, False, "NotExposed", "no other Service is known to have pods that nobody promoted")


def _said(exposure: Exposure) -> str:
    """One Service, as `Exposed` names it.

    The selector is what somebody else wrote, of Kubernetes' alphabet and length.
    """
    selector = ",".join(f"{key}={value}" for key, value in exposure.service.selector)
    has, would = _named(exposure.versions), _named(exposure.at_rest)
    what = f"has the pods of {has}" if has else f"would have the pods of {would} if there were any"
    more = f" and would have those of {would} if there were any" if has and would else ""
    return f"Service {exposure.service.name} ({selector}) {what}{more}, which nobody promoted"


def _named(versions: tuple[Version, ...]) -> str:
    return ", ".join(map(version_name, versions))
