"""The effective content of ``policies/``, as one digest, and the differences between two such contents. Pure.

Test cases, the library and other files of the folder have no effect, and are left out.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import field

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.spec.app.layout import PEOPLE_FILE, SETTINGS_FILE, SIGNERS_FILE
from gitops_bg.spec.app.settings import read_settings
from gitops_bg.spec.policies.load import PolicyFolder, is_policy_file, load_policies

File = bytes | Problem


@dataclass(frozen=True, slots=True)
class PoliciesAt:
    """The effective files, by path, at one commit of main, and the policies that its settings require."""

    files: Mapping[str, File] = field(default_factory=dict)
    required: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A digest of all of it; empty where there is nothing."""
        if not self.files and not self.required:
            return ""
        texts = {path: _hash(content) for path, content in self.files.items()}
        value = json.dumps([texts, self.required], sort_keys=True)
        return f"v1:{hashlib.sha256(value.encode()).hexdigest()}"


def policies_at(files: Mapping[str, File], settings: File | None) -> PoliciesAt:
    """Return the state at a commit, from all files below ``policies/`` and ``gitops-bg.yaml``."""
    decides = {path: files[path] for path in sorted(files) if _decides(path)}
    read = read_settings(settings, SETTINGS_FILE)[0] if isinstance(settings, bytes) else None
    return PoliciesAt(decides, tuple(sorted(set(read.require or ()))) if read else ())


def _decides(path: str) -> bool:
    return path in (PEOPLE_FILE, SIGNERS_FILE) or is_policy_file(path)


def differences(before: PoliciesAt, after: PoliciesAt) -> tuple[str, ...]:
    """Return one phrase for each policy that differs, and for people, signers and requirements: ``calm changed``."""
    folders = load_policies(before.files), load_policies(after.files)
    return (*_of_policies(*folders), *_of_broken(*folders), *_of_the_rest(before, after))


def _of_policies(before: PolicyFolder, after: PolicyFolder) -> Iterator[str]:
    old, new = _by_name(before), _by_name(after)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {'changed' if name in old and name in new else 'added' if name in new else 'removed'}"


def _by_name(folder: PolicyFolder) -> dict[str, Policy]:
    """Return the policies of all readable files; those of a broken file are unknown."""
    return {each.policy.name: each.policy for each in folder.written}


def _of_broken(before: PolicyFolder, after: PolicyFolder) -> Iterator[str]:
    for path, file in after.files.items():
        if file.problems and not (path in before.files and before.files[path].problems):
            yield f"{path} cannot be read"


def _of_the_rest(before: PoliciesAt, after: PoliciesAt) -> Iterator[str]:
    for path, name in ((PEOPLE_FILE, "people"), (SIGNERS_FILE, "allowed_signers")):
        if before.files.get(path) != after.files.get(path):
            yield f"{name} changed"
    if before.required != after.required:
        yield f"required: {', '.join(after.required) or 'none'}"


def _hash(content: File) -> str:
    data = str(content).encode() if isinstance(content, Problem) else content
    return hashlib.sha256(data).hexdigest()
