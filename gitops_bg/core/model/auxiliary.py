"""Objects that belong to an app and not to a version: autoscaler, disruption budgets, untracked configuration, and the
route in front of its Services.

Nouns only.

Auxiliary objects follow Git at once, without any gate, as ``replicas`` does; the scale target of the autoscaler follows
traffic (docs/decisions/0014), and the version that the route names follows the preview Service (docs/decisions/0038).
"""

from dataclasses import dataclass

from gitops_bg.core.model.http_routes import RouteClaim

CONFIGURATION = ("ConfigMap", "Secret")
"""The kinds of auxiliary objects that pods refer to by name."""
ROUTES = ("HTTPRoute", "GRPCRoute")
BackendPorts = tuple[tuple[str, int], ...]
"""The Services that a route leads to, by name, each with the port of it."""
CANDIDATE = "candidate"
"""The value of a route's version header that chooses the candidate, whichever version that is."""


@dataclass(frozen=True, slots=True, order=True)
class AuxiliaryObject:
    """One live object of an app, whatever version serves: its kind, and its name in the cluster."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """The autoscaler that sizes the live version: the copy made of the one in Git, and its bounds."""

    copy: AuxiliaryObject
    minimum: int
    """KEDA allows 0: no pod runs while there is no load."""
    maximum: int

    def within(self, pods: int) -> int:
        """Return ``pods``, limited to the bounds.

        >>> scaler = Autoscaler(AuxiliaryObject("HorizontalPodAutoscaler", "web-primary"), 2, 10)
        >>> scaler.within(0), scaler.within(5), scaler.within(50)
        (2, 5, 10)
        """
        return max(self.minimum, min(pods, self.maximum))


@dataclass(frozen=True, slots=True)
class AppRoute:
    """The HTTPRoute or GRPCRoute in front of an app's Services, which sends requests to a port of theirs."""

    live: AuxiliaryObject
    """It has the app's own name."""
    port: int
    beside: AuxiliaryObject | None = None
    """The name of one that is attached as Git says, while ``live`` is still attached as before: it goes first, so that
    no traffic depends on a Gateway that nobody has asked yet (`core.checks.routes`).
    """
    claim: RouteClaim = RouteClaim()  # noqa: RUF009 - frozen
    """The requests that it is for."""
