"""What differs in the folder of a release group's member: all versions of a group are live in one namespace.

So nothing of a member may be live under a name that the same service of another version has as well. Reads documents
only; a folder in ``apps/`` is left as it is.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.names import API_VERSION, APP, KIND, app_label, fit
from gitops_bg.spec.app.layout import MemberFolder, member_of
from gitops_bg.spec.manifests.configuration import NOT_COPIED, Named
from gitops_bg.spec.manifests.target import value_at
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path


def implied_app(member: MemberFolder) -> bytes:
    """Return the app.yaml that counts where a member's folder has none.

    >>> from gitops_bg.core.model.version import GroupKey
    >>> print(implied_app(MemberFolder(GroupKey("shop", "store"), "v1", "cart")).decode())
    apiVersion: gitops-bg.dev/v1alpha1
    kind: BlueGreenDeployment
    metadata:
      name: cart-v1
      namespace: shop
    spec:
      strategy:
        blueGreen:
          activeService: cart-v1
    <BLANKLINE>
    """
    app = member.app
    return f"""\
apiVersion: {API_VERSION}
kind: {KIND}
metadata:
  name: {app.name}
  namespace: {app.namespace}
spec:
  strategy:
    blueGreen:
      activeService: {app.name}
""".encode()


def as_own(document: Document) -> Document:
    """Return an app.yaml, a target or a Service as the folder of its member means it: what was copied from another
    version names that one.
    """
    member = member_of(document.folder)
    name = value_at(document.value, ("metadata", "name"))
    if member is None or not isinstance(name, str):
        return document
    made = renamed(document, member.own(name))
    place: Path = ("spec", "strategy", "blueGreen")
    written = value_at(made.value, place) if made.value.get("kind") == KIND else None
    if not isinstance(written, Mapping):
        return made
    own = {key: _own(member, each) if key in _SERVICES else each for key, each in written.items()}
    return made if own == written else replace(made, value=_with_value(made.value, place, own))


_SERVICES = ("activeService", "activeServices", "previewService")


def _own(member: MemberFolder, named: Any) -> Any:
    if isinstance(named, list):
        return [_own(member, each) for each in named]
    return member.own(named) if isinstance(named, str) else named


def _with_value(value: Mapping[str, Any], place: Path, to: Any) -> dict[str, Any]:
    key, *rest = place
    return {**value, str(key): _with_value(value[str(key)], tuple(rest), to) if rest else to}


def live_name(folder: str, name: str) -> str:
    """Return the name that an object of an app's folder has in the cluster, where it is live beside the versions of the
    app.

    >>> live_name("apps/shop/cart", "settings")
    'settings'
    >>> live_name("groups/shop/store/v1/cart", "settings"), live_name("groups/shop/store/v1/cart", "settings-v1")
    ('settings-v1', 'settings-v1')
    """
    member = member_of(folder)
    return name if member is None or name.endswith(f"-{member.version}") else fit(f"{name}-{member.version}")


def renamed(document: Document, name: str) -> Document:
    """Return the same document with another name; its problems keep their places."""
    value = document.value
    if value["metadata"]["name"] == name:
        return document
    return replace(document, value={**value, "metadata": {**value["metadata"], "name": name}})


def own_budget(document: Document) -> Document:
    """Return a PodDisruptionBudget of a member as it is live: of its own name, and for no pods of another version.

    Kubernetes evicts no pod that several budgets are for.
    https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
    """
    member = member_of(document.folder)
    if member is None:
        return document
    made = renamed(document, live_name(document.folder, document.value["metadata"]["name"]))
    spec = made.value["spec"]
    selector = spec.get("selector") or {}
    labels = {**(selector.get("matchLabels") or {}), APP: app_label(member.app)}
    return replace(made, value={**made.value, "spec": {**spec, "selector": {**selector, "matchLabels": labels}}})


def live_services(
    folder: str, services: Mapping[str, Document], app: Document | None
) -> tuple[dict[str, Document], tuple[Problem, ...]]:
    """Return the Services of a folder by the names that they have in the cluster, and the problems of those left out.

    The Service of a member has the service's name in Git, or already the app's. Further ones must be named by ``app``,
    its app.yaml; where that cannot be read (None), they may be.
    """
    member = member_of(folder)
    if member is None:
        return dict(services), ()
    named = {name for name, _ in _named(app)} if app else set(services)
    found: dict[str, Document] = {}
    problems: list[Problem] = []
    for name, document in services.items():
        live = member.app.name if name == member.service else name
        if live != member.app.name and name not in named:
            message = f"{name} is not the Service of this folder"
            remedy = f"call it {member.service}: it is live as {member.app.name}"
            problems.append(document.problem(("metadata", "name"), message, remedy))
        elif live in found:
            message = f"{member.service} is live as {member.app.name}, and that is in the folder, too"
            problems.append(document.problem(("metadata", "name"), message, "keep one of the two"))
        else:
            found[live] = renamed(document, live)
    return found, tuple(problems)


def check_services(document: Document) -> Iterator[Problem]:
    """Check the Services that the app.yaml of a member names: its own must be there, and not the group's."""
    member = member_of(document.folder)
    if member is None:
        return
    named = list(_named(document))
    for name, field in named:
        if name == member.service:
            message = f"{name} is the Service of the release group {member.group}, which follows its active version"
            yield document.problem(field, message, f"write {member.app.name}")
    active = [(name, field) for name, field in named if field[-1] != "previewService"]
    if active and not {name for name, _ in active} & {member.app.name, member.service}:
        message = f"{active[0][0]} is not {member.app.name}, where the routes of the release group lead"
        yield document.problem(active[0][1], message, f"write {member.app.name}, or use activeServices to name both")


def check_shared(document: Document, referred_to: Collection[Named]) -> Iterator[Problem]:
    """Check a ConfigMap or Secret of a member that is no part of its versions: whoever uses it does so by its live
    name.
    """
    value = document.value
    kind, name = named = (value["kind"], value["metadata"]["name"])
    live = live_name(document.folder, name)
    if live != name and (named in referred_to or str(value.get("type")) in NOT_COPIED):
        message = f"{kind} {name} is used under its own name, which other versions of the release group have as well"
        yield document.problem(("metadata", "name"), message, f"call it {live}, also where it is used")


def _named(app: Document) -> Iterator[tuple[str, Path]]:
    """Yield the Services that an app.yaml names, each with its field."""
    place: Path = ("spec", "strategy", "blueGreen")
    written = value_at(app.value, place) or {}
    for field in ("activeService", "previewService"):
        if written.get(field):
            yield written[field], (*place, field)
    for number, name in enumerate(written.get("activeServices") or ()):
        yield name, (*place, "activeServices", number)
