"""Converts the files of one release group to the core's input. Every mistake is a Problem with file and line.

Of a group with a problem nothing is applied: its versions belong together. Fetches nothing. The folders of services are
read here for their routes and ports only; as apps they are read by ``spec.app.load``.

Where Git cannot be read, what the file of a group said last is told by the spec of its live ReleaseGroup.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.inputs import DesiredGroup, DesiredRoute, DesiredService, DesiredVersion, GroupSpec
from gitops_bg.core.groups.model import GroupGateway, RouteMatch
from gitops_bg.core.model.auxiliary import Backend, Deny, ExtensionRef, PathKind
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.spec import DeletionPolicy, Suspension
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import LONGEST_NAME
from gitops_bg.core.written import SERVICE_NAME
from gitops_bg.spec.analysis.plans import Plans, plans_of_group
from gitops_bg.spec.analysis.templates import Library
from gitops_bg.spec.app.fields import Model, parents_of
from gitops_bg.spec.app.layout import (
    GROUP_FILE,
    PRIMARY_FILE,
    ROUTES_FILE,
    VERSION_FILE,
    group_folder,
    is_dns_label,
    is_manifest,
    is_version,
)
from gitops_bg.spec.app.to_core import without_nulls
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.groups import models
from gitops_bg.spec.notifications import to_hook
from gitops_bg.spec.yaml.reader import Document, first_of_each, read, read_one

File = bytes | Problem
_M = TypeVar("_M", bound=Model)
_SERVICE_NAME = re.compile(SERVICE_NAME)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A route as it stands in a file, to be compared with those of other services."""

    service: str
    match: RouteMatch
    document: Document
    place: int


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """One group as its folder describes it."""

    desired: DesiredGroup
    body: Mapping[str, Any] = field(default_factory=dict)
    """The spec to apply to the live ReleaseGroup: as written, without nulls. Empty where it is not usable."""
    templates: frozenset[str] = frozenset()
    """The names of all AnalysisTemplates that it depends on, including missing ones."""
    tree: str = ""
    """The id of the folder in main; equal ids are equal files."""


def load_group(
    group: GroupKey, files: Mapping[str, File], commit: str = "", library: Library | None = None
) -> GroupConfig:
    """Load a group from all files below its folder, by their paths in it. A Problem stands for an unusable file.

    A mistake in what ``library`` has for it leaves the group usable, so that it can still go back. Without a library,
    nothing is known of its analyses.
    """
    said = {path: file for path, file in files.items() if _says_something(path, file)}
    return _Folder(group, said, library).load(commit)


def _says_something(path: str, file: File) -> bool:
    """Return whether a file counts, or what is in its place: of the folder of a service only manifests are read, so
    that a link such as ``v1/cart/LICENSE`` hides nothing.
    """
    return isinstance(file, bytes) or path.count("/") < 2 or is_manifest(path)


