"""The line of main itself, oldest commit first, and where branches leave it. Knows ids only, and reads no files."""

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, subject_of, text

Line = tuple[str, ...]
"""The commits of a branch, newest first, and last the one where it leaves main: empty where they share no history."""


class BranchPoints:
    """Where branches leave main: the first commit of their own line, by first parents, that main contains. The answer
    for the heads that were asked for last, kept up to date.

    Thousands of promotion branches stay where they are while main moves on. Of those only what main took in is looked
    at.
    """

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._main = ""
        self._lines: Mapping[str, Line] = {}

    def of(self, heads: Iterable[str], main: str) -> dict[str, Line]:
        """Return for every head its line down to main."""
        wanted = list(dict.fromkeys(heads))
        found = self._kept(wanted, main)
        found |= self._near(wanted, found, main)
        rest = [head for head in wanted if head not in found]
        self._main, self._lines = main, found | (self._asked(rest, main) if rest else {})
        return {head: self._lines[head] for head in wanted}

    def _kept(self, wanted: list[str], main: str) -> dict[str, Line]:
        """Return what was known before, as far as main took nothing of it in since. A main with another history may
        have lost what a branch stands on.
        """
        goes_on = bool(self._main and main) and self._mirror.is_ancestor(self._main, main)
        taken_in = self._mirror.near(self._main, main) if goes_on else None
        if taken_in is None:
            return {}
        return {head: _up_to(self._lines[head], taken_in) for head in wanted if head in self._lines}

    def _near(self, wanted: list[str], known: Container[str], main: str) -> dict[str, Line]:
        """Return the lines of branches that a few steps lead to main as it is: main cannot contain what comes after
        it.
        """
        found = {head: self._mirror.first_parents(head, {main}) for head in wanted if head not in known}
        return {head: (*(one for one, _ in line), main) for head, line in found.items() if line is not None}

    def _asked(self, heads: list[str], main: str) -> dict[str, Line]:
        asked = "".join(f"{head}\n" for head in heads) + (f"^{main}\n" if main else "")
        output = self._mirror.local("rev-list", "--parents", "--stdin", stdin=asked.encode())
        own = {commit: parents[:1] for commit, *parents in (text(line).split(" ") for line in lines(output))}
        return {head: _line(head, own) for head in heads}


def _up_to(line: Line, taken_in: Container[str]) -> Line:
    at = next((place for place, commit in enumerate(line) if commit in taken_in), len(line) - 1)
    return line[: at + 1]


def _line(head: str, own: Mapping[str, list[str]]) -> Line:
    """Return the line of first parents down to the first commit that is not the branch's own."""
    line = [head]
    while line[-1] in own:
        line += own[line[-1]] or [""]
    return tuple(line)


# --- in which order changes came into main (decision 18) ---
# Dates do not tell it: rebase and cherry-pick keep an author's, and clocks differ. A pull with a merge swaps the
# parents: then the second one is the former main. What main was is known of the heads that it had; only where they do
# not tell, the subject of the merge decides.

_WALK = ("log", "-z", "--format=%H%x00%P%x00%s%x00")
_LONGEST = 4096
"""Bytes of a subject, or of the names of parents; the beginnings decide."""
Step = tuple[str, str]
"""A commit of the line, and what main was before it; empty for the first one."""
_HEADS = 100
"""How many heads of main are noted until anybody asks for the line."""


