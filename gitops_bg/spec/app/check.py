"""Checks a whole repository, file by file and across apps, for `gitops-bg check`: its errors, and the notes on what has
no effect or comes from outside of an app's folder. Fetches and changes nothing.

A note is no error: the app, or the release group, is valid with it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import NO_ENVIRONMENTS, Environments
from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, GroupKey, Source
from gitops_bg.spec.analysis.templates import Library, load_templates
from gitops_bg.spec.app.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    APP_FILE,
    APPS_FOLDER,
    ENVIRONMENTS_FILE,
    GROUP_FILE,
    GROUPS_FOLDER,
    OF_ENVIRONMENT,
    PRIMARY_FILE,
    ROUTES_FILE,
    SETTINGS_FILE,
    SIGNERS_FILE,
    MemberFolder,
    app_of,
    app_of_folder,
    group_folder,
    group_of,
    in_environment,
    is_manifest,
    meant_as,
    member_of,
    path_in,
)
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.settings import Settings, alerting_of, read_settings
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.client_settings import CLIENT_SETTINGS_FILE, read_client_settings
from gitops_bg.spec.environments.check import (
    EnvironmentView,
    check_apps_in_environments,
    notes_of_environments,
    views_of,
)
from gitops_bg.spec.environments.load import load_environments
from gitops_bg.spec.groups.load import load_group
from gitops_bg.spec.lint.app_folder import (
    FIELD,
    NO_EFFECT,
    PROBLEM,
    REFUSED_ADDRESS,
    AppFolder,
    Finding,
    LintSeverity,
    Rule,
)
from gitops_bg.spec.lint.rules import findings as folder_findings
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.manifests.configuration import CONFIG_MAP, SECRET, TRACKING, is_tracked
from gitops_bg.spec.manifests.members import implied_app, live_name
from gitops_bg.spec.manifests.traffic import service_fields
from gitops_bg.spec.notifications import Alerting, check_defaults, load_providers
from gitops_bg.spec.policies.load import check_policies, load_policies
from gitops_bg.spec.policies.people import check_signers
from gitops_bg.spec.yaml.parser import MAX_PROBLEMS
from gitops_bg.spec.yaml.reader import Document, more_like, read, read_one

File = bytes | Problem

Lint = Callable[[Document], Iterable[Problem]]
"""A linter of Kubernetes' own objects; passed in, because it needs a library."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: errors and notes, sorted by path."""

    findings: tuple[Finding, ...]

    @property
    def problems(self) -> list[Problem]:
        """The errors."""
        return self._of(LintSeverity.ERROR)

    @property
    def notes(self) -> list[Problem]:
        """What is no error."""
        return self._of(LintSeverity.NOTE)

    def _of(self, severity: LintSeverity) -> list[Problem]:
        return [each.problem for each in self.findings if each.rule.severity is severity]


def check_repository(
    files: Iterable[tuple[str, File]],
    lint: Lint = lambda _document: (),
    now: datetime | None = None,
    addresses: Lint = lambda _document: (),
) -> Checked:
    """Check a repository. Paths have slashes and start at its root.

    ``addresses`` finds those of templates, hooks and alerts that the agent refuses to call.

    ``now``: every window of a policy must open within a year from then; None: that is not checked.
    """
    contents = dict(files)
    library = load_templates(contents)
    alerting = _alerting(contents)
    environments = load_environments(contents.get(ENVIRONMENTS_FILE))
    views = [
        _View(view.apps, _loaded(view, library, alerting)) for view in views_of(contents, environments.environments)
    ]
    configs = [config for view in views for config in view.configs]
    loaded = load_policies(contents)
    policies = check_policies(loaded, configs, _settings(contents), now, environments.environments)
    signers, nobody_s = check_signers(loaded.people, contents.get(SIGNERS_FILE))
    groups = _groups(contents, library)
    problems = [
        *environments.problems,
        *check_apps_in_environments(contents, environments.environments),
        *library.all_problems(),
        *alerting.providers.all_problems(),
        *check_defaults(alerting),
        *_check_settings(contents),
        *_check_places(contents, environments.environments),
        *(problem for config in configs for problem in config.problems),
        *(problem for group in groups.values() for problem in group.problems),
        *(problem for view in views for problem in _check_together(view, groups)),
        *policies.problems,
        *signers,
    ]
    looked_at = [(config, view.apps[config.folder]) for view in views for config in view.configs]
    manifests = [_manifests(config, files) for config, files in looked_at]
    linted = (problem for each in manifests for document in each.values() for problem in lint(document))
    found = [*_found(PROBLEM, problems), *_found(FIELD, linted)]
    folders = [_folder(config, each, files) for (config, files), each in zip(looked_at, manifests, strict=True)]
    found += (each for folder in folders for each in folder_findings(folder, LintSeverity.ERROR))
    of_groups = (note for key, desired in groups.items() for note in notes_of_group(key, desired))
    notes = [*of_groups, *policies.notes, *nobody_s]
    notes += environments.notes
    notes += notes_of_environments(configs, contents, environments.environments)
    broken = {folder for each in found for folder in _folders_of(each.problem.file)}
    sound = (each for each in folders if not each.config.problems and each.config.folder not in broken)
    for folder in (each for each in sound if not _awaits_release(each.config)):
        notes += notes_of(folder.config, folder.app, folder.others)
        found += folder_findings(folder, LintSeverity.NOTE)
    called = (each for document in _calling(contents) for each in addresses(document))
    found += _found(REFUSED_ADDRESS, (each for each in called if each.file.rpartition("/")[0] not in broken))
    return Checked(tuple(_first_of_each(_in_order(_without_repeats([*found, *_found(NO_EFFECT, notes)])))))


