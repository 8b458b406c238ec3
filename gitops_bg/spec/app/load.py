"""Converts the files of one app to the core's input. One broken file leaves the others usable.

Fetches nothing: contents are arguments, and commits come from a callable that is called only for valid files.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Primary, Problem, Target
from gitops_bg.core.model.digest import with_configuration
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey, ConfigurationRef, ServicePorts, Source, WorkloadKind
from gitops_bg.spec.analysis.plans import Plans, plans_of
from gitops_bg.spec.analysis.templates import Library
from gitops_bg.spec.app import models
from gitops_bg.spec.app.layout import (
    APP_FILE,
    DEFAULT_TARGET_FILE,
    OF_ENVIRONMENT,
    OVERLAY_FILE,
    PRIMARY_FILE,
    RELEASE_FILE,
    ROUTES_FILE,
    SETTINGS_FILE,
    folder_of,
    is_dns_label,
    is_read,
    meant_as,
    member_of,
    path_in,
    seen_in,
)
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.app.settings import Settings
from gitops_bg.spec.app.to_core import (
    NO_ALERTING,
    check_app_of_daemon_set,
    check_beside_daemon_set,
    check_pod_metadata,
    spec_from_live,
    to_core,
    without_nulls,
)
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.environments.home import (
    Home,
    app_with_own,
    as_released,
    check_home,
    is_misplaced,
    with_auto_promotion,
    workload_of_release,
)
from gitops_bg.spec.environments.overlay import with_overlay
from gitops_bg.spec.environments.release import Release, read_release, release_of
from gitops_bg.spec.manifests.auxiliary import (
    NO_AUXILIARY_OBJECTS,
    UNKNOWN,
    AuxiliaryObjects,
    FolderContent,
    auxiliary_of,
)
from gitops_bg.spec.manifests.configuration import (
    CONFIG_MAP,
    SECRET,
    Configuration,
    Named,
    Tracked,
    track,
)
from gitops_bg.spec.manifests.jobs import (
    NO_CONTRACT,
    JobFolder,
    NamedFile,
    check_references,
    named_files,
    plan_of,
    read_jobs,
)
from gitops_bg.spec.manifests.members import as_own, check_services, implied_app, live_services
from gitops_bg.spec.manifests.objects import (
    Object,
    check_place,
    check_supported,
    instead_of_app,
    kind_in,
    model_of,
    unrendered,
    unrendered_file,
)
from gitops_bg.spec.manifests.target import (
    TargetFile,
    match_labels,
    metadata_of,
    read_target,
    selected_labels,
    template_of,
    value_at,
)
from gitops_bg.spec.manifests.traffic import check_ports, check_service, is_external, ports_in_git
from gitops_bg.spec.notifications import Alerting, alerts_of
from gitops_bg.spec.yaml.reader import Document, first_of_each, read, read_one

NO_TEMPLATES = Library()

Manifest = Mapping[str, Any]
"""A Kubernetes object as written, to be read only."""

SourceOf = Callable[..., Source]
"""Returns the commit of main that last changed a file of the app's folder, by the file's name; the newest
of several.
"""


@dataclass(frozen=True, slots=True)
class Pin:
    """The ``revision`` of an ``app.yaml``."""

    by: Source
    """The commit that last changed the file."""
    unknown: Problem
    """The problem, with its place, where nobody knows the revision; its message is still to be told."""


@dataclass(frozen=True, slots=True)
class AppConfig:
    """One app as its folder describes it. ``problems`` says why a part is None, or what else is wrong."""

    app: AppKey
    spec: AppSpec | None
    body: Manifest
    """The spec to apply to the live BlueGreenDeployment: as written, without nulls, with the target's minReadySeconds;
    so the live object alone says how to run the app. Empty where ``spec`` is None.
    """
    target: Target | None
    primary: Primary | None
    services: Mapping[str, Manifest] = field(default_factory=dict)
    """The Service manifests of the folder by name. Their selectors are ignored: the agent sets its own."""
    problems: tuple[Problem, ...] = ()
    target_file: str = DEFAULT_TARGET_FILE
    whole: bool = True
    """Whether the whole folder could be read: only then is a Service that is missing in ``services`` missing in Git."""
    templates: frozenset[str] = frozenset()
    """The names of the AnalysisTemplates that it depends on, including missing ones."""
    providers: frozenset[str] = frozenset()
    """The names of the AlertProviders that it depends on, including missing ones."""
    configuration: tuple[Configuration, ...] = ()
    """The content of the ConfigMaps and Secrets that the versions of target and primary use."""
    auxiliary_objects: AuxiliaryObjects = NO_AUXILIARY_OBJECTS
    """The objects that belong to the app and not to a version."""

    labels: tuple[tuple[str, str], ...] = ()
    """The labels in the target's metadata, sorted."""
    annotations: tuple[tuple[str, str], ...] = ()
    selector: Mapping[str, str] = field(default_factory=dict)
    """The labels by which the target selects its pods (``matchLabels``); none where it has no such selector."""
    pin: Pin | None = None
    """Where ``app.yaml`` names a ``revision``; None where it names none."""
    jobs: tuple[str, ...] = ()
    """The files of the folder that app.yaml names as Jobs."""
    held_back: Target | None = None
    """The target of the folder, while the version of that revision takes its place."""
    folder: str = ""
    """Where its files are; empty where it was not read from files."""
    lacks_configuration: bool = False
    """Whether the template refers to ConfigMaps or Secrets that the folder lacks: shared or optional ones. A file that
    left it changed the version.
    """
    untracked: tuple[str, ...] = ()
    """The files of the folder with ConfigMaps or Secrets that the template refers to and that are not tracked."""
    has_primary: bool = False
    """Whether the folder has a primary.yaml, also an invalid one; one that was copied along with the folder of another
    version of a release group is none of its own.
    """
    has_target: bool = False
    """Whether the folder has the file that the target comes from, also an invalid one."""
    environment: str = ""
    """The environment that it was read for; empty where the repository has none."""
    release: Release | None = None
    """The release that the target is of, in an environment."""
    workload: Document | None = None
    """The workload with all that an environment has of its own; None where that is invalid."""

    @property
    def ports(self) -> tuple[ServicePorts, ...]:
        """The ports of its Services in Git."""
        return tuple(ports_in_git(self.spec.strategy, self.services, whole=self.whole)) if self.spec else ()