class Mainline:
    """The positions of commits in main's line, from 1. Follows the head; costs only the commits that are new."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._line: list[str] = []
        self._places: dict[str, int] = {}
        self._heads: deque[str] = deque(maxlen=_HEADS)
        """The heads that main had before anybody asked, oldest first."""
        self._unsure: dict[str, str] = {}
        """The first parents of merges that only their subject says to be pulls."""

    def place(self, commit: str, head: str) -> int | None:
        """Return the position of a commit of the line itself; None for any other."""
        self._follow(head)
        return self._places.get(commit)

    def before(self, commit: str, head: str) -> str | None:
        """Return what main was before a commit of its line; empty for the first one, None for a commit that is not of
        it.
        """
        place = self.place(commit, head)
        if place is None:
            return None
        return self._line[place - 2] if place > 1 else ""

    def unless_pulled(self, commit: str, head: str) -> str:
        """Return what main was before a commit of its line, should it not be the pull that only its subject says it is;
        empty where more is known.
        """
        return self._unsure.get(commit, "") if self.place(commit, head) is not None else ""

    def steps(self, head: str, at: str = "", *, after: int = 0) -> list[Step]:
        """Return the steps of the line up to a commit of it, by default the head, and after a place; newest first."""
        last = self.place(at or head, head) or 0
        part = self._line[max(after - 1, 0) : last]
        before = part[:-1] if after else ["", *part][:-1]
        return list(zip(reversed(part[1:] if after else part), reversed(before), strict=True))

    @property
    def is_known(self) -> bool:
        """Whether anybody has asked for the line, so that it is kept up with main's head."""
        return bool(self._line)

    def went(self, before: str, head: str) -> list[Step]:
        """Return the steps from one head of main to a later one, newest first. Where nobody has asked for the line yet,
        those by first parents, without a process: all of them as one where the heads are not near each other.
        """
        if self._line:
            return self.steps(head, after=self.place(before, head) or 0)
        near = [commit for commit, _ in self._mirror.first_parents(head, {before}) or ()] or [head]
        return list(zip(near, [*near[1:], before], strict=True))

    def was_at(self, head: str) -> None:
        """Note a head that main had: it is of the line, whatever the merges after it look like."""
        if not self._line:
            self._heads.append(head)

    def landing(self, commit: str, head: str) -> str:
        """Return the commit of the line that brought another one into main: the oldest that contains it.

        Empty where none does.
        """
        self._follow(head)
        if commit in self._places:
            return commit
        if not self._line or not self._mirror.is_ancestor(commit, head):
            return ""
        lacking, containing = -1, len(self._line) - 1
        while containing - lacking > 1:
            middle = (lacking + containing) // 2
            if self._mirror.is_ancestor(commit, self._line[middle]):
                containing = middle
            else:
                lacking = middle
        return self._line[containing]

    def _follow(self, head: str) -> None:
        if self._line and self._line[-1] == head:
            return
        while self._heads:
            was = self._heads.popleft()
            if self._mirror.has(was):
                self._go_on_to(was)
        self._go_on_to(head)

    def _go_on_to(self, head: str) -> None:
        """Lead the line to a head. It keeps all its commits where the head contains the last of them."""
        known = self._line[-1] if self._line and self._mirror.is_ancestor(self._line[-1], head) else ""
        newest_first, base = self._new(head, known)
        if known and base != known:
            newest_first, base = self._down_to(known, head), known
        while self._line and self._line[-1] != base:
            del self._places[self._line.pop()]
        for commit in reversed(newest_first):
            self._line.append(commit)
            self._places[commit] = len(self._line)

    def _new(self, head: str, known: str) -> tuple[list[str], str]:
        """Return the new part of the line, newest first, and the commit where it meets the known part; empty for
        none.
        """
        found: list[str] = []
        tip = head
        while tip and tip not in self._places:
            start, tip = tip, ""
            for commit, parents, subject in self._walked(start, known):
                if commit in self._places:
                    return found, commit
                found.append(commit)
                tip = self._main_of(commit, parents, known, is_pull=self._merges_main(subject))
                if tip not in parents[:1]:
                    break
            else:
                break
        return found, tip if tip in self._places else ""

    def _down_to(self, known: str, head: str) -> list[str]:
        """Return the line from a head down to a commit that it contains, newest first, by parents that contain it,
        too.
        """
        walk = ("--ancestry-path", head, f"^{known}")
        family = {commit: (parents, self._merges_main(subject)) for commit, parents, subject in self._commits(*walk)}
        found, at = list[str](), head
        while at != known:
            found.append(at)
            parents, is_pull = family[at]
            containing = [each for each in parents if each == known or each in family]
            at = self._main_of(at, containing, known, is_pull=is_pull) or known  # of very many parents not all are read
        return found

    def _main_of(self, commit: str, parents: Sequence[str], known: str, *, is_pull: bool) -> str:
        """Return the parent of a commit of the line that was main; empty for none.

        It is the one that is known to be of the line, unless main has another history than what is ``known``.
        """
        of_line = [each for each in parents if each in self._places] if known else []
        either = of_line if len(of_line) == 1 else parents
        self._unsure.pop(commit, None)
        if not is_pull or len(either) < 2:
            return next(iter(either), "")
        self._unsure[commit] = either[0]
        return either[1]

    def _walked(self, tip: str, known: str) -> Iterator[tuple[str, Sequence[str], str]]:
        near = self._mirror.first_parents(tip, self._places) if known else None
        if near is not None:
            yield from ((commit, one.parents, subject_of(one.message)) for commit, one in near)
            return
        yield from self._commits("--first-parent", tip, *((f"^{known}",) if known else ()))

    def _commits(self, *walk: str) -> Iterator[tuple[str, Sequence[str], str]]:
        told = map(text, self._mirror.stream(*_WALK, *walk, longest=_LONGEST))
        for commit, parents, subject, _ in zip(told, told, told, told, strict=True):
            yield commit, parents.split(), subject

    def _merges_main(self, subject: str) -> bool:
        """Return whether the subject is that of a `git pull`: main was merged into what then became main."""
        branch = self._mirror.settings.branch
        names = (f"branch '{branch}' of ", f"remote-tracking branch 'origin/{branch}'", f"branch 'origin/{branch}'")
        return subject.startswith("Merge ") and subject.removeprefix("Merge ").startswith(names)
