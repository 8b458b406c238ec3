"""The import as a whole: manifests in, the files of a repository out, or every reason why there are none.

Nothing is dropped silently: a field or an object without an equal is listed, with its place, why, and what to do. An
import that cannot be whole has no files (decision 62).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import fit
from gitops_bg.spec.app.layout import ALERTS_FOLDER, ANALYSIS_FOLDER, APP_FILE, app_file, folder_of, is_dns_label
from gitops_bg.spec.importing import beside, flagger, oam, workloads
from gitops_bg.spec.importing.beside import CompanionObjects
from gitops_bg.spec.importing.draft import AppDraft, DraftObject, file_text, problems_of
from gitops_bg.spec.importing.flagger_metrics import METRICS_SERVER, ImportedMetrics
from gitops_bg.spec.importing.manifest import Manifest, cleaned, read_manifests
from gitops_bg.spec.importing.manifest import text_of as as_written
from gitops_bg.spec.importing.tools import AS_BEFORE, IMPORTED, OF_OAM, instead_of, is_known, left_out
from gitops_bg.spec.yaml.reader import first_of_each, read
from gitops_bg.spec.yaml.scalars import as_map, to_yaml

Content = bytes | Problem


@dataclass(frozen=True, slots=True)
class Imported:
    """The files to write by path, and what they are; none where ``problems`` says why."""

    files: Mapping[str, str] = field(default_factory=dict)
    apps: tuple[AppKey, ...] = ()
    listed: tuple[Problem, ...] = ()
    """What has no equal: why, and what to do instead."""
    problems: tuple[Problem, ...] = ()


def convert(
    sources: Iterable[tuple[str, bytes]],
    repository: Mapping[str, Content],
    namespace: str = "",
    metrics_server: str = METRICS_SERVER,
) -> Imported:
    """Convert the manifests of ``sources``, by file name, into files beside those of ``repository``, by path.

    ``namespace`` is that of manifests that say none; ``metrics_server`` the Prometheus of Flagger's builtin metrics.
    """
    return _Import(list(sources), repository, namespace, metrics_server).run()


class _Import:
    """One import; collects what is written, what is listed, and what is wrong."""

    def __init__(
        self, sources: list[tuple[str, bytes]], repository: Mapping[str, Content], namespace: str, server: str
    ) -> None:
        manifests, problems = read_manifests(sources, namespace)
        self.repository = repository
        self.problems = problems if manifests or problems else [_nothing_in(name) for name, _ in sources]
        self.listed: list[Problem] = []
        self.unused: list[Problem] = []
        """What cannot be imported, and what no app needs: it keeps nothing else from being whole."""
        self.drafts: list[AppDraft] = []
        self.manifests = list(self._usable(self._opened(manifests)))
        self.beside = CompanionObjects(self._of(*_BESIDE))
        self.consumed: set[int] = set()
        known = set(beside.templates_of(repository))
        self.metrics = ImportedMetrics(
            server,
            {(each.namespace, each.name): each for each in self._of("MetricTemplate")},
            {(each.namespace, each.name): each for each in self._of("Secret")},
            frozenset(known),
        )
        self.templates = known | {each.name for each in self._of("AnalysisTemplate", "ClusterAnalysisTemplate")}

    def run(self) -> Imported:
        """Convert everything; the apps first, because the rest is given to them."""
        for each in self._of("Rollout"):
            self._rollout(each)
        for each in self._of("Canary"):
            self._canary(each)
        for each in self._of("BlueGreenDeployment"):
            self._bgd(each)
        for each in self._of(*OF_OAM):
            self._of_oam(each)
        for each in self._of("Deployment"):
            if id(each) not in self.consumed:
                self._add(workloads.draft_of_deployment(each), is_chosen=False, preview=True)
        self._rest()
        pieces = self._files()
        self.problems.extend(self._clashes(pieces))
        self.problems.extend(self._outcome(pieces))
        if self.drafts:
            self.listed.extend(map(beside.left_out, self.unused))
        else:
            self.problems.extend(self.unused)
        listed = [*self.listed, *(each for draft in self.drafts for each in draft.listed)]
        apps = tuple(draft.app for draft in self.drafts)
        found = tuple(first_of_each(_in_order(self.problems)))
        files = {} if found else {path: file_text(each) for path, each in pieces.items()}
        return Imported(files, apps, tuple(_in_order(listed)), found)

    def _opened(self, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
        """Yield the objects, and of a Component of OAM the workload that it holds."""
        for each in manifests:
            if not oam.is_component(each):
                yield each
            elif (held := oam.workload_in(each)) is None:
                message = f"Component {each.name} holds no workload that can be imported"
                remedy = f"known: {', '.join(oam.HELD)}; take it out of the files, and apply it as before"
                self.problems.append(each.problem(("spec", "workload"), message, remedy))
            else:
                self.listed.extend(oam.left_of(each))
                yield held

    def _usable(self, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
        """Yield the objects that are imported; what is wrong with the others, or where they belong, is said."""
        seen: dict[tuple[str, str, str], Manifest] = {}
        for each in manifests:
            if remedy := left_out(each.kind, each.api):
                message = f"{f'{each.kind} {each.name}'.rstrip()} is left out"
                self.listed.append(each.problem(("kind",), message, remedy))
            elif not is_known(each.kind, each.api):
                message = f"a {each.kind} of {each.api} is nothing that can be imported"
                meant = instead_of(each.kind, each.api)
                where = self.problems if meant else self.unused
                where.append(each.problem(("kind",), message, meant or AS_BEFORE))
            elif not each.name:
                self.problems.append(each.problem(("metadata", "name"), "is required", "add name"))
            elif IMPORTED[each.kind].namespaced and not each.namespace:
                message = "is not there, and an app's folder is named after it"
                self.problems.append(each.problem(("metadata", "namespace"), message, "add it, or --namespace NAME"))
                yield replace(each, namespace=_NOWHERE)
            elif other := seen.get((each.kind, each.namespace, each.name)):
                message = f"there is a {each.kind} {each.name} already: {other.origin}"
                self.problems.append(each.problem(("metadata", "name"), message, "remove one of the two"))
            else:
                seen[each.kind, each.namespace, each.name] = each
                yield each

    def _of(self, *kinds: str) -> list[Manifest]:
        return [each for each in self.manifests if each.kind in kinds]

    def _find(self, kind: str, namespace: str, name: str) -> Manifest | None:
        found = (each for each in self._of(kind) if (each.namespace, each.name) == (namespace, name))
        return next(found, None)

    def _rollout(self, rollout: Manifest) -> None:
        ref = as_map(rollout.spec.get("workloadRef"))
        workload = self._workload(rollout, ref, ("spec", "workloadRef"), ("Deployment",)) if ref else None
        draft = workloads.draft_of_rollout(rollout, workload)
        draft.is_partial = workload is not None and id(workload) not in self.consumed
        for place, name in workloads.template_names(draft):
            if name not in self.templates:
                message = f"there is no AnalysisTemplate {name} among the files, nor in {ANALYSIS_FOLDER}/"
                self.problems.append(rollout.problem(place, message, "add its file to the import"))
        self._add(draft, is_chosen=bool(draft.services), preview=not draft.services)

    def _canary(self, canary: Manifest) -> None:
        ref = as_map(canary.spec.get("targetRef"))
        workload = self._workload(canary, ref, ("spec", "targetRef"), ("Deployment", "DaemonSet"))
        draft = flagger.draft_of(canary, workload)
        draft.is_partial = id(workload) not in self.consumed
        self.metrics.add(canary, draft)
        ref = as_map(canary.spec.get("autoscalerRef"))
        scaler = self.beside.named(str(ref.get("kind")), canary.namespace, str(ref.get("name"))) if ref else None
        if ref and scaler is None:
            message = f"the files have no {ref.get('kind')} {ref.get('name')}"
            self.problems.append(canary.problem(("spec", "autoscalerRef"), message, "add its file to the import"))
        draft.listed.extend(flagger.CanaryCopies(canary, draft.app.name, draft.services[0]).asked_for(scaler))
        self._copies_of_flagger(draft)
        self._add(draft, is_chosen=True)
        draft.parts = [
            (kind, flagger.resumed(value) if flagger.is_paused(value) else value, origin)
            for kind, value, origin in draft.parts
        ]
        self._services_of_flagger(canary, draft)

    def _services_of_flagger(self, canary: Manifest, draft: AppDraft) -> None:
        """Add the Services: of those in the files the ports are Flagger's, the others are made."""
        ports = flagger.ports_of(canary, draft)
        existing = {
            str(as_map(value.get("metadata")).get("name")) for kind, value, _ in draft.parts if kind == "Service"
        }
        if ports:
            draft.parts = [
                (kind, {**value, "spec": {**as_map(value.get("spec")), "ports": ports}}, origin)
                if kind == "Service"
                else (kind, value, origin)
                for kind, value, origin in draft.parts
            ]
        made = [each for each in flagger.services_of(canary, draft) if each["metadata"]["name"] not in existing]
        draft.parts.extend(("Service", each, canary) for each in made)
        services = [value for kind, value, _ in draft.parts if kind == "Service"]
        draft.listed.extend(flagger.left_of_services(canary, draft, services))

    def _copies_of_flagger(self, draft: AppDraft) -> None:
        """Leave out what Flagger made beside the target: it goes with the Canary."""
        apex = draft.services[0]
        made = [(draft.workload.kind, f"{draft.app.name}-primary"), ("Service", f"{apex}-primary")]
        scaler = as_map(draft.origin.spec.get("autoscalerRef"))
        made += [(str(scaler.get("kind")), f"{scaler.get('name')}-primary")] if scaler else []
        for kind, name in made:
            copy = self._find(kind, draft.app.namespace, name)
            if copy:
                self.consumed.add(id(copy))
                self.beside.mark(copy)
                message = f"is what Flagger made of {draft.app.name}, and goes with the Canary"
                self.listed.append(copy.problem(("metadata", "name"), message, "leave it out"))

    def _bgd(self, bgd: Manifest) -> None:
        draft = workloads.draft_of_bgd(bgd)
        self._add(draft, is_chosen=True)
        if not any(kind == "Service" for kind, _, _ in draft.parts):
            draft.parts.append(("Service", workloads.service_of_bgd(draft), bgd))

    def _of_oam(self, workload: Manifest) -> None:
        draft = oam.draft_of(workload)
        has_ports = bool(draft.services)
        self._add(draft, is_chosen=has_ports, preview=True)
        if has_ports and not any(kind == "Service" for kind, _, _ in draft.parts):
            draft.parts.append(("Service", oam.service_of(draft), workload))

    def _workload(
        self, owner: Manifest, ref: Mapping[str, object], place: tuple[str, ...], kinds: tuple[str, ...]
    ) -> Manifest:
        """Return the workload that an object refers to. Where it is none, or not among the files, this is a problem,
        and a workload that stands for it lets the rest of the object be looked at.
        """
        kind, name = str(ref.get("kind", "Deployment")), str(ref.get("name", ""))
        if kind not in kinds:
            message = f"is a {kind}, and only a {' or '.join(kinds)} can be imported"
            self.problems.append(owner.problem((*place, "kind"), message, "write a Deployment"))
            return _standing_for("Deployment", name, owner)
        found = self._find(kind, owner.namespace, name)
        if found is None:
            message = f"there is no {kind} {owner.namespace}/{name} among the files" if name else "is required"
            remedy = "add its file to the import" if name else f"write the name of the {kind}"
            self.problems.append(owner.problem((*place, "name"), message, remedy))
            return _standing_for(kind, name, owner)
        if id(found) in self.consumed:
            message = f"{kind} {owner.namespace}/{name} is the workload of another app already"
            self.problems.append(owner.problem((*place, "name"), message, "import one of the two"))
        self.consumed.add(id(found))
        return found

    def _add(self, draft: AppDraft, *, is_chosen: bool, preview: bool = False) -> None:
        self.beside.give(draft, is_chosen=is_chosen)
        if preview and "previewService" not in draft.blue_green:
            draft.blue_green["previewService"] = fit(f"{draft.services[0]}-preview")
        self.drafts.append(draft)
        self.problems.extend(draft.problems)
        for part, value in (("namespace", draft.app.namespace), ("name", draft.app.name)):
            if not is_dns_label(value):
                message = f"{value!r} is no name of a folder: at most 63 small letters, digits and -"
                self.problems.append(draft.workload.problem(("metadata", part), message, "rename it"))

    def _rest(self) -> None:
        """Take what is of no app of its own: shared templates, Secrets, and objects that belong to none."""
        for each in self.metrics.rest():
            self.listed.extend(self.metrics.convert(each)[1])
        used = {(draft.app.namespace, kind, name) for draft in self.drafts for kind, name in draft.uses}
        for each in self._of("Secret"):
            whose = "the pods read it" if (each.namespace, "Secret", each.name) in used else "no imported pod reads it"
            message = f"Secret {each.name} is left out: {whose}, and its values do not belong into Git as they are"
            remedy = "keep it in the cluster: pods, metrics and alerts find it by its name"
            self.listed.append(each.problem(("metadata", "name"), message, remedy))
        for each in self._of("AnalysisTemplate", "ClusterAnalysisTemplate"):
            if (
                b"rollouts-pod-template-hash" in each.document.data
                or b"rollouts_pod_template_hash" in each.document.data
            ):
                message = (
                    f"{each.kind} {each.name} asks for the label rollouts-pod-template-hash, which no pod has here"
                )
                remedy = "ask for gitops-bg.dev/digest (in Prometheus gitops_bg_dev_digest)"
                self.listed.append(each.problem(("metadata", "name"), message, remedy))
        for each in self._of("DaemonSet"):
            if id(each) not in self.consumed:
                self.listed.append(each.problem(("kind",), f"DaemonSet {each.name} is left out", AS_BEFORE))
        self.listed.extend(self.beside.ungiven())

    def _files(self) -> dict[str, list[DraftObject]]:
        """Return what the files consist of, by path; of two objects that become one app, those of the first whole
        one.
        """
        files: dict[str, list[DraftObject]] = {}
        for draft in sorted(self.drafts, key=lambda each: each.is_partial):
            files = draft.pieces() | files
        for name, (comment, value, origin) in self.metrics.templates.items():
            files[f"{ANALYSIS_FOLDER}/{name}.yaml"] = [DraftObject(f"# {comment}\n{to_yaml(value)}", origin)]
        shared = {"AnalysisTemplate": ANALYSIS_FOLDER, "ClusterAnalysisTemplate": ANALYSIS_FOLDER}
        used = beside.used_by(self.drafts, self._of(*shared))
        for each in self._of(*shared, "AlertProvider"):
            wrong = beside.wrong_with(each)
            if wrong and (each.kind in shared, each.name) not in used:
                self.unused.extend(wrong)
                continue
            if beside.is_as_written(each):
                self.problems.extend(wrong)
            path = f"{shared.get(each.kind, ALERTS_FOLDER)}/{each.name}.yaml"
            if path in files:
                message = f"{each.kind} {each.name} has the file {path}, and so has {files[path][0].origin.origin}"
                self.problems.append(each.problem(("metadata", "name"), message, "rename one of the two"))
            value = cleaned(each.value)
            text = as_written(each, each.value if value == each.value else value)
            files[path] = [DraftObject(f"# From {each.origin}.\n{text}", each)]
        return files

    def _outcome(self, files: Mapping[str, list[DraftObject]]) -> list[Problem]:
        """Return what would be wrong with the files, beside what is said already. Not looked at are files that nobody
        could write, those beside a workload that is not there, and what is there of folders that the import would make.
        """
        misnamed = [
            each for each in self.drafts if not (is_dns_label(each.app.name) and is_dns_label(each.app.namespace))
        ]
        impossible = {path for draft in misnamed for path in draft.paths}
        partial = {path: draft for draft in self.drafts if draft.is_partial for path in draft.paths}
        whole = {path for draft in self.drafts if not draft.is_partial for path in draft.paths}
        unsure = {path for path, draft in partial.items() if path != app_file(draft.app, APP_FILE)} - whole
        own = {folder_of(draft.app) for draft in self.drafts}
        there = {path: each for path, each in self.repository.items() if path.rpartition("/")[0] not in own}
        possible = {path: each for path, each in files.items() if path not in impossible}
        return list(problems_of(possible, there, self.problems, unsure))

    def _clashes(self, files: dict[str, list[DraftObject]]) -> Iterator[Problem]:
        """Yield what the repository has already. A shared file that says the same is no clash, and is not written
        again.
        """
        folders = {path.rpartition("/")[0] for path in self.repository}
        seen: dict[AppKey, AppDraft] = {}
        for draft in self.drafts:
            folder, place = folder_of(draft.app), ("metadata", "name")
            other = seen.setdefault(draft.app, draft)
            if other is not draft and not (draft.is_partial or other.is_partial):
                message = f"becomes the app {draft.app}, and so does {other.origin.origin}"
                yield draft.origin.problem(place, message, "import one of the two")
            if folder in folders:
                message = f"becomes the app {draft.app}, and the repository has {folder} already"
                yield draft.origin.problem(place, message, "remove the folder first, or leave this out")
        apps = {path for draft in self.drafts for path in draft.paths}
        for path in [each for each in files if each not in apps]:
            there = self.repository.get(path)
            if there is None:
                continue
            if isinstance(there, bytes) and _says(path, there) == _says(path, file_text(files[path]).encode()):
                del files[path]
            else:
                message = f"becomes {path}, which the repository has already, and which says something else"
                yield files[path][0].origin.problem(("metadata", "name"), message, "remove it first, or leave this out")


_NOWHERE = "no-namespace"
"""The namespace of what says none, while the rest of it is looked at."""


def _standing_for(kind: str, name: str, owner: Manifest) -> Manifest:
    """Return a workload in place of one that is not among the files."""
    container = {"name": "app", "image": "app", "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name or owner.name, "namespace": owner.namespace}
    value = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}
    return replace(owner, value=value, text="")


def _nothing_in(file: str) -> Problem:
    remedy = "name a file with a Rollout, a Canary, a BlueGreenDeployment or a Deployment"
    return Problem(file, "nothing was found to import: it has no object", line=1, remedy=remedy)


_BESIDE = ("Service", "ConfigMap", "HorizontalPodAutoscaler", "ScaledObject", "PodDisruptionBudget")


def _says(path: str, data: bytes) -> list[object]:
    return [each.value for each in read(path, data).documents]


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda each: (each.file, each.line or 0, each.column or 0))