def load_app(
    app: AppKey,
    files: Mapping[str, bytes | Problem],
    source: SourceOf,
    library: Library = NO_TEMPLATES,
    alerting: Alerting = NO_ALERTING,
    folder: str = "",
    home: Home | None = None,
) -> AppConfig:
    """Load an app from the files of its folder, by name. A Problem stands for a file that Git found unusable.

    ``folder`` is the path of the folder; empty: that of an app in no release group. ``home`` is the environment that
    the app is read for; the files are then those of `spec.app.layout.seen_in`.
    """
    return _Folder(app, files, library, alerting, folder or folder_of(app), home).load(source)


def app_config_from_live(
    app: AppKey, live: Manifest, alerting: Alerting = NO_ALERTING, folder: str = "", environment: str = ""
) -> AppConfig:
    """Return the app as its live BlueGreenDeployment describes it, for when Git does not: without target, primary or
    Services. ``folder`` as in `load_app`; ``environment`` is the one that it is in.
    """
    spec, problems = spec_from_live(app, live, alerting, folder)
    spec = replace(spec, environment=environment) if spec else None
    body = without_nulls(live.get("spec") or {}) if spec else {}
    return AppConfig(app, spec, body, None, None, problems=problems, whole=False, auxiliary_objects=UNKNOWN)