@dataclass(frozen=True, slots=True)
class _View:
    """The apps as one environment has them; where there are no environments, all of them."""

    apps: Mapping[str, Mapping[str, File]]
    """The files of each folder, by the names under which an app is read."""
    configs: tuple[AppConfig, ...]


def _loaded(view: EnvironmentView, library: Library, alerting: Alerting) -> tuple[AppConfig, ...]:
    return tuple(
        load_app(app, found, _no_source, library, alerting, folder, view.homes.get(folder))
        for folder, found in sorted(view.apps.items())
        if (app := app_of_folder(folder))
    )


def _check_together(view: _View, groups: Mapping[GroupKey, DesiredGroup]) -> Iterator[Problem]:
    """Report what apps of one environment want of the same objects."""
    yield from _check_once(view.configs)
    yield from _check_shared_services(view.configs, view.apps, groups)
    yield from _check_shared_routes(view.configs, view.apps, groups)


def _awaits_release(config: AppConfig) -> bool:
    """Return whether no release came into the environment yet: nobody can say what would have no effect there."""
    return bool(config.environment) and not config.has_target


def _folders_of(file: str) -> tuple[str, str]:
    """Return the folder of a file, and the one around it, which is the app's where the file is of one environment."""
    folder = file.rpartition("/")[0]
    return folder, folder.rpartition("/")[0]


def _calling(contents: Mapping[str, File]) -> Iterator[Document]:
    """Yield the documents that say whom the agent is to call."""
    for path, content in contents.items():
        shared = path.startswith((f"{ANALYSIS_FOLDER}/", f"{ALERTS_FOLDER}/")) and is_manifest(path)
        app, group = app_of(path), group_of(path)
        if isinstance(content, bytes) and (
            shared or (app and app[1] == APP_FILE) or (group and group[1] == GROUP_FILE)
        ):
            yield from read(path, content).documents


def _alerting(contents: dict[str, File]) -> Alerting:
    settings = contents.get(SETTINGS_FILE)
    return alerting_of(settings if isinstance(settings, bytes) else None, load_providers(contents))


def _settings(contents: Mapping[str, File]) -> tuple[Settings, Document] | None:
    content = contents.get(SETTINGS_FILE)
    document = read_one(SETTINGS_FILE, content)[0] if isinstance(content, bytes) else None
    model = validate(Settings, document)[0] if document else None
    return (model, document) if model and document else None


def _found(rule: Rule, problems: Iterable[Problem]) -> Iterator[Finding]:
    return (Finding(rule, problem) for problem in problems)


def _in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings by place. One of a shared file occurs once, however many apps use the file."""
    by_place = sorted(
        dict.fromkeys(found), key=lambda each: (each.problem.file, each.problem.line or 0, each.problem.column or 0)
    )
    return tuple(by_place)


def _first_of_each(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the first errors and the first notes of each file, and where there are more of them."""
    known: Counter[tuple[str, LintSeverity]] = Counter()
    for each in found:
        kind = each.problem.file, each.rule.severity
        known[kind] += 1
        if known[kind] <= MAX_PROBLEMS:
            yield each
        elif known[kind] == MAX_PROBLEMS + 1:
            yield Finding(each.rule, more_like(each.problem))


