"""The owner of a live object, in a sentence. Pure.

An object is ours if our BlueGreenDeployment controls it, or a former one of the same name, whatever its labels; or if
nobody controls it and it carries our two labels, by which people hand objects over. All others are left alone (DESIGN
§3.4).
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Self

from gitops_bg.cluster.api.kinds import APPS, Kind
from gitops_bg.cluster.observation.states import AppState, Meta
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.spec import Adoption
from gitops_bg.core.model.version import AppKey, GroupKey


@dataclass(frozen=True, slots=True)
class Ownership:
    """What an agent follows: a repository, by its URL without credentials, and one of its clusters (``--cluster``)."""

    repository: str = ""
    cluster: str = ""
    branch: str = field(default="", compare=False)
    """The branch that is deployed, for people and commands to find it. It tells no two agents apart: the same one may
    follow another branch tomorrow.
    """

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> Self:
        """Return what a live object follows, by its annotations; nothing where they say none."""
        return cls(*(annotations.get(each, "") for each in (names.REPOSITORY, names.CLUSTER, names.BRANCH)))

    def __str__(self) -> str:
        return f"{self.repository} (cluster {self.cluster})"

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of a BlueGreenDeployment that follows it."""
        said = {names.REPOSITORY: self.repository, names.CLUSTER: self.cluster, names.BRANCH: self.branch}
        return {key: text for key, text in said.items() if text} if self.repository else {}


UNOWNED = Ownership()
"""For commands that act on the cluster alone (`rollback --offline`): no repository is foreign."""


def owner_of(kind: Kind, meta: Meta, app: AppKey, adopt: Adoption | None = None) -> str:
    """Return the owner of an object under a name of ours, and how to hand it over, in one sentence; empty where it is
    ours.

    ``adopt`` says the former names of the app, where its file says one.

    >>> from gitops_bg.cluster.api.kinds import SERVICES
    >>> meta = Meta("shop", "web", "uid", "1", manager="Helm")
    >>> print(owner_of(SERVICES, meta, AppKey("shop", "web")).partition(" app.kubernetes.io")[0])
    Service shop/web is managed by Helm; to hand it over: kubectl label service web -n shop
    """
    reason = _reason(kind, meta, app, adopt)
    return f"{kind.called(meta.namespace, meta.name)} is {reason}" if reason else ""


def _reason(kind: Kind, meta: Meta, app: AppKey, adopt: Adoption | None) -> str:
    if meta.controller is not None:
        theirs = controlling_app(meta)
        whose = f"controlled by {meta.controller.kind} {meta.controller.name}"
        return "" if theirs == app else f"{whose}{_or_moved(theirs, app, adopt)}"
    if meta.manager != names.MANAGER:
        manager = f"managed by {meta.manager}" if meta.manager else "made by somebody else"
        return f"{manager}; {_hand_over(kind, meta, app)}"
    if kind != APPS and meta.app != names.app_label(app):
        other = f"part of the app {meta.app}" if meta.app else f"not labelled {names.APP}"
        return f"{other}; {_hand_over(kind, meta, app)}"
    return ""


def _or_moved(theirs: AppKey | None, app: AppKey, adopt: Adoption | None) -> str:
    """Return what to do where an app has a Service or a copy that another one of the namespace is to have."""
    if theirs is None:
        return ""
    if adopt is not None and adopt.was(theirs.name):
        return f", the former name of {app}, which takes over what leads to one version of it"
    if adopt is not None and theirs.name in adopt.names:
        remedy = f"remove the folder of {theirs}, or give {app} Services of its own"
        return f"; adopt: {{app: {theirs.name}}} counts once main, as it was read, has no folder of {theirs}: {remedy}"
    say_so = f"write adopt: {{app: {theirs.name}}} into its app.yaml, once main has no folder of {theirs}"
    return f"; give {app} Services of its own; or, if it is {theirs} under another name: {say_so}"


def is_unclaimed(meta: Meta, app: AppKey) -> bool:
    """Return whether an object that is not ours is nobody else's by any mark that binds: no controller, no other app.

    A label of another tool (``app.kubernetes.io/managed-by: Helm``) binds nobody where the app's file agrees
    (``spec.adopt``).

    >>> is_unclaimed(Meta("shop", "web", "uid", "1", manager="Helm"), AppKey("shop", "web"))
    True
    >>> is_unclaimed(Meta("shop", "web", "uid", "1", app="cart", manager="gitops-bg"), AppKey("shop", "web"))
    False
    """
    return meta.controller is None and meta.manager != names.MANAGER and meta.app in ("", names.app_label(app))


def app_owner_of(state: AppState, app: AppKey, us: Ownership = UNOWNED) -> str:
    """Return `owner_of` for a BlueGreenDeployment: one that keeps a record of ours is ours, whatever its labels.

    One that follows another repository, or another cluster of this one, is not; one that names none is.
    """
    return _other_allegiance(state, app, us) or ("" if state.recorded else owner_of(APPS, state.meta, app))


def _other_allegiance(state: AppState, app: AppKey, us: Ownership) -> str:
    theirs = Ownership(state.repository, state.cluster)
    if not us.repository or not theirs.repository or theirs == us:
        return ""
    changes = " ".join(f"{key}={value}" for key, value in us.annotations.items())
    return (
        f"BlueGreenDeployment {app} follows {theirs}, not {us}; to hand it over: stop the other agent, then kubectl "
        f"annotate bgd {app.name} -n {app.namespace} {changes} {names.CLAIMED_BY}- --overwrite"
    )


def claim_on(state: AppState, app: AppKey) -> str:
    """Return who else claims an app of ours, and how to end that; empty where nobody does."""
    if not state.claimed_by:
        return ""
    return (
        f"{state.claimed_by} has an app {app}, too, and leaves this one alone; remove it there, then: kubectl annotate "
        f"bgd {app.name} -n {app.namespace} {names.CLAIMED_BY}-"
    )


def controlling_app(meta: Meta) -> AppKey | None:
    """Return the app whose present or former BlueGreenDeployment controls an object; None: another controller, or
    none.
    """
    found = controlling_subject(meta)
    return found if isinstance(found, AppKey) else None


def controlling_subject(meta: Meta) -> AppKey | GroupKey | None:
    """Return the app, or the release group, whose present or former object controls an object."""
    controller = meta.controller
    if controller is None or controller.api_version.partition("/")[0] != names.GROUP:
        return None
    if controller.kind == names.GROUP_KIND:
        return GroupKey(meta.namespace, controller.name)
    return AppKey(meta.namespace, controller.name) if controller.kind == names.KIND else None


def _hand_over(kind: Kind, meta: Meta, app: AppKey) -> str:
    labels = f"{names.MANAGED_BY}={names.MANAGER} {names.APP}={names.app_label(app)}"
    return f"to hand it over: kubectl label {kind.name.lower()} {meta.name} -n {meta.namespace} {labels} --overwrite"
