"""The ConfigMaps and Secrets of an app's folder that are part of its target. Reads documents only."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of, is_tracked
from gitops_bg.spec.manifests.configuration_checks import check_configuration, check_size
from gitops_bg.spec.manifests.references import Named, references
from gitops_bg.spec.manifests.target import pod_paths, template_of
from gitops_bg.spec.yaml.reader import Document


@dataclass(frozen=True, slots=True)
class Tracked:
    """The objects of the folder that a target's template refers to."""

    configuration: tuple[Configuration, ...] = ()
    files: tuple[str, ...] = ()
    """The names of their files, sorted."""
    problems: tuple[Problem, ...] = ()
    elsewhere: frozenset[Named] = frozenset()
    """The objects that the template refers to and the folder lacks: shared, and used live."""
    untracked: tuple[str, ...] = ()
    """The names of the files with objects that it refers to and that are no part of it, sorted."""


NOTHING = Tracked()


def track(target: Document, manifests: Mapping[Named, Document]) -> Tracked:
    """The configuration of the target in ``target``; with problems, none of it may be used."""
    wanted = references(template_of(target.value))
    if not wanted:
        return NOTHING
    documents = [each for name, each in sorted(manifests.items()) if name in wanted and is_tracked(each.value, wanted)]
    problems = [problem for each in documents for problem in check_configuration(each)]
    configuration = () if problems else tuple(_read(documents))
    problems.extend(check_size(configuration, target, pod_paths(target.value).template))
    files = tuple(sorted({each.file.rpartition("/")[2] for each in documents}))
    others = {each.file.rpartition("/")[2] for name, each in manifests.items() if name in wanted} - {*files}
    return Tracked(configuration, files, tuple(problems), wanted - manifests.keys(), tuple(sorted(others)))


def _read(documents: list[Document]) -> Iterator[Configuration]:
    for each in documents:
        yield configuration_of(each.value["kind"], each.value["metadata"]["name"], each.value)