class _Folder:
    """Reads one folder once, and collects problems."""

    def __init__(
        self,
        app: AppKey,
        files: Mapping[str, bytes | Problem],
        library: Library,
        alerting: Alerting,
        folder: str,
        home: Home | None,
    ) -> None:
        self.app = app
        self.folder = folder
        self.home = home
        self.environment = home.name if home else ""
        self.member = member_of(folder)
        self.files = {name: each for name, each in files.items() if not (self.member and name == ROUTES_FILE)}
        self.library = library
        self.alerting = alerting
        self.templates: frozenset[str] = frozenset()
        self.providers: frozenset[str] = frozenset()
        self.configuration: dict[ConfigurationRef, Configuration] = {}
        self.problems: list[Problem] = []
        self.jobs: Mapping[str, Document] = {}
        self.job_files: tuple[str, ...] = ()
        self.has_primary = PRIMARY_FILE in self.files
        self.target_file = DEFAULT_TARGET_FILE

    def load(self, source: SourceOf) -> AppConfig:
        self._check_folder()
        app_document, model = self._app()
        target_file = self.target_file = model.target if model else DEFAULT_TARGET_FILE
        base = self._base(app_document, target_file)
        target_document, target = self._target(base)
        spec: AppSpec | None = None
        body: dict[str, Any] = {}
        if app_document and model and self._fits(app_document, model, target_document):
            spec, body = self._spec(app_document, model, target_document, target)
        primary = self._primary(source)
        manifests, readable, release = self._manifests(target_file, base, target_document if target else None, source)
        usable = target_document if target else None
        if target and target.snapshot.workload is WorkloadKind.DAEMON_SET:
            self.problems.extend(check_beside_daemon_set(manifests.values()))
        auxiliary_objects = self._auxiliary_objects(
            FolderContent(self.app, app_document, model, usable, manifests, readable)
        )
        services = {name: document for (kind, name), document in manifests.items() if kind == "Service"}
        services, problems = live_services(self.folder, services, app_document if model else None)
        self.problems.extend(problems)
        services = self._serving(spec, services, target_file, target)
        tracked = self._track(target_document, manifests, readable) if target_document and target else None
        return AppConfig(
            app=self.app,
            spec=spec,
            body=body,
            target=self._as_target(target, tracked, release, source) if target and tracked else None,
            primary=primary,
            services={name: document.value for name, document in services.items()},
            problems=tuple(first_of_each(self.problems)),
            target_file=target_file,
            whole=not self.problems,
            templates=self.templates,
            providers=self.providers,
            configuration=tuple(self.configuration.values()),
            auxiliary_objects=auxiliary_objects,
            labels=metadata_of(target_document, "labels"),
            annotations=metadata_of(target_document, "annotations"),
            selector=match_labels(target_document) if target else {},
            pin=self._pin(app_document, source) if app_document and spec and spec.revision else None,
            folder=self.folder,
            lacks_configuration=tracked is not None and bool(tracked.elsewhere),
            untracked=tuple(map(self._name, tracked.untracked)) if tracked else (),
            has_primary=self.has_primary,
            has_target=(RELEASE_FILE if self.is_later else target_file) in self.files,
            environment=self.environment,
            release=release,
            workload=target_document if self.home else None,
            jobs=self.job_files,
        )

    @property
    def is_later(self) -> bool:
        """Whether it is read for an environment that takes its releases from another one."""
        return self.home is not None and not self.home.is_first

    def _pin(self, document: Document, source: SourceOf) -> Pin:
        remedy = "name one that gitops-bg history shows, or remove the field"
        return Pin(source(APP_FILE), document.problem(("spec", "revision"), "", remedy))

    def _path(self, filename: str) -> str:
        return f"{self.folder}/{path_in(self.environment, filename)}"

    def _name(self, path: str) -> str:
        """Return the name under which a file is read, by its path."""
        name = path.removeprefix(f"{self.folder}/")
        return next(iter(seen_in(self.environment, [name])), name) if self.environment else name

    def _check_folder(self) -> None:
        for part in (self.app.namespace, self.app.name):
            if not is_dns_label(part):
                message = f"{part!r} is not a name that Kubernetes takes"
                remedy = "rename the folder: at most 63 small letters, digits and -"
                self.problems.append(Problem(self.folder, message, remedy=remedy))
        if self.home is not None:
            self.problems.extend(check_home(self.home, self.app, self.folder, self.files))
            self.files = {name: each for name, each in self.files.items() if not is_misplaced(self.home, name)}
        # A problem with the folder is a problem of each of its files.
        self.problems.extend(dict.fromkeys(found for found in self.files.values() if isinstance(found, Problem)))

    def _document(self, filename: str) -> Document | None:
        """Return the one document of a file; None where it is missing, unusable (reported already) or broken."""
        content = self.files.get(filename)
        if not isinstance(content, bytes):
            return None
        document, problems = read_one(self._path(filename), content)
        template = unrendered(self._path(filename), content, problems)
        self.problems.extend(template or problems)
        return None if template else document

    def _app(self) -> tuple[Document | None, models.AppFields | None]:
        document = self._document(APP_FILE) if APP_FILE in self.files else self._without_app_file()
        if document is None:
            return None, None
        own = self._layered_app(as_own(document))
        if own is None:
            return document, None
        document = own
        if remedy := instead_of_app(kind := document.value.get("kind")):
            self.problems.append(document.problem(("kind",), f"a {kind} is no app of gitops-bg", remedy))
            return document, None
        model, problems = validate(models.BlueGreenDeployment, document, {SETTINGS_FILE: Settings})
        if model is not None:
            place = check_place(document, self.app, model.metadata, named=True)
            problems = (*place, *check_services(document))
        self.problems.extend(problems)
        return document, model.spec if model and not problems else None

    def _layered_app(self, document: Document) -> Document | None:
        """Return an app.yaml with what the environment says otherwise; None where that cannot be read."""
        if self.home is None:
            return document
        document, name = with_auto_promotion(document, self.home.environment), f"{self.environment}/{APP_FILE}"
        if name not in self.files:
            return document
        own = self._document(name)
        return app_with_own(document, own) if own is not None else None

    def _without_app_file(self) -> Document | None:
        """Return what counts where the folder has no app.yaml: a member of a release group needs none."""
        if self.member:
            document, _ = read_one(self._path(APP_FILE), implied_app(self.member))
            return replace(document, data=b"") if document else None  # no file has its lines
        meant = meant_as(APP_FILE, self.files)
        remedy = f"rename {meant} to {APP_FILE}" if meant else "add it, or delete the folder"
        self.problems.append(Problem(self._path(APP_FILE), "is missing", remedy=remedy))
        return None

    def _base(self, app_document: Document | None, filename: str) -> Document | None:
        """Return the workload before any overlay: the target, or what came in with a release; None without one."""
        if self.is_later:
            return self._document(RELEASE_FILE)
        if filename not in self.files:
            meant = meant_as(filename, self.files)
            remedy = f"rename {meant} to {filename}" if meant else f"add it to {self.folder}"
            message = f"{filename} is not in the folder"
            if app_document and value_at(app_document.value, ("spec", "render")) is not None:
                remedy = f"run `gitops-bg render {self.app}`, and commit what it writes"
            anchor = app_document or Document(self._path(APP_FILE), None)
            self.problems.append(anchor.problem(("spec", "target"), message, remedy))
        document = self._document(filename)
        return as_own(document) if document is not None else None

    def _target(self, base: Document | None) -> tuple[Document | None, TargetFile | None]:
        document = self._with_overlay(base) if base is not None else None
        if document is None:
            return None, None
        target, problems = read_target(document, self.app)
        self.problems.extend(problems)
        return document, target

    def _with_overlay(self, base: Document) -> Document | None:
        """Return the workload with what the environment has of its own; None where one of the two is invalid."""
        release = self._noted(workload_of_release(base, self.app)) if self.is_later else base
        if release is None or OVERLAY_FILE not in self.files:
            return release
        overlay = self._document(OVERLAY_FILE)
        return self._noted(with_overlay(release, overlay)) if overlay is not None else None

    def _noted(self, found: tuple[Document | None, tuple[Problem, ...]]) -> Document | None:
        self.problems.extend(found[1])
        return found[0]

    def _fits(self, document: Document, model: models.AppFields, target_document: Document | None) -> bool:
        """Return whether app.yaml contradicts nothing in its target; if it does, none of it is applied."""
        problems = tuple(check_pod_metadata(document, model, selected_labels(target_document)))
        if target_document and target_document.value.get("kind") == WorkloadKind.DAEMON_SET:
            problems += tuple(check_app_of_daemon_set(document))
        self.problems.extend(problems)
        return not problems

    def _spec(
        self, document: Document, model: models.AppFields, target_document: Document | None, target: TargetFile | None
    ) -> tuple[AppSpec, dict[str, Any]]:
        inherited = target.min_ready_seconds if target else 0
        spec = to_core(self.app, model, self._plans(document, model), self._alerts(document, model), inherited)
        spec = replace(spec, environment=self.environment) if self.environment else spec
        body = without_nulls(document.value["spec"])
        if inherited and "minReadySeconds" not in body:
            body["minReadySeconds"] = inherited
        if target_document and spec.progress_deadline_seconds <= spec.min_ready_seconds:
            message = f"{inherited} is not less than progressDeadlineSeconds of {APP_FILE}"
            remedy = f"lower it below {spec.progress_deadline_seconds}, or set minReadySeconds in {APP_FILE}"
            self.problems.append(target_document.problem(("spec", "minReadySeconds"), message, remedy))
        return spec, body

    def _plans(self, document: Document, model: models.AppFields) -> Plans:
        plans = plans_of(self.app, model, document, self.library)
        self.templates = plans.templates
        self.problems.extend(plans.problems)
        written, place = model.jobs, ("spec", "jobs")
        before = named_files(written.before_pods if written else None, (*place, "beforePods"))
        after = named_files(written.after_settled if written else None, (*place, "afterSettled"))
        problems = self._read_jobs(document, model, [*before, *after])
        if self.member and after:
            wrong = document.problem(("spec", "jobs", "afterSettled"), *NO_CONTRACT, at_key=True)
            self.problems.append(wrong)
            problems = (*problems, wrong)
        return replace(plans, jobs=plan_of(before, self.jobs, problems), contract=plan_of(after, self.jobs, problems))

    def _read_jobs(self, document: Document, model: models.AppFields, files: list[NamedFile]) -> tuple[Problem, ...]:
        """Read the Jobs that app.yaml names, each once."""
        if not files:
            return ()
        folder = JobFolder(self.app, document, model.target, self.folder, self.files.keys(), self._document)
        self.jobs, problems = read_jobs(folder, files)
        self.job_files = tuple(each.name for each in files if each.name != model.target)
        self.problems.extend(problems)
        return problems

    def _alerts(self, document: Document, model: models.AppFields) -> tuple[Hook, ...]:
        alerts = alerts_of(self.app, model.alerts, document, self.alerting, self._path(model.target))
        self.providers = alerts.providers
        self.problems.extend(alerts.problems)
        return alerts.hooks

    def _primary(self, source: SourceOf) -> Primary | None:
        document = self._document(PRIMARY_FILE)
        if document is None:
            return None
        if self._is_of_another_version(document):
            self.has_primary = False
            return None
        primary, problems = read_primary(document, self.app)
        self.problems.extend(problems)
        if primary is None:
            return None
        self.configuration |= {each.ref: each for each in primary.configuration}
        changed_by = source(PRIMARY_FILE)
        return Primary(primary.snapshot, primary.version, primary.source, changed_by, primary.services, primary.release)

    def _is_of_another_version(self, primary: Document) -> bool:
        """Return whether the agent committed it for another version of the same service, whose folder people have
        copied.
        """
        name = value_at(primary.value, ("metadata", "name"))
        return self.member is not None and isinstance(name, str) and self.member.own(name) == self.app.name != name

    def _manifests(
        self, target_file: str, base: Document | None, target: Document | None, source: SourceOf
    ) -> tuple[dict[Named, Document], bool, Release | None]:
        """Return the manifests beside the three files by kind and name, whether all of them could be read, and the
        release that the base is.
        """
        known = len(self.problems)
        names = [name for name in sorted(self.files) if is_read(name) and not self._is_own(name, target_file)]
        shared = self._named(name for name in names if "/" not in name)
        own = self._named(name for name in names if "/" in name)
        unusable = any(isinstance(content, Problem) for content in self.files.values())
        readable = len(self.problems) == known and not unusable
        if self.home is None or base is None or target is None:
            return shared | own, readable, None
        if self.is_later:
            shared, problems = as_released(shared, own, base, target, self._today(target_file), self.app)
            self.problems.extend(problems)
            return shared | own, readable, read_release(base, self.app)[0]
        tracked = track(base, shared)
        made_by = source(target_file, *map(self._name, tracked.files))
        release = None if tracked.problems else release_of(base.value, tracked.configuration, made_by)
        return shared | own, readable, release

    def _is_own(self, name: str, target_file: str) -> bool:
        """Return whether a file is one of ours, and no manifest beside them."""
        ours = (APP_FILE, PRIMARY_FILE, target_file, *self.job_files)
        return name in (*ours, *OF_ENVIRONMENT, f"{self.environment}/{APP_FILE}") if self.home else name in ours

    def _named(self, names: Iterable[str]) -> dict[Named, Document]:
        manifests: dict[Named, Document] = {}
        for filename in names:
            for document, found in self._objects(filename):
                named = (found.kind, str(document.value["metadata"]["name"]))
                self._check_once(manifests, document, named)
                manifests.setdefault(named, document)
        return manifests

    def _today(self, target_file: str) -> Any:
        """Return the pod template of the target of now, which a later environment does not run; None without one."""
        content = self.files.get(target_file)
        document, _ = read_one(self._path(target_file), content) if isinstance(content, bytes) else (None, ())
        return template_of(document.value) if document is not None else None

    def _track(self, target: Document, manifests: Mapping[Named, Document], readable: bool) -> Tracked | None:
        """Return the configuration of the target; None where it is invalid, or may be in a file that cannot be read."""
        tracked = track(target, manifests)
        self.problems.extend(tracked.problems)
        known = frozenset((each.ref.kind, each.ref.name) for each in tracked.configuration)
        there = frozenset(named for named in manifests if named[0] in (CONFIG_MAP, SECRET))
        for job in self.jobs.values():
            self.problems.extend(check_references(job, there, known))
        if tracked.problems or (tracked.elsewhere and not readable):
            return None
        self.configuration |= {each.ref: each for each in tracked.configuration}
        return tracked

    def _as_target(self, target: TargetFile, tracked: Tracked, release: Release | None, source: SourceOf) -> Target:
        refs = (each.ref for each in tracked.configuration)
        base = RELEASE_FILE if self.is_later else self.target_file
        overlay = [OVERLAY_FILE] if self.home and OVERLAY_FILE in self.files else []
        made_by = source(*dict.fromkeys((base, *overlay, *map(self._name, tracked.files))))
        named = release.id if release else None
        return Target(with_configuration(target.snapshot, refs), target.replicas, made_by, release=named)

    def _auxiliary_objects(self, folder: FolderContent) -> AuxiliaryObjects:
        auxiliary_objects, problems = auxiliary_of(folder)
        self.problems.extend(problems)
        return auxiliary_objects

    def _objects(self, filename: str) -> list[tuple[Document, Object]]:
        content = self.files[filename]
        if not isinstance(content, bytes):
            return []
        if problem := unrendered_file(self._path(filename)):
            self.problems.append(problem)
            return []
        reading = read(self._path(filename), content)
        holds_texts = any(kind_in(each.value) in (CONFIG_MAP, SECRET) for each in reading.documents)
        template = unrendered(self._path(filename), content, reading.problems, holds_texts=holds_texts)
        self.problems.extend(template or reading.problems)
        if template:
            return []
        good: list[tuple[Document, Object]] = []
        for document in reading.documents:
            found, problems = validate(model_of(document.value), document)
            if found is not None:
                problems = tuple(check_supported(document, found))
                problems += tuple(check_ports(document)) if found.kind == "Service" else ()
                problems += tuple(check_place(document, self.app, found.metadata, named=False))
            self.problems.extend(problems)
            if found is not None and not problems:
                good.append((as_own(document) if found.kind == "Service" else document, found))
        return good

    def _check_once(self, seen: Container[Named], document: Document, named: Named) -> None:
        if named in seen:
            kind, name = named
            message = f"{kind} {name} is in the folder twice"
            self.problems.append(document.problem(("metadata", "name"), message, "keep one of the two"))

    def _serving(
        self, spec: AppSpec | None, services: Mapping[str, Document], target_file: str, target: TargetFile | None
    ) -> dict[str, Document]:
        """Return the Services of the folder, checked; without those that would lead the app's traffic out of the
        cluster.
        """
        if spec is None:
            return dict(services)
        template = target.snapshot.text if target else ""
        routed = {*spec.strategy.active_services, spec.strategy.preview_service} & services.keys()
        for name in sorted(filter(None, routed)):
            self.problems.extend(check_service(services[name], target_file, template))
        return {name: each for name, each in services.items() if not (name in routed and is_external(each))}
