"""What was said of the versions that matter now, as `explain` shows it of apps and groups alike: who, when, and by
which commit. Pure.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from gitops_bg.cli.views.listing import Listing, paragraph
from gitops_bg.cli.views.output import said
from gitops_bg.core.model.statements import Says, Statement, Statements
from gitops_bg.spec.codec import to_json

_WHAT = {
    Says.REFUSED: "refused",
    Says.CLEARED: "cleared",
    Says.NAMED: "named again",
    Says.PASSED_OVER: "passed over",
    Says.WANTED: "wanted live",
}


def telling(statements: Statements, digests: Collection[str]) -> tuple[Statement, ...]:
    """Return those about these versions, and the one that says where traffic is to go; in the order in which they
    count.
    """
    return tuple(each for each in statements if each.says is Says.WANTED or each.digest in digests)


def json_of(statements: Statements, name: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return them for programs; ``name`` is that of a version, by its digest."""
    return [to_json(each) | {"version": name(each.digest)} for each in statements]


def drawn(statements: Statements, name: Callable[[str], str], indent: int) -> Iterator[Listing]:
    """Return them for people: a sentence each."""
    return (paragraph(said(_sentence(each, name(each.digest)), "dim"), indent) for each in statements)


def _sentence(statement: Statement, version: str) -> str:
    who = statement.by or ("Git" if statement.commit else "the agent")
    commit = f", commit {statement.commit[:10]}" if statement.commit else ""
    why = f": {statement.reason}" if statement.reason else ""
    return f"{version} was {_WHAT[statement.says]} at {statement.at:%Y-%m-%d %H:%M:%S}Z by {who}{commit}{why}"
