"""`freeze` and `unfreeze`: a policy that stops every promotion, as a commit: who, why, until when;
rollbacks continue.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.commands.operate.suspend import moment_option
from gitops_bg.cli.edits.commits import Change, commit_change
from gitops_bg.cli.options.options import AuthorOptions, GitOptions, OutputOptions, PlaceOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output
from gitops_bg.spec.app.layout import POLICIES_FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeOptions:
    """The reason, and the end."""

    reason: Annotated[
        str, typer.Option("--reason", "-r", "--message", "-m", help="Why; shown wherever something waits for it.")
    ]
    until: Annotated[
        datetime | None,
        typer.Option(parser=moment_option, metavar="TIME", help="When it ends by itself: a time, or 2h from now."),
    ] = None


def freeze(git: GitOptions, place: PlaceOptions, person: AuthorOptions, out: OutputOptions, how: FreezeOptions) -> None:
    """Stop every promotion, of all apps or those of a namespace; rollbacks go on. `unfreeze` ends it.

    Example: gitops-bg freeze --reason 'INC-4711, ask Ada' --until 4h
    """
    output, by = Output(out), author(person.author)
    path = _file(place.namespace)
    content = _policy(place.namespace, how.reason, datetime.now(UTC), how.until)
    with Session(git, place=place, author=by) as session:
        change = Change({path: content}, f"Freeze {_scope(place.namespace)}", how.reason)
        commit = commit_change(session, output, change)
    end = f" until {how.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if how.until else " until `gitops-bg unfreeze`"
    said = f"{_scope(place.namespace)}: nothing is promoted{end}; commit {commit[:10]} wrote {path}"
    output.both({"file": path, "commit": commit, "changed": bool(commit)}, said)


def unfreeze(git: GitOptions, place: PlaceOptions, person: AuthorOptions, out: OutputOptions) -> None:
    """End a freeze: what was merged meanwhile goes on.

    Example: gitops-bg unfreeze
    """
    output, by = Output(out), author(person.author)
    path = _file(place.namespace)
    with Session(git, place=place, author=by) as session:
        commit = commit_change(session, output, Change({path: _removed}, f"Unfreeze {_scope(place.namespace)}"))
    said = f"{_scope(place.namespace)}: not frozen any more; commit {commit[:10]} removed {path}"
    output.both({"file": path, "commit": commit, "changed": bool(commit)}, said)


def _removed(_: bytes) -> None:
    return None


def _file(namespace: str) -> str:
    return f"{POLICIES_FOLDER}/{_name(namespace)}.yaml"


def _name(namespace: str) -> str:
    return f"freeze-{namespace}" if namespace else "freeze"


def _scope(namespace: str) -> str:
    return f"the namespace {namespace}" if namespace else "all apps"


def _policy(namespace: str, reason: str, now: datetime, until: datetime | None) -> bytes:
    """Return the policy's file: a window that denies, from now on. Texts are in JSON, which YAML reads literally."""
    match = f"  match: {{namespaces: [{json.dumps(namespace)}]}}\n" if namespace else ""
    end = f'\n        end: "{_wall(until)}"' if until else ""
    return (
        "# Written by `gitops-bg freeze`; `gitops-bg unfreeze` removes it. Times are UTC.\n"
        "apiVersion: gitops-bg.dev/v1alpha1\n"
        "kind: PromotionPolicy\n"
        f"metadata: {{name: {json.dumps(_name(namespace))}}}\n"
        f"spec:\n{match}"
        "  rules:\n"
        "  - windows:\n"
        "      deny:\n"
        f'      - start: "{_wall(now)}"{end}\n'
        f"        reason: {json.dumps(reason, ensure_ascii=False)}\n"
    ).encode()


def _wall(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
