"""What a commit message says it reverts, as people, git and the forges write it. Untrusted text, read in one pass.

A marker stands at the start of a line, alone or behind a bullet:

    This reverts commit 9be1….                    git, GitHub, GitLab; also an abbreviation, and several in a line
    This reverts merge request !12                GitLab
    Reverts org/repo#12                           GitHub's Revert button
    This reverts pull request #12.                others
    revert 9be1…                                  Gitea's Revert button
    Bg-Rollback-To: 9be1…                         a trailer, for who writes messages of their own
    Revert "web 1.1.0"                            where a squash kept the title only: the subject of what it reverts

It says what is named, never whether there is such a commit: that is `repo.read.reverts`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.text.lines import lines_of

_BULLETS = "*-+>•· \t\"'"
_AROUND = ".,;:()[]{}`'\""
_FILLERS = frozenset(("commit", "commits", "merge", "pull", "request", "requests", "pr", "mr", "and"))
_SHORTEST, _LONGEST = 7, 64
_HEX = frozenset("0123456789abcdef")
_MOST = 100
"""How many names of a message are read at most."""
_TITLES = (('revert "', ""), ('reapply "', 'Revert "'), ("revert: ", ""))


@dataclass(frozen=True, slots=True)
class Markers:
    """The names found, each as people read it. ``titles`` count where no other name leads to a commit."""

    commits: tuple[str, ...] = ()
    """Ids, whole or abbreviated, in lower case."""
    requests: tuple[str, ...] = ()
    """``#12`` or ``!12``."""
    titles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commits or self.requests or self.titles)


def markers_in(message: str) -> Markers:
    """What a message says it reverts.

    >>> markers_in('Revert "web 2 (#12)" (#13)\\n\\nReverts shop/web#12')
    Markers(commits=(), requests=('#12',), titles=('web 2 (#12)',))
    >>> markers_in('Revert "web 2"').titles
    ('web 2',)
    """
    lines = lines_of(message)
    found = list(dict.fromkeys(name for line in lines for name in _names_in(line)))[:_MOST]
    commits = tuple(name for name in found if name[0] not in "#!")
    requests = tuple(name for name in found if name[0] in "#!")
    return Markers(commits, requests, tuple(_titles_in(lines[0].strip())))


def _names_in(line: str) -> Iterator[str]:
    words = line.strip(_BULLETS + "\r").split()
    if not words:
        return
    first = words[0].casefold().rstrip(":")
    if first in ("revert", "bg-rollback-to"):
        yield from (name for name in map(_commit, words[1:2]) if len(words) == 2 and len(name) >= 40)
    elif first == "reverts":
        yield from _references(words[1:])
    elif first == "this" and words[1:2] and words[1].casefold() == "reverts":
        yield from _references(words[2:])


def _references(words: list[str]) -> Iterator[str]:
    """The names up to the first word that is neither a name nor a filler between names."""
    for word in words:
        plain = word.strip(_AROUND)
        name = _commit(plain) or _request(plain)
        if name:
            yield name
            if word.startswith("("):
                return
        elif plain and plain.casefold() not in _FILLERS:
            return


def _commit(word: str) -> str:
    """A commit id, or empty."""
    name = word.casefold()
    return name if _SHORTEST <= len(name) <= _LONGEST and _HEX.issuperset(name) else ""


def _request(word: str) -> str:
    """``org/repo#12`` as ``#12``, ``!12`` unchanged; or empty."""
    for sign in "#!":
        path, found, number = word.rpartition(sign)
        if found and number.isascii() and number.isdigit() and len(number) < 12 and _is_path(path):
            return f"{sign}{int(number)}"
    return ""


def _is_path(text: str) -> bool:
    return all(sign.isalnum() or sign in "-_./" for sign in text)


def _titles_in(subject: str) -> Iterator[str]:
    """The subject that a revert quotes; for `Reapply`, that of the revert."""
    for start, before in _TITLES:
        if subject.casefold().startswith(start):
            quoted = subject[len(start) :]
            if start.endswith('"'):
                quoted = quoted.rpartition('"')[0]
            if quoted:
                yield f'{before}{quoted}"' if before else quoted


def requests_of(message: str) -> frozenset[str]:
    """The pull or merge requests that a commit of main says it brought in.

    ``… (#12)`` at the end of the subject, ``Merge pull request #12 from …`` (GitHub), ``Merge pull request 'title'
    (#12) from …`` (Gitea), ``See merge request org/repo!12`` (GitLab).
    """
    lines = lines_of(message)
    subject = lines[0].strip()
    found = {_request(subject.rpartition("(")[2].rstrip(")"))} if subject.endswith(")") else set()
    lowered = subject.casefold()
    if lowered.startswith("merge pull request "):
        rest = subject[len("merge pull request ") :]
        found |= {_request(rest.split(" ")[0])} if rest.startswith(("#", "!")) else _in_brackets(rest)
    for line in lines:
        words = line.strip().casefold().split(" ")
        if words[:3] == ["see", "merge", "request"] and len(words) == 4:
            found.add(_request(words[3].strip(_AROUND)))
    return frozenset(found - {""})


def _in_brackets(text: str) -> set[str]:
    """The last ``(#12)`` before ``from``: a title may contain others."""
    before = text.rpartition(" from ")[0].rstrip()
    return {_request(before.rpartition("(")[2].rstrip(")"))} if before.endswith(")") else set()
