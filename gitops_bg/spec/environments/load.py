"""Reads ``environments.yaml``, the environments of a repository: its schema, and every error with its place."""

import re
from typing import Literal

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.model import NO_ENVIRONMENTS, Environment, Environments, faults
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.names import API_VERSION, GROUP
from gitops_bg.core.written import Conflict
from gitops_bg.spec.app.layout import ENVIRONMENTS_FILE
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.declared import DeclaredModel, extends
from gitops_bg.spec.yaml.reader import Document, read_one
from gitops_bg.spec.yaml.scalars import Path, nearest


@extends(Environments)
class EnvironmentsDocument(DeclaredModel):
    """``environments.yaml``: the environments of the repository, in order. Without it there are none."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["Environments"]


@dataclass(frozen=True, slots=True)
class EnvironmentsFile:
    """What ``environments.yaml`` says."""

    environments: Environments | None = NO_ENVIRONMENTS
    """None where nobody can tell; without any where there is no such file."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    """What people should know, though nothing of it is wrong."""

    def of_cluster(self, cluster: str) -> tuple[Environment | None, tuple[Problem, ...]]:
        """Return the environment of a cluster, or why nobody can tell it; None and no problem where the repository has
        no environments.
        """
        if self.environments is None:
            return None, self.problems
        found = self.environments.of_cluster(cluster)
        if found is not None or not self.environments:
            return found, ()
        known = [each for environment in self.environments for each in environment.clusters]
        meant = nearest(cluster, known)
        message = f"names the cluster {cluster} in no environment, so nothing of the repository is for it"
        hint = f"; or did somebody mean {meant}, and --cluster is wrong?" if meant else ""
        remedy = f"add {cluster} to the clusters of one{hint}"
        return None, (Problem(ENVIRONMENTS_FILE, message, 1, 1, "environments", remedy),)


NO_ENVIRONMENTS_FILE = EnvironmentsFile()
_OURS = re.compile(rb"%s/|\bkind\b[\"']?\s*:\s*[\"']?Environments\b" % re.escape(GROUP.encode()))
"""What a file has that is meant for gitops-bg, also where the rest of it cannot be read."""


def load_environments(content: bytes | Problem | None) -> EnvironmentsFile:
    """Read the file; None stands for a repository without it, a Problem for a file that must not be read."""
    if content is None:
        return NO_ENVIRONMENTS_FILE
    if isinstance(content, Problem):
        return EnvironmentsFile(None, (content,))
    if not _OURS.search(content):
        message = f"has no apiVersion of {GROUP}, so it is taken for that of another tool: there are no environments"
        remedy = f"where it is meant for gitops-bg, write apiVersion: {API_VERSION} and kind: Environments"
        return EnvironmentsFile(notes=(Problem(ENVIRONMENTS_FILE, message, 1, 1, remedy=remedy),))
    document, problems = read_one(ENVIRONMENTS_FILE, content)
    if document is None:
        return EnvironmentsFile(None, problems)
    model, problems = validate(EnvironmentsDocument, document)
    if model is None:
        return EnvironmentsFile(None, problems)
    environments: Environments = model.value()
    wrong = tuple(_problem(document, each) for each in faults(environments))
    return EnvironmentsFile(None, wrong) if wrong else EnvironmentsFile(environments)


def _problem(document: Document, fault: Conflict) -> Problem:
    path: Path = tuple(int(part) if part.isdecimal() and part.isascii() else part for part in fault.field.split("."))
    return document.problem(path, fault.message, fault.remedy)
