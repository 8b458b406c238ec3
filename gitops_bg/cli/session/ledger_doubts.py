"""What of a ledger is not shown, because it is not the agent's own: a reader is told, and is told whose it is.

Who the agent is, is a setting of the repository (``commitAuthor``), which agent and command line read in one place.
"""

from collections.abc import Sequence
from typing import TypeVar

from gitops_bg.cli.errors import NameNotFound, ObjectNotFound
from gitops_bg.cli.views.output import Output
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.repo.repository import Repository

_REMEDY = "if that is the agent, its name is commitAuthor in gitops-bg.yaml"
_Entry = TypeVar("_Entry")


def demanded(
    repository: Repository, about: AppOrGroup, entries: Sequence[_Entry], *, may_be_new: bool = False
) -> Sequence[_Entry]:
    """Return the entries. Raises `ObjectNotFound` with the reason where there are none, unless it ``may_be_new`` in
    main; `NameNotFound` where main does not have it either.
    """
    if entries:
        return entries
    branch = repository.settings.state_branch
    doubt = repository.ledger_doubts().get(about, "") or repository.ledger_trouble()
    if doubt:
        raise ObjectNotFound(f"the ledger {branch} has nothing of {about} by the agent: {doubt}; {_REMEDY}")
    others = [each for each in repository.clusters() if each != repository.settings.cluster]
    known = f"; there are ledgers of {', '.join(others)} (--cluster)" if others else ""
    is_there = about in repository.apps() or about in repository.groups()
    if is_there and may_be_new:
        return entries
    error = ObjectNotFound if is_there else NameNotFound
    raise error(f"the ledger {branch} knows nothing of {about}{known}")


def tell_doubts(repository: Repository, output: Output, *about: AppOrGroup) -> None:
    """Note what is not shown of these; of none: of all that the ledger has."""
    everything = repository.ledger_doubts()
    doubts = [each for each in map(everything.get, about) if each] if about else list(everything.values())
    policies = repository.policy_log_doubt()
    for doubt in [*sorted(doubts), *([policies] if policies else [])]:
        output.note(f"not shown: what {repository.settings.state_branch} says in {doubt}; {_REMEDY}")
    trouble = repository.ledger_trouble()
    if trouble:
        output.note(trouble)
