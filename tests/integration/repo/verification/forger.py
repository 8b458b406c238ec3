"""Somebody who may push the state branch, and what has to count whatever is pushed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from gitops_bg.core.model.statements import Cause, Hold, holds
from gitops_bg.repo.ledger.ledger_file import Position, SubjectState
from gitops_bg.repo.repository import Repository
from tests.core.records import statements_of
from tests.integration.repo.conftest import NOON, WEB
from tests.integration.repo.ledger.test_ledger import ONE, STATE, TWO
from tests.integration.repo.verification.signed import Signed
from tests.support.signers import Key

FILE = "shop/web.json"
EVIL = "v1:" + "6" * 64
OURS = ("gitops-bg", "gitops-bg@localhost")
MALLORY = ("Mallory", "m@example.com")
MARK = "Oops\n\nBg-Ledger: prod\n"
HOLD = Hold(TWO, "bad", NOON, Cause.ROLLED_BACK)
STATE_OF_WEB = SubjectState(5, 6, served=(ONE,), statements=statements_of(HOLD), primary_by="c" * 40)


@dataclass
class Forger:
    """Somebody who may push the state branch, with any name, key, parents and files."""

    signed: Signed

    @property
    def tip(self) -> str:
        return self.signed.remote.head(STATE) or ""

    def commit(
        self,
        *parents: str,
        key: Key | None = None,
        name: tuple[str, str] = OURS,
        message: str = "Oops",
        files: dict[str, str] | None = None,
        tree: str = "",
    ) -> str:
        """A commit on the first parent's tree, or another, with these files in it."""
        remote = self.signed.remote
        index = {"GIT_INDEX_FILE": str(self.signed.folder / "index")}
        remote.run("read-tree", tree or (parents[0] if parents else "--empty"), env=index)
        for path, content in (files or {}).items():
            (self.signed.folder / "content").write_text(content)
            blob = remote.run("hash-object", "-w", str(self.signed.folder / "content"))
            remote.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=index)
        root = remote.run("write-tree", env=index)
        who = {
            f"GIT_{one}_{what}": value
            for one in ("AUTHOR", "COMMITTER")
            for what, value in zip(("NAME", "EMAIL"), name, strict=True)
        }
        keyed = ("-c", "gpg.format=ssh", "-c", f"user.signingKey={key.private}") if key else ()
        above = (part for parent in parents for part in ("-p", parent))
        return remote.run(*keyed, "commit-tree", *(["-S"] if key else []), root, *above, "-m", message, env=who)

    def push(self, commit: str) -> str:
        """Move the branch there, whatever it was."""
        self.signed.remote.run("update-ref", f"refs/heads/{STATE}", commit, cwd=self.signed.remote.bare)
        return commit

    def on_top(self, **how: object) -> str:
        """Push one more commit, with what the forger wants of `web`."""
        return self.push(self.commit(self.tip, **{"files": {FILE: self.wanted()}, **how}))  # type: ignore[arg-type]

    def wanted(self, sequence: int = 7) -> str:
        """The file of `web` with a digest that never served."""
        value = json.loads(self.signed.remote.show(STATE, FILE) or "")
        return json.dumps({**value, "served": [EVIL], "statements": [], "sequence": sequence})


def restarted(signed: Signed, mirrors: Iterator[int] = count()) -> Repository:  # noqa: B008 - one counter for all
    """A new process, with a mirror that has never seen anything."""
    repository = signed.open(f"fresh-{next(mirrors)}")
    repository.poll()
    return repository


def untouched(repository: Repository, sequence: int = 1) -> None:
    """What the agent wrote counts, and nothing else."""
    repository.poll()
    assert repository.ledger.positions()[WEB] == Position("life-1", sequence)
    memory = repository.ledger.memory(WEB)
    assert memory is not None
    assert (memory.active_digests, holds(memory.statements), memory.primary_by) == ((ONE,), (HOLD,), "c" * 40)
