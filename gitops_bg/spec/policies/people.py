"""Who is who, by ``policies/people.yaml``: the authors of commits and the owners of accounts. Decides nothing.

An account is identified by its stable id on its forge, never by its login, which somebody else may take over. A person
who is not in the file counts as a separate person, under a name that no entry of the file can have.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gitops_bg.core.model.policies.facts import CommitFacts, Person
from gitops_bg.spec.policies.models import FORGES, PersonEntry

_NO_REPLY = re.compile(r"(\d+)[+-][^@]*@(?:users\.)?noreply\..*", re.ASCII)
"""Addresses that forges give accounts; they begin with the stable id."""
_CO_AUTHORED = re.compile(r"^[ \t]*co-authored-by[ \t]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_CO_AUTHOR = re.compile(r"([^<>,;]*)<([^<>]*)>|([^<>,;]+)")
"""A name with its address, or one of the two alone."""


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account on a forge. ``kind`` is a key of ``forge:`` in people.yaml."""

    kind: str
    id: str
    login: str
    bot: bool = False

    def __str__(self) -> str:
        return f"{self.login} ({self.kind} {self.id})"


@dataclass(frozen=True, slots=True)
class Somebody:
    """A person, or a bot, as policies name them."""

    name: str
    groups: frozenset[str] = frozenset()
    bot: bool = False
    is_listed: bool = False
    """Whether people.yaml has them."""


@dataclass(frozen=True, slots=True)
class Directory:
    """The people of the file."""

    people: tuple[PersonEntry, ...] = ()
    unread: str = ""
    """Why nobody can tell who is who: the file exists, and neither it nor a former content of it can be read."""

    def groups_of(self, name: str) -> frozenset[str]:
        """The groups of somebody by their name; none of whom the file does not have."""
        found = (person.groups or () for person in self.people if person.name == name)
        return frozenset(next(found, ()))

    def owner(self, account: Account) -> Somebody:
        """Return the owner of an account."""
        kinds = FORGES[account.kind]
        for person in self.people:
            ids = person.forge or {}
            if account.id and any(str(ids.get(kind, "")) == account.id for kind in kinds):
                return _listed(person, account.bot)
        return Somebody(str(account), bot=account.bot)

    def may_own(self, account: Account) -> frozenset[str]:
        """Return who may own an account that nobody in the file has: people without one on this forge, by its login."""
        kinds = FORGES[account.kind]
        if self.owner(account).is_listed:
            return frozenset()
        return frozenset(
            person.name
            for person in self.people
            if not any((person.forge or {}).get(kind) for kind in kinds)
            and any(may_be_one(Person(person.name, email), account) for email in person.emails or ("",))
        )

    def writer(self, person: Person, kind: str = "") -> Somebody:
        """Return the author of a commit. ``kind`` is that of the forge, whose own addresses name accounts."""
        email = person.email.lower()
        for entry in self.people:
            if email and email in {each.lower() for each in entry.emails or ()}:
                return _listed(entry)
        bot = "[bot]" in f"{person.name} {person.email}"
        number = _NO_REPLY.fullmatch(email)
        if kind and number:
            owner = self.owner(Account(kind, number[1], person.name, bot))
            if owner.is_listed:
                return owner
        return Somebody(str(person), bot=bot)


def may_be_one(person: Person, account: Account) -> bool:
    """Whether a commit may be by the owner of an account, where people.yaml has neither.

    It takes approvals away and gives none, so a login may be believed here.

    >>> may_be_one(Person("Ana", "ana@example.com"), Account("gitea", "3", "ana"))
    True
    >>> may_be_one(Person("Bob", "7+bob@users.noreply.github.com"), Account("github", "7", "robert"))
    True
    >>> may_be_one(Person("Bob", "bob@example.com"), Account("gitea", "3", "ana"))
    False
    """
    number = _NO_REPLY.fullmatch(person.email.lower())
    if number and number[1] == account.id:
        return True
    local = person.email.partition("@")[0].partition("+")
    return account.login.casefold() in {person.name.casefold(), local[0].casefold(), local[2].casefold()} - {""}


def written_by(commit: CommitFacts) -> tuple[Person, ...]:
    """The author of a commit, and all whom its message names as co-authors, wherever a squash put that.

    Naming too many is safe: it takes approvals away and gives none.

    >>> written_by(CommitFacts("9be1", Person("Ada", "a@x"), trailers=(("co-authored-by", "Bob <b@x>"),)))
    (Person(name='Ada', email='a@x'), Person(name='Bob', email='b@x'))
    """
    said = (*commit.trailer("Co-authored-by"), *_CO_AUTHORED.findall(commit.message))
    others = (person for each in said for person in _co_authors(each))
    return tuple(dict.fromkeys((commit.author, *others)))


def _co_authors(said: str) -> Iterator[Person]:
    """Yield the people of one trailer.

    >>> list(_co_authors("Bob <b@x>, Cy <c@x>")), list(_co_authors("d@x"))
    ([Person(name='Bob', email='b@x'), Person(name='Cy', email='c@x')], [Person(name='', email='d@x')])
    """
    for name, email, alone in _CO_AUTHOR.findall(said):
        text = alone.strip()
        if email:
            yield Person(name.strip(), email.strip())
        elif text:
            yield Person("", text) if "@" in text else Person(text)


def names(people: Iterable[Somebody]) -> frozenset[str]:
    """Return the names that policies use."""
    return frozenset(each.name for each in people)


def agreed(now: Somebody, then: Somebody) -> Somebody | None:
    """Return somebody as in both the newest file and an older one, with only the groups of both.

    None: the files disagree.
    """
    return Somebody(now.name, now.groups & then.groups, now.bot, now.is_listed) if now.name == then.name else None


def _listed(person: PersonEntry, bot: bool = False) -> Somebody:
    return Somebody(person.name, frozenset(person.groups or ()), bot or person.bot, is_listed=True)
