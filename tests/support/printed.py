"""What a verb printed with `-o json`, held to the schema that `gitops-bg schema --of VERB` gives of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from gitops_bg.cli.printed import ERROR, NOTE, PRINTED, printed_schema


def demand_documented(arguments: Sequence[str], stdout: str, stderr: str) -> set[str]:
    """Every object that a verb printed is of its schema, and on stderr there are errors and notes. Text is not read.

    Returns the verb, if it printed an object.
    """
    if not _asks_for_json(arguments):
        return set()
    verb, found = verb_of(arguments), list(objects(stdout))
    wrong = [each for said in found for each in mistakes(verb, said)]
    for line in stderr.splitlines():
        said = json.loads(line)
        wrong += mistakes(ERROR if ERROR in said else NOTE, said)
    assert not wrong, "\n".join([f"gitops-bg {' '.join(arguments)}: not as its schema says", *wrong])
    return {verb} if found else set()


def verb_of(arguments: Sequence[str]) -> str:
    """The name of the verb in ``PRINTED``; of one that is not there, the words as they are."""
    return next((name for name in (" ".join(arguments[:2]), arguments[0]) if name in PRINTED), arguments[0])


def mistakes(name: str, said: object) -> list[str]:
    """What the schema of a verb, ``error`` or ``note`` says against an object."""
    if name not in PRINTED:
        return [f"{name} has no schema: gitops_bg/cli/printed.py"]
    worst = (best_match([each]) for each in _validator(name).iter_errors(said))
    return [f"{each.json_path}: {each.message}" for each in worst if each]


def objects(text: str) -> Iterator[Any]:
    """The objects of a text, one after the other."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        said, at = decoder.raw_decode(text, at)
        yield said
        at += len(text[at:]) - len(text[at:].lstrip())


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(printed_schema(name))


def _asks_for_json(arguments: Sequence[str]) -> bool:
    return any(pair == ("-o", "json") for pair in pairwise(arguments))
