"""The files of an app under another name, for `gitops-bg move`: what is rewritten in them, and what stands in the way.

The Services keep their names, and so does everything beside the versions: only the app is called otherwise, what names
it as its workload follows, and its file agrees to take over from the former one (docs/decisions/0070). Reads and writes
nothing.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.checks.policy_judge import matches
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import After, Policy
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import APP, app_label
from gitops_bg.spec.app.layout import APP_FILE, APPS_FOLDER, PRIMARY_FILE, folder_of, is_manifest
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS, what_runs_here
from gitops_bg.spec.manifests.auxiliary import BUDGET
from gitops_bg.spec.manifests.edit import set_field, set_text
from gitops_bg.spec.manifests.target import COMPONENT, POD_SPEC_WORKLOAD
from gitops_bg.spec.policies.load import load_policies
from gitops_bg.spec.yaml.reader import Document, read, read_one
from gitops_bg.spec.yaml.scalars import Path, as_map

_ENDS = {
    "release": "its live traffic goes back to what it was adopted from: remove the field, or delete the folder",
    "suspend": "a suspended app takes nothing over: end the suspension first",
    "revision": "a version is pinned, by what may be known under the former name only: remove the pin first",
}
"""What an app must not have while it gets another name."""
_ANSWERED = ("adopt", "retry", "restartAt")
"""What was asked for under the former name, and carried out."""


def in_the_way(config: AppConfig, document: Document, to: AppKey) -> Iterator[Problem]:
    """Yield why an app cannot get another name now, each with the place and the remedy."""
    if to.namespace != config.app.namespace:
        message = f"pods and Services of {config.app.namespace} cannot be taken over from {to.namespace}"
        remedy = (
            f"add {to} beside it with Services of its own, promote it, lead its clients and routes there, and then "
            f"delete {folder_of(config.app)}"
        )
        yield Problem(folder_of(to), message, remedy=remedy)
    yield from config.problems
    spec = as_map(as_map(document.value).get("spec"))
    yield from (document.problem(("spec", key), why) for key, why in _ENDS.items() if spec.get(key) is not None)
    if spec.get("deletionPolicy") == "revertToTarget":
        message = "gives live traffic back to the Deployment it was adopted from; under the new name nothing says which"
        remedy = f"write another policy; `gitops-bg release {to} --deployment NAME` still is a way back"
        yield document.problem(("spec", "deletionPolicy"), message, remedy)
    if spec.get("render") is not None:
        message = f"what it renders has a workload called {config.app.name}, and would have one after the move"
        remedy = (
            f"call the workload {to.name} in what it is rendered from, but no Service otherwise; take render out of "
            f"{APP_FILE}; move; put render back, run `gitops-bg render {to}`; commit all of it at once"
        )
        yield document.problem(("spec", "render"), message, remedy)
    if config.primary is None:
        message = "nothing of it was promoted yet"
        yield Problem(f"{folder_of(config.app)}/{PRIMARY_FILE}", message, remedy="rename the folder: nothing serves")


def naming(config: AppConfig, files: Mapping[str, bytes | Problem], to: AppKey) -> Iterator[str]:
    """Yield the other files of a tree, by path, that name the app, and are left as they are: a policy whose ``match``
    has the one name and not the other, and any text that says NAMESPACE/NAME, or its folder. No path of anything else
    does, and no image.
    """
    said, policies = _name_pattern(config.app), load_policies(files).files
    for path, data in sorted(files.items()):
        written = policies[path].policies if path in policies else ()
        named = isinstance(data, bytes) and bool(said.search(data.decode(errors="replace")))
        is_other = not path.startswith(f"{APPS_FOLDER}/")
        if is_other and (named or any(_is_for_one(each.policy, config, to) for each in written)):
            yield path


def _name_pattern(app: AppKey) -> re.Pattern[str]:
    """Return what a text that names an app has: it as a whole word, or its folder."""
    name = re.escape(str(app))
    word = rf"(?<![\w./@:-])(?<!image: )(?<!newName: ){name}(?![\w/@-]|[.:]\S)"
    return re.compile(rf"{word}|(?<![\w-]){APPS_FOLDER}/{name}(?![\w.@:-])", re.ASCII)


def _is_for_one(policy: Policy, config: AppConfig, to: AppKey) -> bool:
    """Return whether a policy is for one of the two names alone, or waits for the app by its name."""
    of, labels = config.app, config.labels
    waits = any(isinstance(rule, After) and rule.of(of.namespace) == of for rule in policy.rules)
    return waits or matches(policy.match, of, labels, "") != matches(policy.match, to, labels, "")


def moved(config: AppConfig, files: Mapping[str, bytes], to: AppKey) -> dict[str, bytes]:
    """Return the files of the folder, by name, that change with the name of the app. Raises `InvalidInput`."""
    app = set_field(files[APP_FILE], ("metadata", "name"), to.name, APP_FILE)
    spec = as_map(as_map(_read(APP_FILE, app).value).get("spec"))
    for key in _ANSWERED:
        app = set_field(app, ("spec", key), None, APP_FILE) if key in spec else app
    changed = {APP_FILE: set_field(app, ("spec", "adopt"), {"app": config.app.name}, APP_FILE)}
    for name in (config.target_file, PRIMARY_FILE):
        changed[name] = set_field(_with_label(files[name], name), ("metadata", "name"), to.name, name)
    for name, data in files.items():
        if is_manifest(name) and name not in changed and (new := _renamed_companion(config, name, data, to)) != data:
            changed[name] = new
    return changed


def _with_label(data: bytes, file: str) -> bytes:
    """Return a PodSpecWorkload whose pods keep, under another name, the label that says its name: it would be another
    version else.
    """
    value = as_map(_read(file, data).value)
    metadata = as_map(value.get("metadata"))
    labels = as_map(metadata.get("labels"))
    if value.get("kind") != POD_SPEC_WORKLOAD or COMPONENT in labels:
        return data
    name = str(metadata["name"])
    if labels:
        return set_field(data, ("metadata", "labels", COMPONENT), name, file)
    return set_field(data, ("metadata", "labels"), {COMPONENT: name}, file)


def _renamed_companion(config: AppConfig, file: str, data: bytes, to: AppKey) -> bytes:
    """Return a file beside the three in which what names the app as its workload names it as it is to be called."""
    for document in read(file, data).documents:
        for path, text in _outdated(config.app, document, to):
            data = set_text(_numbered(file, data, document.number), path, text)
    return data


def _numbered(file: str, data: bytes, number: int) -> Document:
    return next(each for each in read(file, data).documents if each.number == number)


def _outdated(of: AppKey, document: Document, to: AppKey) -> Iterator[tuple[Path, str]]:
    """Yield the fields that name the app as a workload, each with its new text."""
    manifest = as_map(document.value)
    spec = as_map(manifest.get("spec"))
    if manifest.get("kind") in AUTOSCALERS and as_map(spec.get("scaleTargetRef")).get("name") == of.name:
        yield from _outdated_queries(of, spec, to)
        yield ("spec", "scaleTargetRef", "name"), to.name
    if manifest.get("kind") == BUDGET:
        yield from _outdated_labels(of, as_map(spec.get("selector")), to)


def _outdated_queries(of: AppKey, spec: Mapping[str, Any], to: AppKey) -> Iterator[tuple[Path, str]]:
    """Yield the queries of a ScaledObject that are written for Flagger, with its name for what is live."""
    for index, trigger in enumerate(spec.get("triggers") or ()):
        query = as_map(as_map(trigger).get("metadata")).get("query")
        if isinstance(query, str) and (new := what_runs_here(query, of.name, f"{to.name}-canary")) != query:
            yield ("spec", "triggers", index, "metadata", "query"), new


def _outdated_labels(of: AppKey, selector: Mapping[str, Any], to: AppKey) -> Iterator[tuple[Path, str]]:
    """Yield the values by which a budget selects the pods of the app, and of no other."""
    old, new = app_label(of), app_label(to)
    if as_map(selector.get("matchLabels")).get(APP) == old:
        yield ("spec", "selector", "matchLabels", APP), new
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        for place, value in enumerate(each.get("values") or () if each.get("key") == APP else ()):
            if value == old:
                yield ("spec", "selector", "matchExpressions", index, "values", place), new


def _read(file: str, data: bytes) -> Document:
    document, problems = read_one(file, data)
    if document is None:
        raise InvalidInput(*problems)
    return document
