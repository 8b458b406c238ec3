"""`gate open|close|status` of a release group: as of an app (`operate.gate`)."""

from collections.abc import Iterator
from contextlib import contextmanager

from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.commands.operate.gate import Gated, GateOptions, set_gate, show_gates
from gitops_bg.cli.options.options import AuthorOptions, LiveOptions, PatienceOptions
from gitops_bg.cli.session.live.asked_group import asked_group
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.spec.groups.live import manual_gates


@contextmanager
def _group(at: LiveOptions, name: str) -> Iterator[Gated]:
    with asked_group(at, name) as asked:
        yield Gated("group", "group.yaml", asked, manual_gates(asked.spec))


def open_(group: Group, gate: GateOptions, at: LiveOptions, person: AuthorOptions, patience: PatienceOptions) -> None:
    """Open a manual gate of a group."""
    with _group(at, group) as found:
        set_gate(found, OperatorCommand.OPEN_GATE, gate, at.out, person, patience)


def close(group: Group, gate: GateOptions, at: LiveOptions, person: AuthorOptions, patience: PatienceOptions) -> None:
    """Close a manual gate of a group."""
    with _group(at, group) as found:
        set_gate(found, OperatorCommand.CLOSE_GATE, gate, at.out, person, patience)


def status(group: Group, at: LiveOptions) -> None:
    """Show the manual gates of a group."""
    with _group(at, group) as found:
        show_gates(found, at.out)
