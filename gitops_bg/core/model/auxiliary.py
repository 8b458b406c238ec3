"""Objects that belong to an app and not to a version: autoscaler, disruption budgets, untracked configuration, and the
HTTPRoutes in front of Services, as far as rollouts need them. Nouns only.

They follow Git at once, without any gate, as ``replicas`` does; the scale target of the autoscaler follows traffic
(docs/decisions/0014), and the version that the route names follows the preview Service (docs/decisions/0038).
HTTPRoutes are those of https://gateway-api.sigs.k8s.io/reference/spec/; a group's are made by `core.groups.routing`.
"""

from dataclasses import replace
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass


class PathKind(StrEnum):
    """How a path matches: `Exact`, `PathPrefix` and `RegularExpression` of the Gateway API."""

    EXACT = "Exact"
    PREFIX = "PathPrefix"
    REGEX = "RegularExpression"


@dataclass(frozen=True, slots=True)
class HttpMatch:
    """The requests of a rule: all conditions hold."""

    path: str = "/"
    kind: PathKind = PathKind.PREFIX
    headers: tuple[tuple[str, str], ...] = ()
    """Names and exact values, sorted by name."""
    method: str = ""
    """Empty: any."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A Service of the route's namespace, and one of its ports."""

    service: str
    port: int


@dataclass(frozen=True, slots=True)
class ExtensionRef:
    """The object of an implementation that answers a request itself, in the route's namespace."""

    group: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Deny:
    """What a rule does with requests that nobody may answer: exactly one of them, or, with neither, no backend."""

    backend: Backend | None = None
    extension: ExtensionRef | None = None


NO_BACKEND = Deny()


@dataclass(frozen=True, slots=True)
class HttpRule:
    """Where the requests of any of ``matches`` go."""

    matches: tuple[HttpMatch, ...]
    to: Backend | Deny
    rewrite: str = ""
    """What replaces the matched path: the prefix of a `PathPrefix`, the whole of another path; empty: nothing."""
    timeout: str = ""
    """How long the whole request may take, as ``10s``; empty: no limit."""


@dataclass(frozen=True, slots=True)
class ParentRef:
    """The Gateway, or one listener of it, that a route is attached to."""

    name: str
    namespace: str = ""
    """Empty: the route's."""
    section: str = ""
    port: int = 0
    kind: str = "Gateway"
    group: str = "gateway.networking.k8s.io"


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """One HTTPRoute. Of rules that match alike the first one wins."""

    name: str
    hosts: tuple[str, ...]
    """Empty: every host of the Gateway."""
    parents: tuple[ParentRef, ...]
    rules: tuple[HttpRule, ...]


@dataclass(frozen=True, slots=True)
class RouteClaim:
    """Which requests a route is for, wherever it leads them."""

    parents: tuple[ParentRef, ...] = ()
    hosts: tuple[str, ...] = ()
    """Empty: every host of the Gateway."""
    matches: tuple[HttpMatch, ...] = ()


@dataclass(frozen=True, slots=True)
class RivalRoute:
    """A route of the namespace that is somebody else's: which requests it claims."""

    name: str
    owner: str
    """Whose it is, in words."""
    claim: RouteClaim
    born: str = ""
    """When it was created: of two routes that say the same requests, the older one has them."""
    whole: bool = True
    """Whether the claim is all that the route says, and not only what an agent could have written."""
    answered: bool = False
    """Whether a Gateway ever said anything of it."""
    taken: bool | None = None
    """Whether every Gateway has taken it as it is; None where one says nothing."""
    app: str = ""
    """The value of the label that names its app; empty where it is no app's."""
    group: str = ""
    """The value of the label that names its release group; empty where it is none's."""
    former: bool = False
    """Its owner is live and follows the same main, which has no folder of it any more."""


def claim_of(route: HttpRoute) -> RouteClaim:
    """Return which requests a route is for."""
    return RouteClaim(route.parents, route.hosts, tuple(match for rule in route.rules for match in rule.matches))


def as_stored(route: HttpRoute) -> HttpRoute:
    """Return a route as it reads back from a cluster: a Service that denies is a backend like any other."""
    rules = (
        replace(rule, to=rule.to.backend) if isinstance(rule.to, Deny) and rule.to.backend else rule
        for rule in route.rules
    )
    return replace(route, rules=tuple(rules))


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
    no traffic depends on a Gateway that nobody has asked yet (`core.checks.auxiliary`).
    """
    claim: RouteClaim = RouteClaim()
    """The requests that it is for."""
    preview: AuxiliaryObject | None = None
    """The one for the hosts of the candidate (``previewHosts``); None where it has none."""
