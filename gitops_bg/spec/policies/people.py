"""Who is who, by ``policies/people.yaml`` and ``policies/allowed_signers``: the authors of commits, the owners of
accounts, and whose signatures count. Decides nothing.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_facts import CommitFacts, Person
from gitops_bg.spec.app.layout import PEOPLE_FILE, SIGNERS_FILE
from gitops_bg.spec.policies.load import PeopleFile, load_people
from gitops_bg.spec.policies.models import FORGES, PersonEntry

# --- authors and accounts ---
# An account is identified by its stable id on its forge, never by its login, which somebody else may take over. A
# person who is not in the file counts as a separate person, under a name that no entry of the file can have.

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
        """Return the groups of somebody by their name; none of whom the file does not have."""
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
    """Return whether a commit may be by the owner of an account, where people.yaml has neither.

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
    """Return the author of a commit, and all whom its message names as co-authors, wherever a squash put that.

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


# --- signatures: the file of signers, and the people whose ``signers`` list its names ---

File = bytes | Problem

_LINE = re.compile(r'("[^"]*"|\S+)\s+(?:.*\s)?(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+\s+[A-Za-z0-9+/]+=*(?:\s.*)?', re.ASCII)
_KEY = re.compile(r"\s((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+)\s+(\S+)", re.ASCII)
_AUTHORITY = re.compile(r"[\s,]cert-authority(?:[\s,]|\Z)", re.IGNORECASE | re.ASCII)
_FORM = "write NAME ssh-ed25519 KEY, as in ssh-keygen(1)"


@dataclass(frozen=True, slots=True)
class Trusted:
    """The signers and the people at one commit of main."""

    signers: bytes | None = None
    """The file of allowed signers; None where no readable one exists."""
    people: tuple[PersonEntry, ...] = ()

    def signer(self, principal: str) -> PersonEntry | None:
        """Return the person with this name in the file of signers; None if no person has it, or several do."""
        found = [person for person in self.people if principal in (person.signers or ())]
        return found[0] if len(found) == 1 else None


def trusted(signers: File | None, people: File | None) -> Trusted:
    """Return the two files as they are; a file that cannot be read counts for nobody."""
    return Trusted(signers if isinstance(signers, bytes) else None, load_people(people).people)


def nobody(principal: str) -> str:
    """Return why the signature of a name without a person does not count."""
    return f"{principal} is among the signers of nobody, or of several, in {PEOPLE_FILE}"


def check_signers(people: PeopleFile, signers: File | None) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return what is wrong with the file of signers, and with the names of people in it; and notes on names of
    nobody.
    """
    if isinstance(signers, Problem):
        return (signers,), ()
    names = dict(_names(signers or b""))
    broken = tuple(problem for problem in map(_broken, names.values()) if problem)
    known = {name for name, line in names.items() if not line[1]}
    return (*broken, *_lead_nowhere(people, known)), tuple(_of_nobody(people, names))


def check_keys(path: str, signers: bytes) -> tuple[Problem, ...]:
    """Return what is wrong with a file of allowed signers that nobody's names refer to; one without a key is wrong,
    too.
    """
    found = [(number, line.strip()) for number, line in enumerate(signers.decode(errors="replace").split("\n"), 1)]
    written = [(number, text) for number, text in found if text and not text.startswith("#")]
    if not written:
        return (Problem(path, "lists no key", remedy=_FORM),)
    return tuple(Problem(path, wrong, number, remedy=_FORM) for number, text in written if (wrong := _wrong(text)))


def _wrong(line: str) -> str:
    """Return what is wrong with the line of a signer; empty where nothing is."""
    found = _KEY.search(line)
    if _LINE.fullmatch(line) is None or found is None:
        return "is no line of a signer"
    if _AUTHORITY.search(line[: found.start()]):
        return "is an authority for certificates: list the keys themselves"
    kind = found[1].encode()
    try:
        blob = base64.b64decode(found[2], validate=True)
    except (binascii.Error, ValueError):
        blob = b""
    return "" if blob.startswith(len(kind).to_bytes(4) + kind) else "has a key that is not whole"


def _names(signers: bytes) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield each name with its line, and the text of a line that is none."""
    for number, line in enumerate(signers.decode(errors="replace").split("\n"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        found = _LINE.fullmatch(text)
        if found is None:
            yield f"line {number}", (number, text)
            continue
        for name in found[1].strip('"').split(","):
            yield name, (number, "")


def _broken(line: tuple[int, str]) -> Problem | None:
    return Problem(SIGNERS_FILE, "is no line of a signer", line[0], remedy=_FORM) if line[1] else None


def _lead_nowhere(people: PeopleFile, known: set[str]) -> Iterator[Problem]:
    for number, person in enumerate(people.people if people.document else ()):
        for place, name in enumerate(person.signers or ()):
            if name not in known and people.document is not None:
                message = f"{SIGNERS_FILE} has no {name}, so nothing that {person.name} signs counts"
                yield people.document.problem(("people", number, "signers", place), message, "add the key there")


def _of_nobody(people: PeopleFile, names: dict[str, tuple[int, str]]) -> Iterator[Problem]:
    mine = {name for person in people.people for name in person.signers or ()}
    for name, (line, broken) in names.items():
        if not broken and name not in mine and not people.problems:
            message = f"{name} is among the signers of nobody in {PEOPLE_FILE}, so what it signs does not count"
            yield Problem(SIGNERS_FILE, message, line, remedy=f"add it to somebody's signers in {PEOPLE_FILE}")
