"""SARIF 2.1.0 (OASIS) as GitHub's code scanning takes it: a log of one run, from rules and results. Pure.

https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
demands more than the schema: of a rule both descriptions and a help, of a result a region; lines begin at 1, and a path
is relative to the root of the repository.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gitops_bg import __version__
from gitops_bg.cli.output import clean

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
Log = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SarifRule:
    """What results have in common. ``level``: ``error``, ``warning`` or ``note``."""

    name: str
    level: str
    says: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class SarifResult:
    """One result. Lines and columns count from 1; without a line it is about the whole file."""

    rule: SarifRule
    text: str
    file: str
    line: int | None = None
    column: int | None = None
    same: tuple[str, ...] = ()
    """What makes it the same result in another commit; empty: its place and text."""

    @property
    def fingerprint(self) -> str:
        """The same for the same result: whoever dismissed it is not asked again."""
        same = self.same or (self.file, str(self.line), clean(self.text))
        return hashlib.sha256("\0".join((self.rule.name, *same)).encode()).hexdigest()


def log_of(results: Iterable[SarifResult], properties: Mapping[str, Any], failure: str = "") -> Log:
    """Return the log; a result occurs once, whoever shares it. ``failure``: why the run could not look at all."""
    unique = list({each.fingerprint: each for each in results}.values())
    rules = sorted({each.rule for each in unique}, key=lambda rule: rule.name)
    run: Log = {
        "tool": {"driver": {"name": "gitops-bg", "version": __version__, "rules": [_rule(each) for each in rules]}},
        "columnKind": "unicodeCodePoints",
        "properties": dict(properties),
        "results": [_result(each, rules.index(each.rule)) for each in unique],
    }
    if failure:
        told = {"level": "error", "message": {"text": clean(failure)}}
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": [told]}]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: SarifRule) -> Log:
    said = {"text": rule.says}
    return {
        "id": rule.name,
        "shortDescription": said,
        "fullDescription": said,
        "help": {"text": rule.help or rule.says},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(result: SarifResult, place: int) -> Log:
    region = {"startLine": result.line or 1} | ({"startColumn": result.column} if result.column else {})
    return {
        "ruleId": result.rule.name,
        "ruleIndex": place,
        "level": result.rule.level,
        "message": {"text": clean(result.text)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(result.file)}, "region": region}}],
        "partialFingerprints": {"gitopsBg/v1": result.fingerprint},
    }