@dataclass
class _Folder:
    """Reads one folder once, and collects problems."""

    group: GroupKey
    files: Mapping[str, File]
    library: Library | None
    problems: list[Problem] = field(default_factory=list)

    def load(self, commit: str) -> GroupConfig:
        self.problems.extend(each for each in self.files.values() if isinstance(each, Problem))
        self._check_names()
        document, model = self._read(GROUP_FILE, models.ReleaseGroup)
        if document and model:
            self._check_identity(document, model.metadata)
        plans = plans_of_group(self.group, model.spec, document, self.library) if document and model else Plans()
        spec = _spec(model.spec, plans) if model else None
        versions = {name: self._version(name, files, model) for name, files in sorted(self._versions().items())}
        is_unknown = spec is not None and isinstance(self.files.get(spec.active), Problem)
        if document and spec and spec.active not in versions and not is_unknown:
            remedy = (
                f"add the folder {spec.active}/, or name one of {', '.join(versions) or 'those that will be there'}"
            )
            self.problems.append(document.problem(("spec", "active"), f"there is no version {spec.active}", remedy))
        usable = spec if not self.problems else None
        problems = tuple(first_of_each((*self.problems, *plans.problems)))
        desired = DesiredGroup(usable, versions if usable else {}, problems, commit)
        body = without_nulls(document.value["spec"]) if document and usable else {}
        return GroupConfig(desired, body, plans.templates)

    # --- the group --------------------------------------------------------------------------------------------

    def _path(self, name: str) -> str:
        return f"{group_folder(self.group)}/{name}"

    def _check_names(self) -> None:
        for part in (self.group.namespace, self.group.name):
            if not is_dns_label(part):
                remedy = "use lower case letters, digits and dashes, as Kubernetes does"
                self.problems.append(Problem(self._path("").rstrip("/"), f"{part!r} is no name", remedy=remedy))

    def _read(self, name: str, model: type[_M]) -> tuple[Document | None, _M | None]:
        content = self.files.get(name)
        if content is None and name == GROUP_FILE:
            remedy = "add it, or delete the folder"
            self.problems.append(Problem(self._path(name), "is missing", remedy=remedy))
        if not isinstance(content, bytes):
            return None, None
        document, problems = read_one(self._path(name), content)
        found, wrong = validate(model, document) if document else (None, ())
        self.problems.extend((*problems, *wrong))
        return document, found

    def _check_identity(self, document: Document, metadata: models.GroupMetadata) -> None:
        for name, expected in (("name", self.group.name), ("namespace", self.group.namespace)):
            written = getattr(metadata, name)
            if written != expected:
                message = f"{written} is not the {name} of the folder {group_folder(self.group)}"
                self.problems.append(document.problem(("metadata", name), message, f"write {expected}"))

    # --- versions ---------------------------------------------------------------------------------------------

    def _versions(self) -> dict[str, dict[str, File]]:
        """Return the files of each version by their paths in it; other folders with manifests are problems."""
        found: dict[str, dict[str, File]] = {}
        odd: set[str] = set()
        for path, content in self.files.items():
            folder, _, rest = path.partition("/")
            if rest.endswith(f"/{PRIMARY_FILE}"):
                continue  # It is the agent's: people who remove a folder may leave it behind.
            if rest and is_version(folder):
                found.setdefault(folder, {})[rest] = content
            elif rest and is_manifest(path):
                odd.add(folder)
            elif not rest and path != GROUP_FILE and is_manifest(path):
                message = f"is neither {GROUP_FILE} nor in a version's folder, so nobody reads it"
                self.problems.append(Problem(self._path(path), message, remedy="move it into the folder of a service"))
        for folder in sorted(odd):
            remedy = "call it v1, v2, … v10: a v and a number without leading zeros"
            self.problems.append(Problem(self._path(folder), "is not the name of a version", remedy=remedy))
        return found

    def _version(self, version: str, files: Mapping[str, File], model: models.ReleaseGroup | None) -> DesiredVersion:
        folders: dict[str, dict[str, File]] = {}
        for path, content in files.items():
            service, _, name = path.partition("/")
            if name and "/" not in name:
                folders.setdefault(service, {})[name] = content
            elif is_manifest(path) and path != VERSION_FILE:
                message = "is not in the folder of a service, so nobody reads it"
                remedy = f"move it to {self._path(version)}/<service>/"
                self.problems.append(Problem(self._path(f"{version}/{path}"), message, remedy=remedy))
        services: dict[str, DesiredService] = {}
        claims: list[_Claim] = []
        for service, found in sorted(folders.items()):
            self._check_service_name(version, service)
            own = self._routes(f"{version}/{service}", service, found, model)
            services[service] = DesiredService(routes=tuple(route for _, route in own))
            claims.extend(claim for claim, _ in own)
        self._check_claims(claims)
        registered = dict(self._registered(version, services))
        is_unknown = any(isinstance(each, Problem) for each in files.values())
        if not services and not registered and not is_unknown:
            remedy = "add the folder of a service, or name services in version.yaml"
            self.problems.append(Problem(self._path(version), "has no service", remedy=remedy))
        return DesiredVersion(_content(files), {**services, **registered})

    def _check_service_name(self, version: str, service: str) -> None:
        path = self._path(f"{version}/{service}")
        if not _SERVICE_NAME.fullmatch(service):
            remedy = "use lower case letters, digits and dashes, and a letter first, as Kubernetes does for Services"
            self.problems.append(Problem(path, "cannot be the name of a service", remedy=remedy))
        elif len(f"{service}-{version}") > LONGEST_NAME:
            message = f"{service}-{version} is longer than the {LONGEST_NAME} characters that Kubernetes allows"
            self.problems.append(Problem(path, message, remedy="use a shorter name"))

    def _registered(self, version: str, folders: Mapping[str, DesiredService]) -> Iterator[tuple[str, DesiredService]]:
        """Yield the services that the version only names."""
        document, model = self._read(f"{version}/{VERSION_FILE}", models.VersionDocument)
        names = model.services if model else []
        for place, name in enumerate(names):
            where = ("services", place)
            if document and (name in names[:place] or name in folders):
                there = "is named twice" if name in names[:place] else f"has a folder in {version} already"
                self.problems.append(document.problem(where, f"{name} {there}", "remove it here"))
            yield name, DesiredService(pods=False)

    # --- routes -----------------------------------------------------------------------------------------------

    def _routes(
        self, folder: str, service: str, files: Mapping[str, File], group: models.ReleaseGroup | None
    ) -> list[tuple[_Claim, DesiredRoute]]:
        document, model = self._read(f"{folder}/{ROUTES_FILE}", models.RoutesDocument)
        if document is None or model is None:
            return []
        ports, found = self._ports(folder, service, files), []
        for place, route in enumerate(model.routes):
            if group:
                self._check_route(document, place, route, group.spec)
            port = self._port(document, place, route, ports, service)
            match = _match(route)
            found.append((_Claim(service, match, document, place), _route(route, match, port)))
        return found

    def _check_route(
        self, document: Document, place: int, route: models.ServiceRoute, group: models.GroupFields
    ) -> None:
        for header in route.headers or {}:
            if header.lower() == group.version_header.lower():
                message = f"{header} is the header that chooses the version (spec.versionHeader of {GROUP_FILE})"
                remedy = "remove it: the folder says which version the route belongs to"
                self.problems.append(document.problem(("routes", place, "headers", header), message, remedy))
        if route.host and group.hosts and not any(_covers(host, route.host) for host in group.hosts):
            message = f"{route.host} is not a host of the group"
            remedy = f"add it to spec.hosts of {GROUP_FILE}, or use one of {', '.join(group.hosts)}"
            self.problems.append(document.problem(("routes", place, "host"), message, remedy))
        lower = [header.lower() for header in route.headers or {}]
        for header in {each for each in lower if lower.count(each) > 1}:
            message = f"{header} is there twice: names of headers do not depend on capital letters"
            self.problems.append(document.problem(("routes", place, "headers"), message, "remove one of the two"))

    def _ports(self, folder: str, service: str, files: Mapping[str, File]) -> list[int] | None:
        """Return the ports of the service's Service in its folder; None where one of its files cannot be read: it may
        be in there. What is wrong with the file, its app says.
        """
        version, is_unknown = folder.partition("/")[0], False
        for name, content in files.items():
            if not is_manifest(name) or name in (ROUTES_FILE, PRIMARY_FILE):
                continue
            found = read(self._path(f"{folder}/{name}"), content) if isinstance(content, bytes) else None
            is_unknown = is_unknown or found is None or bool(found.problems)
            for document in found.documents if found is not None else ():
                if _name_of(document.value, "Service") in (service, f"{service}-{version}"):
                    return _ports_of(document.value)
        return None if is_unknown else []

    def _port(
        self, document: Document, place: int, route: models.ServiceRoute, ports: list[int] | None, service: str
    ) -> int:
        if ports is None:
            if route.port is None:
                message = f"nobody can tell the port of the Service {service}: a file of this folder cannot be read"
                self.problems.append(document.problem(("routes", place), message, "mend that file first, or add port"))
            return route.port or 0
        if route.port is not None:
            if ports and route.port not in ports:
                message = f"the Service {service} has no port {route.port}"
                remedy = f"write {' or '.join(map(str, ports))}"
                self.problems.append(document.problem(("routes", place, "port"), message, remedy))
            return route.port
        if len(ports) != 1:
            message = f"the Service {service} has {len(ports) or 'no'} ports in this folder, so port is needed"
            remedy = f"write port: {ports[0]}" if ports else "add port, or the Service with its ports"
            self.problems.append(document.problem(("routes", place), message, remedy))
        return ports[0] if ports else 0

    def _check_claims(self, claims: list[_Claim]) -> None:
        """Check that no two routes of a version are for the same requests."""
        taken: dict[tuple[object, ...], _Claim] = {}
        for claim in claims:
            match = claim.match
            for method in match.methods or ("",):
                key = replace(match, methods=(method,)).requests
                other = taken.setdefault(key, claim)
                if other is not claim:
                    where = f"{other.service} (routes.{other.place} of {other.document.file})"
                    message = f"the route {match.path} belongs to {where} already"
                    remedy = "remove one of the two, or give them different paths, headers or methods"
                    self.problems.append(claim.document.problem(("routes", claim.place), message, remedy))
                    break


