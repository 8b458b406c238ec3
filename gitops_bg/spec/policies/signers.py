"""Whose signatures count: ``policies/allowed_signers``, and the people whose ``signers`` list its names. Pure."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import PEOPLE_FILE, SIGNERS_FILE
from gitops_bg.spec.policies.load import PeopleFile, load_people
from gitops_bg.spec.policies.models import PersonEntry

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
    """What is wrong with the file of signers, and with the names of people in it; and notes on names of nobody."""
    if isinstance(signers, Problem):
        return (signers,), ()
    names = dict(_names(signers or b""))
    broken = tuple(problem for problem in map(_broken, names.values()) if problem)
    known = {name for name, line in names.items() if not line[1]}
    return (*broken, *_lead_nowhere(people, known)), tuple(_of_nobody(people, names))


def check_keys(path: str, signers: bytes) -> tuple[Problem, ...]:
    """What is wrong with a file of allowed signers that nobody's names refer to; one without a key is wrong, too."""
    found = [(number, line.strip()) for number, line in enumerate(signers.decode(errors="replace").split("\n"), 1)]
    written = [(number, text) for number, text in found if text and not text.startswith("#")]
    if not written:
        return (Problem(path, "lists no key", remedy=_FORM),)
    return tuple(Problem(path, wrong, number, remedy=_FORM) for number, text in written if (wrong := _wrong(text)))


def _wrong(line: str) -> str:
    """What is wrong with the line of a signer; empty where nothing is."""
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
    """Each name with its line, and the text of a line that is none."""
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
