"""Keeps one comment of a pull request up to date, on any forge: for CI. Reads nothing of the repository."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import CommentOptions
from gitops_bg.cli.session.connect import credential_file
from gitops_bg.forge.connect import ForgeSettings, connect

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
    settings: ForgeSettings

    def keep(self, name: str, body: str) -> None:
        """Have one comment called ``name`` with this body: create it, or edit the last one.

        Raises the errors of `forge.port`.
        """
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
    settings = ForgeSettings(remote=address.repository, kind=address.kind, token_file=token, ca_file=authorities)
    return PullComment(address, settings)