def _spec(model: models.GroupFields, plans: Plans) -> GroupSpec:
    gateway = (
        GroupGateway(
            parents=parents_of(model.gateway.parent_refs),
            hosts=tuple(model.hosts or ()),
            version_header=model.version_header,
            deny=_deny(model),
        )
        if model.gateway
        else None
    )
    spec: GroupSpec = model.value(
        gateway=gateway,
        pre_promotion_analysis=plans.before,
        post_promotion_analysis=plans.after,
        hooks=tuple(map(to_hook, model.webhooks or ())),
    )
    return spec


def _deny(model: models.GroupFields) -> Deny:
    match model.deny_mode:
        case "denyService":
            service = model.deny_service or models.DenyServiceRef.model_validate({})
            return Deny(backend=Backend(service.name, service.port))
        case "extension":
            assert model.deny_extension is not None
            found = model.deny_extension
            return Deny(extension=ExtensionRef(found.group, found.kind, found.name))
        case _:
            return Deny()


def _match(route: models.ServiceRoute) -> RouteMatch:
    path = route.path
    kind, text = next(
        (kind, text)
        for kind, text in ((PathKind.PREFIX, path.prefix), (PathKind.EXACT, path.exact), (PathKind.REGEX, path.regex))
        if text is not None
    )
    if kind is PathKind.PREFIX and len(text) > 1:
        text = text.rstrip("/")  # The Gateway API ignores it: two routes that differ in it only are for the same.
    headers = tuple(sorted((route.headers or {}).items()))
    return RouteMatch(text, kind, route.host or "", headers, tuple(sorted(route.methods or ())))


