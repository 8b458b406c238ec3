"""The policy that `gitops-bg freeze` writes: its file, its text, and how that is recognised again.

A file is known by what it says, never by its name alone: people name policies of their own ``freeze``.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import json_for_yaml
from gitops_bg.core.model.policy_rules import DateSpan, Match, Policy, Windows
from gitops_bg.core.names import fit
from gitops_bg.spec.app.layout import POLICIES_FOLDER
from gitops_bg.spec.policies.load import PeopleFile, load_policy_file

_NAME = "gitops-bg-freeze"
_FORMER_NAME = "freeze"
"""The name in former versions, which policies of people have too."""

_HEADER = b"# Written by `gitops-bg freeze`;"


@dataclass(frozen=True, slots=True)
class Freeze:
    """A window that denies every promotion, of all apps or those of a namespace. Its moments are in UTC.

    ``end``: None where only a person ends it.
    """

    namespace: str
    start: datetime
    end: datetime | None
    reason: str

    def is_over(self, now: datetime) -> bool:
        """Return whether it has ended by itself."""
        return self.end is not None and self.end <= now


def freeze_file(namespace: str) -> str:
    """Return the path of the file that `freeze` writes; the empty namespace stands for all apps.

    >>> freeze_file(""), freeze_file("shop")
    ('policies/gitops-bg-freeze.yaml', 'policies/gitops-bg-freeze-shop.yaml')
    """
    return _file(_name(_NAME, namespace))


def freeze_files(namespace: str) -> tuple[str, str]:
    """Return the paths under which `freeze` has ever written, the present one first.

    >>> freeze_files("shop")
    ('policies/gitops-bg-freeze-shop.yaml', 'policies/freeze-shop.yaml')
    """
    return freeze_file(namespace), _file(_name(_FORMER_NAME, namespace))


def write_freeze(freeze: Freeze) -> bytes:
    """Return the text of the file. Texts of people are in the JSON that YAML reads alike."""
    match = f"  match: {{namespaces: [{json_for_yaml(freeze.namespace)}]}}\n" if freeze.namespace else ""
    end = f'\n        end: "{_wall(freeze.end)}"' if freeze.end else ""
    return (
        f"{_HEADER.decode()} `gitops-bg unfreeze` removes it. Times are UTC.\n"
        "apiVersion: gitops-bg.dev/v1alpha1\n"
        "kind: PromotionPolicy\n"
        f"metadata: {{name: {json_for_yaml(_name(_NAME, freeze.namespace))}}}\n"
        f"spec:\n{match}"
        "  rules:\n"
        "  - windows:\n"
        "      deny:\n"
        f'      - start: "{_wall(freeze.start)}"{end}\n'
        f"        reason: {json_for_yaml(freeze.reason)}\n"
    ).encode()


def read_freeze(namespace: str, path: str, content: bytes) -> Freeze | None:
    """Return the freeze of a file that `freeze` wrote; None for any other, and where more was added to it."""
    if not content.startswith(_HEADER):
        return None
    match = Match(namespaces=(namespace,) if namespace else ())
    for policy in _policies(path, content):
        span = _only_window(policy)
        if span and policy == Policy(policy.name, (Windows(deny=(span,)),), match):
            end = span.end.replace(tzinfo=UTC) if span.end else None
            return Freeze(namespace, span.start.replace(tzinfo=UTC), end, span.reason)
    return None


def _policies(path: str, content: bytes) -> Iterator[Policy]:
    """Return the policy of a valid file that has only one."""
    written = load_policy_file(path, content, PeopleFile()).policies
    return (each.policy for each in written if len(written) == 1)


def _only_window(policy: Policy) -> DateSpan | None:
    match policy.rules:
        case (Windows(deny=(DateSpan() as span,)),):
            return span
    return None


def _file(name: str) -> str:
    return f"{POLICIES_FOLDER}/{name}.yaml"


def _name(name: str, namespace: str) -> str:
    return fit(f"{name}-{namespace}") if namespace else name


def _wall(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
