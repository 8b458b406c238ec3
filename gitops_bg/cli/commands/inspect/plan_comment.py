"""A plan as the one comment of a pull request, on any forge, for CI: its Markdown, a table of the changes with a fold
for each app or group, and keeping the comment up to date.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import CommentOptions
from gitops_bg.cli.output import clean
from gitops_bg.cli.session.connect import credential_file
from gitops_bg.core.dataclass import dataclass
from gitops_bg.forge.wanted import code
from gitops_bg.views.plan import Planned, PlannedSubject, counted, until

if TYPE_CHECKING:  # who wants no comment needs no library for requests
    from gitops_bg.forge.connect import ForgeEndpoint

LONGEST = 60_000
"""The maximum number of characters: GitHub allows 65,536 for a comment."""
_MOST_SHOWN = 3


def markdown(planned: Planned) -> str:
    """Return the whole text; if it is too long, leave out the last folds, then rows of the table."""
    busy = [each for each in planned.subjects if each.actions or each.shut or each.problems or each.refused]
    head = f"### gitops-bg plan at {code(planned.commit[:10])}\n\n{_summary(planned, busy)}\n"
    rows = [_row(each) for each in busy]
    table = ["", "| Name | Phase | Would do | Waits for |", "|---|---|---|---|", *rows] if rows else []
    parts = [head, *(f"{line}\n" for line in table), *(f"\n{_fold(each)}\n" for each in busy)]
    return "".join(_fitting(parts))


def _fitting(parts: list[str]) -> Iterator[str]:
    room = LONGEST - 200
    for place, part in enumerate(parts):
        room -= len(part)
        if room < 0:
            yield f"\n… {len(parts) - place} more lines and folds are left out; `gitops-bg plan` shows all of it.\n"
            return
        yield part


def _summary(planned: Planned, busy: list[PlannedSubject]) -> str:
    counts = [
        (sum(bool(each.actions) for each in busy), "to be changed"),
        (sum(bool(each.shut) for each in busy), "waiting"),
        (sum(bool(each.problems) for each in busy), "with problems"),
        (sum(bool(each.refused) for each in busy), "refused"),
        (len(planned.subjects) - len(busy), "with nothing to do"),
    ]
    said = ", ".join(f"{number} {what}" for number, what in counts if number)
    what = counted(each.key for each in planned.subjects)
    return f"{what}: {said}." if said else f"{what}."


def _row(planned: PlannedSubject) -> str:
    waits = [f"{code(gate.kind)} {_and_until(until(gate))}".strip() for gate in planned.shut]
    problems = [f"**{len(planned.problems)} problem{'' if len(planned.problems) == 1 else 's'}**"]
    refused = ["**refused**"] if planned.refused else []
    does = [code(str(each)) for each in planned.actions[:_MOST_SHOWN]]
    more = len(planned.actions) - _MOST_SHOWN
    cells = [
        code(planned.named),
        code(planned.phase),
        "<br>".join([*does, *([f"and {more} more"] if more > 0 else [])]) or "–",
        "<br>".join([*refused, *(problems if planned.problems else []), *waits]) or "–",
    ]
    return f"| {' | '.join(cells)} |"


def _and_until(moment: str) -> str:
    return f"until {moment}" if moment else ""


def _fold(planned: PlannedSubject) -> str:
    lines = [f"- **refused** {code(clean(planned.refused), 500)}"] if planned.refused else []
    lines += [f"- **problem** {code(clean(str(each)), 500)}" for each in planned.problems]
    lines += [f"{number}. {code(clean(str(each)), 500)}" for number, each in enumerate(planned.actions, 1)]
    if planned.gates:
        lines += ["", "| Gate | | Why | Until |", "|---|---|---|---|"]
    for gate in planned.gates:
        state = "open" if gate.open else "**shut**"
        lines.append(f"| {code(gate.kind)} | {state} | {code(clean(gate.reason), 500)} | {until(gate) or '–'} |")
    body = "\n".join(lines)
    return f"<details><summary>{code(str(planned.key))}: all of it</summary>\n\n{body}\n\n</details>"


_ADDRESS = re.compile(r"(https?://[^/@\s]+/[^?#\s]+?)/(pull|pulls|-/merge_requests)/([1-9][0-9]{0,18})/?")
_KINDS = {"pull": "github", "pulls": "gitea", "-/merge_requests": "gitlab"}
"""Each forge has a word of its own in the addresses of its pull requests."""


@dataclass(frozen=True, slots=True)
class PullAddress:
    """A pull request, as its address says: where the repository is, on which forge, and its number."""

    repository: str
    kind: str
    number: int


def pull_address(url: str) -> PullAddress:
    """Read the address of a pull request. Raises `UsageError` for any other.

    >>> pull_address("https://github.com/shop/config/pull/12")
    PullAddress(repository='https://github.com/shop/config', kind='github', number=12)
    >>> pull_address("https://gitlab.com/group/sub/config/-/merge_requests/3").kind
    'gitlab'
    """
    found = _ADDRESS.fullmatch(url)
    if found is None:
        raise UsageError(
            "--comment: this is no address of a pull request; write one such as https://github.com/shop/config/pull/12"
        )
    return PullAddress(found[1], _KINDS[found[2]], int(found[3]))


@dataclass(frozen=True, slots=True)
class PullComment:
    """A comment of a pull request that may be written."""

    address: PullAddress
    settings: "ForgeEndpoint"

    def keep(self, name: str, body: str) -> None:
        """Have one comment called ``name`` with this body: create it, or edit the last one.

        Raises the errors of `forge.port`.
        """
        from gitops_bg.forge.connect import connect

        forge = connect(self.settings, lambda: datetime.now(UTC))
        try:
            forge.comment(forge.pull(self.address.number), f"<!-- gitops-bg {name} -->", body)
        finally:
            forge.close_connections()


def pull_comment(options: CommentOptions, authorities: Path | None) -> PullComment | None:
    """Return the comment that options ask for; None for none. Raises `UsageError`; asks nobody."""
    if not options.comment:
        return None
    address = pull_address(options.comment)
    token = credential_file("--forge-token-file", options.forge_token_file)
    if token is None:
        raise UsageError("--comment: name a file with a token that may comment: --forge-token-file")
    from gitops_bg.forge.connect import ForgeEndpoint

    settings = ForgeEndpoint(remote=address.repository, kind=address.kind, token_file=token, ca_file=authorities)
    return PullComment(address, settings)
