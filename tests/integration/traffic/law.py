"""Invariant I3 as a judge of answered requests: which version a connection could rightly reach, at each moment.

It asks Git and the Service, never the agent: main's history says what `primary.yaml` named and since when, a watch says
where the Service pointed, the test says when a rollback was due. Every doubt of a few milliseconds is taken for the
answer: a commit counts from before it was accepted, a version left counts until a watcher has heard of the move.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import yaml

from gitops_bg.cli.demo.traffic import Answer
from gitops_bg.core.model.version import short
from tests.support.growing_files import GrowingFile
from tests.support.scenario import App
from tests.support.sightings import Sightings

# Runs before a push is accepted: nobody can have acted on it by then.
_HOOK = """#!/bin/sh
while read -r old new ref; do
  [ "$ref" = "refs/heads/{branch}" ] && echo "$(date +%s.%N) $new" >> "{arrivals}"
done
exit 0
"""


class Since(NamedTuple):
    """From this moment of ``time.monotonic`` on, this version (short digest)."""

    at: float
    digest: str


class Law:
    """What was allowed, when. Make it before the first push."""

    def __init__(self, web: App, seen: Sightings) -> None:
        self._web = web
        self._seen = seen
        self._rollbacks: list[Since] = []
        self._named_by: dict[str, str] = {}
        remote = web.scenario.remote
        self._arrivals = remote.bare / "arrivals"
        hook = remote.bare / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK.format(branch=remote.branch, arrivals=self._arrivals))
        hook.chmod(0o755)

    def permit_rollback(self, tag: str) -> None:
        """From now on traffic may return to a version that was active before: somebody asks, or the live one fails."""
        digest = self._short(tag)
        moves = self._seen.moves(self._web.name)
        assert digest in {each for move in moves for each in (move.origin, move.to)}, f"{tag} was never active"
        self._rollbacks.append(Since(time.monotonic(), digest))

    def breaches(self, answers: Sequence[Answer]) -> list[str]:
        """The connections that reached a version that I3 forbids; failed requests are not looked at."""
        first = _first_answers(answer for answer in answers if not answer.failure)
        named = self._named()
        moves = self._moves(named)
        return [
            f"{answer.version} answered a connection of {answer.opened:.3f}…{answer.at:.3f}"
            for answer in first
            if not self._is_allowed(answer, named, moves)
        ]

    def _is_allowed(self, answer: Answer, named: list[Since], moves: list[Since]) -> bool:
        digest = self._short(answer.version)
        began, ended = answer.opened, answer.at
        changes = [since.at for since in (*named, *moves, *self._rollbacks) if began < since.at <= ended]
        return any(digest in self._allowed(moment, named, moves) for moment in (began, *changes))

    def _allowed(self, moment: float, named: list[Since], moves: list[Since]) -> set[str]:
        """What `primary.yaml` names, what is live already, and where a rollback is on its way to."""
        live = _last(moves, moment)
        going_back = _last(self._rollbacks, moment)
        is_under_way = going_back and (live is None or live.at < going_back.at)
        found = (_last(named, moment), live, going_back if is_under_way else None)
        return {since.digest for since in found if since}

    def _moves(self, named: list[Since]) -> list[Since]:
        """Where the Service pointed, from the beginning; where it was pointed against the law, it never was."""
        moves = self._seen.moves(self._web.name)
        lawful = [Since(-math.inf, move.origin) for move in moves[:1]]
        for move in moves:
            before = lawful[-1].at
            grounds = [since for since in (*named, *self._rollbacks) if since.at <= move.seen_at]
            recent = [since for since in grounds if since.at > before] + [_last(named, before)]
            if any(since and since.digest == move.to for since in recent):
                lawful.append(Since(move.seen_at, move.to))
        return lawful

    def _named(self) -> list[Since]:
        """What main's `primary.yaml` named, for every push that was accepted."""
        remote, wall = self._web.scenario.remote, time.time() - time.monotonic()
        accepted = set(remote.run("rev-list", remote.branch, cwd=remote.bare).split())
        lines = (line.split() for line in GrowingFile(self._arrivals).lines())
        pushes = [(float(at) - wall, commit) for at, commit in lines if commit in accepted]
        return [Since(at, self._digest_in(commit)) for at, commit in pushes if self._digest_in(commit)]

    def _digest_in(self, commit: str) -> str:
        if commit not in self._named_by:
            text = self._web.scenario.remote.show(commit, f"{self._web.folder}/primary.yaml")
            self._named_by[commit] = short(yaml.safe_load(text)["digest"]) if text else ""
        return self._named_by[commit]

    def _short(self, tag: str) -> str:
        return short(self._web.digest(tag))


def _first_answers(answers: Iterable[Answer]) -> Iterator[Answer]:
    """The first answer on each connection: it tells which version the connection was made to."""
    known: set[float] = set()
    for answer in answers:
        if answer.opened not in known:
            known.add(answer.opened)
            yield answer


def _last(history: list[Since], moment: float) -> Since | None:
    return next((since for since in reversed(history) if since.at <= moment), None)