def _without_repeats(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings without those about a field of which a rule before has said something."""
    first: dict[object, Rule] = {}
    for each in found:
        place = (each.problem.file, each.problem.line, each.problem.field)
        if first.setdefault(place, each.rule) is each.rule:
            yield each


def _manifests(config: AppConfig, files: Mapping[str, File]) -> dict[tuple[str, int], Document]:
    """Return the documents of an app's files that are Kubernetes' own objects, by file name and number."""
    ours = {APP_FILE, PRIMARY_FILE, *([ROUTES_FILE] if member_of(config.folder) else [])}
    found: dict[tuple[str, int], Document] = {}
    if config.environment:  # The workload is that of all layers together.
        ours |= {*OF_ENVIRONMENT, config.target_file, f"{config.environment}/{APP_FILE}"}
        found |= {(config.target_file, 0): config.workload} if config.workload is not None else {}
    for name, content in files.items():
        if is_manifest(name) and name not in ours and isinstance(content, bytes):
            for document in read(f"{config.folder}/{path_in(config.environment, name)}", content).documents:
                found[name, document.number] = document
    return found


def _folder(config: AppConfig, manifests: Mapping[tuple[str, int], Document], files: Mapping[str, File]) -> AppFolder:
    """Return the folder of an app as rules look at it."""
    objects = {place: each for place, each in manifests.items() if isinstance(each.value, dict)}
    targets = [each for (name, _), each in objects.items() if name == config.target_file]
    return AppFolder(
        config,
        _app_document(config, files),
        targets[0] if len(targets) == 1 else None,
        tuple(each for (name, _), each in objects.items() if name not in (config.target_file, *config.jobs)),
    )


def _groups(contents: dict[str, File], library: Library) -> dict[GroupKey, DesiredGroup]:
    """Return the release groups, each read from all files below its folder."""
    groups: dict[GroupKey, dict[str, File]] = {}
    for path, content in contents.items():
        place = group_of(path)
        if place is not None:
            groups.setdefault(place[0], {})[place[1]] = content
    return {group: load_group(group, files, library=library).desired for group, files in sorted(groups.items())}


def _check_once(configs: Iterable[AppConfig]) -> Iterator[Problem]:
    """Report apps that are in two places: nothing of them moves."""
    first: dict[AppKey, AppConfig] = {}
    for config in configs:
        other = first.setdefault(config.app, config)
        if other is not config:
            message = f"is the app {config.app}, and so is {other.folder}"
            yield Problem(config.folder, message, remedy="rename one of the folders; until then nothing of it moves")


def _no_source(*filenames: str) -> Source:
    """Return a source without a commit: a check needs none."""
    return Source(commit=f"none: {', '.join(filenames)} only checked")


def _check_settings(contents: dict[str, File]) -> Iterator[Problem]:
    content = contents.get(SETTINGS_FILE)
    if content is None:
        meant = meant_as(SETTINGS_FILE, contents)
        remedy = f"rename {meant}" if meant else "copy it from repo-template, or run `gitops-bg init`"
        yield Problem(SETTINGS_FILE, "is missing", remedy=remedy)
    elif isinstance(content, Problem):
        yield content
    else:
        yield from read_settings(content)[1]
    content = contents.get(CLIENT_SETTINGS_FILE)
    if isinstance(content, Problem):
        yield content
    elif content is not None:
        yield from read_client_settings(content, of_repository=True)[1]


def _check_places(contents: dict[str, File], environments: Environments | None) -> Iterator[Problem]:
    """Report manifests below apps/ and groups/ at a depth where they are not read; elsewhere people may keep any files.

    Of what is below the folder of a release group, its own reader says more.
    """
    for path, content in contents.items():
        if path.startswith(f"{GROUPS_FOLDER}/") and group_of(path) is None:
            if is_manifest(path):
                remedy = f"move it to {GROUPS_FOLDER}/<namespace>/<group>/"
                yield Problem(path, "is not in the folder of a release group, so nobody reads it", remedy=remedy)
            elif isinstance(content, Problem):
                yield content
        is_divided = environments != NO_ENVIRONMENTS and in_environment(path) is not None
        if path.startswith(f"{APPS_FOLDER}/") and app_of(path) is None and not is_divided:
            if is_manifest(path):
                remedy = f"move it to {APPS_FOLDER}/<namespace>/<app>/"
                yield Problem(path, "is not in the folder of an app, so nobody reads it", remedy=remedy)
            elif isinstance(content, Problem):
                yield content


def _check_shared_services(
    configs: Iterable[AppConfig],
    apps: Mapping[str, Mapping[str, File]],
    groups: Mapping[GroupKey, DesiredGroup],
) -> Iterator[Problem]:
    """Report Services that two apps, or an app and a release group, would move: each would revert the other."""
    owners: dict[tuple[str, str], AppKey | GroupKey] = {
        (group.namespace, service): group for group, desired in groups.items() for service in services_of(desired)
    }
    for config in configs:
        document = _app_document(config, apps[config.folder])
        fields = service_fields(config.spec.strategy, document.value) if config.spec else ()
        for service, field, _ in fields:
            owner = owners.setdefault((config.app.namespace, service), config.app)
            if owner != config.app:
                whose = f"the release group {owner}" if isinstance(owner, GroupKey) else owner
                message = f"the Service {service} belongs to {whose} already"
                yield document.problem(field, message, "give each app Services of its own")


def _check_shared_routes(
    configs: Iterable[AppConfig],
    apps: Mapping[str, Mapping[str, File]],
    groups: Mapping[GroupKey, DesiredGroup],
) -> Iterator[Problem]:
    """Report an app with a route that has the name of a release group: both would write the HTTPRoute of that name."""
    routed = {group for group, desired in groups.items() if desired.spec is not None and desired.spec.gateway}
    for config in configs:
        group = GroupKey(config.app.namespace, config.app.name)
        if config.auxiliary_objects.route is not None and group in routed:
            message = f"has an HTTPRoute called {group.name}, and so has the release group {group}"
            document = _app_document(config, apps[config.folder])
            yield document.problem(("spec", "strategy", "blueGreen", "routes"), message, "rename one of the folders")


def _app_document(config: AppConfig, files: Mapping[str, File]) -> Document:
    """Return the app.yaml of an app, with its lines; an empty document where it cannot be read.

    Where a member of a release group has none, the one that counts instead.
    """
    file, content, member = f"{config.folder}/{APP_FILE}", files.get(APP_FILE), member_of(config.folder)
    if content is None and member:
        content = implied_app(member)
    document, _ = read_one(file, content) if isinstance(content, bytes) else (None, ())
    return document or Document(file, {})


def notes_of(config: AppConfig, app: Document | None, others: Iterable[Document]) -> Iterator[Problem]:
    """Yield the notes on an app: of its app.yaml, and of the documents of its other files."""
    anchor = app or Document(f"{config.folder}/{APP_FILE}", {})
    named = tuple(service_fields(config.spec.strategy, anchor.value)) if config.spec else ()
    yield from _measuring_nothing(config, anchor)
    yield from _counting_for_nothing(config, anchor)
    yield from _reaching_no_candidate(config, anchor)
    for document in others:
        yield from _without_effect(document, {name for name, _, _ in named}, config, member_of(config.folder))
    copied = {each.service: each.ports for each in config.ports}
    for name, field, carries in named:
        if name not in config.services:
            made = "with the ports of the active one" if copied.get(name) else "of the pods' ports"
            message = f"Service {name} ({carries}) is not in Git: the agent makes it {made}"
            remedy = "one that the cluster has already is taken only if it has the label gitops-bg.dev/app"
            yield anchor.problem(field, message, remedy)


def _measuring_nothing(config: AppConfig, app: Document) -> Iterator[Problem]:
    """Note an analysis without templates, which is none, as in Argo Rollouts."""
    if config.spec is None:
        return
    strategy = config.spec.strategy
    plans = {
        "prePromotionAnalysis": strategy.pre_promotion_analysis,
        "postPromotionAnalysis": strategy.post_promotion_analysis,
    }
    written = app.value["spec"]["strategy"]["blueGreen"]
    for field, plan in plans.items():
        if field in written and plan is None:
            place = ("spec", "strategy", "blueGreen", field)
            yield app.problem(place, "names no template: nothing is measured", "add templates, or remove it")


def _counting_for_nothing(config: AppConfig, app: Document) -> Iterator[Problem]:
    """Note a countdown without effect: nothing goes live by itself unless the app says so (docs/decisions/0023)."""
    if config.spec and config.spec.strategy.auto_promotion_seconds and not config.spec.strategy.auto_promotion_enabled:
        place = ("spec", "strategy", "blueGreen", "autoPromotionSeconds")
        yield app.problem(place, "does nothing: nobody waits for it", "add autoPromotionEnabled: true, or remove it")


def _reaching_no_candidate(config: AppConfig, app: Document) -> Iterator[Problem]:
    """Note a route by which no request can reach a candidate."""
    if config.auxiliary_objects.route and config.spec and config.spec.strategy.preview_service is None:
        place = ("spec", "strategy", "blueGreen", "routes")
        yield app.problem(place, "leads to the live version only: there is no preview Service", "add previewService")


def _is_tracked(kind: str, name: str, config: AppConfig) -> bool:
    return any((each.ref.kind, each.ref.name) == (kind, name) for each in config.configuration)


def _without_effect(
    document: Document, services: set[str], config: AppConfig, member: MemberFolder | None
) -> Iterator[Problem]:
    kind, name = document.value["kind"], document.value["metadata"]["name"]
    if kind in AUTOSCALERS:
        yield from _one_of_several(document, config)
    elif AuxiliaryObject(kind, live_name(config.folder, name)) in config.auxiliary_objects.manifests:
        yield from _used_by_nothing(document)
    elif _is_tracked(kind, name, config):
        return
    elif kind != "Service":
        message = f"{kind} {name} is only checked: the agent does not apply it yet"
        yield document.problem(("kind",), message, "apply it by other means")
    elif name not in services and config.spec is not None and not (member and name == member.service):
        message = f"Service {name} is only checked: {APP_FILE} does not name it, so the agent does not apply it"
        yield document.problem(("metadata", "name"), message, "apply it by other means, or remove it")


def _one_of_several(document: Document, config: AppConfig) -> Iterator[Problem]:
    """Note an autoscaler that app.yaml does not name."""
    kind, name = document.value["kind"], document.value["metadata"]["name"]
    chosen = config.auxiliary_objects
    if chosen.autoscaler and (chosen.autoscaler.copy.kind, chosen.scaled_by) != (kind, name):
        message = f"{kind} {name} is only checked: autoscalerRef in {APP_FILE} names another"
        yield document.problem(("metadata", "name"), message, "remove it")


def _used_by_nothing(document: Document) -> Iterator[Problem]:
    """Note a ConfigMap or Secret that would be part of the version if the target referred to it."""
    kind, name = document.value["kind"], document.value["metadata"]["name"]
    if kind in (CONFIG_MAP, SECRET) and is_tracked(document.value, frozenset({(kind, name)})):
        message = f"the target does not refer to {kind} {name}: it is applied as it is, a change of it makes no version"
        remedy = f"refer to it, or remove it; if it is meant so, say it: annotation {TRACKING[0]}: disabled"
        yield document.problem(("metadata", "name"), message, remedy)


def notes_of_group(group: GroupKey, desired: DesiredGroup) -> Iterator[Problem]:
    """Yield the notes on one group; none where it has errors, because the notes could then be wrong."""
    services = [one for each in desired.versions.values() for one in each.services.values()]
    routes = [route for one in services for route in one.routes]
    if desired.spec is None or desired.problems:
        return
    file, gateway = f"{group_folder(group)}/{GROUP_FILE}", desired.spec.gateway
    if gateway is None and routes:
        message = "has no gateway: its routes lead nowhere, and no header reaches a version"
        remedy = "add gateway; without one only the Services follow the active version"
        yield Problem(file, message, field="spec", remedy=remedy)
    hosts = sorted({route.match.host for route in routes if route.match.host})
    if gateway is not None and not gateway.hosts and hosts:
        message = f"names no hosts, so nobody can tell from Git whether the Gateway serves {', '.join(hosts)}"
        yield Problem(file, message, field="spec.hosts", remedy="list the hosts of the Gateway; check --live asks it")


def services_of(desired: DesiredGroup) -> frozenset[str]:
    """Return the Services that the group itself makes: each service's own name."""
    return frozenset(name for each in desired.versions.values() for name, one in each.services.items() if one.pods)