def _route(route: models.ServiceRoute, match: RouteMatch, port: int) -> DesiredRoute:
    return DesiredRoute(match, port, route.allowed, route.rewrite or "", route.timeout or "")


def _covers(host: str, wanted: str) -> bool:
    """Return whether a host of the group has room for that of a route."""
    return host == wanted or (host.startswith("*.") and wanted.endswith(host[1:]))


def _name_of(value: Any, kind: str) -> str:
    metadata = value.get("metadata") if isinstance(value, Mapping) and value.get("kind") == kind else None
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _ports_of(value: Any) -> list[int]:
    spec = value.get("spec")
    ports = spec.get("ports") if isinstance(spec, Mapping) else None
    found = (each.get("port") for each in ports if isinstance(each, Mapping)) if isinstance(ports, list) else ()
    return [port for port in found if isinstance(port, int)]


def _content(files: Mapping[str, File]) -> str:
    """Identify what people wrote; files of promotions are not among the files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        content = files[path]
        if isinstance(content, bytes):
            digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:20]


def last_spec(spec: Mapping[str, Any]) -> tuple[DeletionPolicy, Suspension | None]:
    """Return what becomes of the group, and who has suspended it. It is kept where nobody can read what it said.

    >>> last_spec({"active": "v1", "deletionPolicy": "delete"})[0].value, last_spec({"deletionPolicy": "dele"})[0].value
    ('delete', 'keep')
    """
    model = _read(spec)
    return (DeletionPolicy(model.deletion_policy), model.value().suspend) if model else (DeletionPolicy.KEEP, None)


def manual_gates(spec: Mapping[str, Any]) -> tuple[Hook, ...]:
    """Return the hooks of a group that people answer; none where nobody can read what its file said."""
    model = _read(spec)
    webhooks = (model.webhooks or ()) if model else ()
    return tuple(to_hook(each) for each in webhooks if each.url is None)


def _read(spec: Mapping[str, Any]) -> models.GroupFields | None:
    try:
        return models.GroupFields.model_validate(spec)
    except ValidationError:
        return None
