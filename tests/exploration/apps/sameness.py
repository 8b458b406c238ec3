"""Recognises questions to the engine that differ only in the ids of main's commit and the app's folder: asked once."""

from dataclasses import replace

from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.main import Main
from gitops_bg.core.model.record import Record

COMMIT, TREE = "main", "folder"


def nameless(desired: Desired) -> Desired:
    """What main says, whatever its commit and the app's folder are called."""
    return replace(desired, commit=COMMIT, tree=TREE) if desired.commit else desired


def compared(known: Main, desired: Desired) -> Main:
    """The main of a record, as far as one can tell it from what main says now."""
    commit = COMMIT if known.commit == desired.commit else "another"
    return Main(commit, known.generation, TREE if known.tree == desired.tree else "another")


def named(answer: Record, asked: Main, known: Main, desired: Desired) -> Record:
    """The answer of the engine with the names that were left out of the question."""
    same = answer.git.main == asked
    return answer.with_part(
        replace(answer.git, main=known if same else Main(desired.commit, answer.git.main.generation, desired.tree))
    )
