"""What SARIF 2.1.0 and GitHub's code scanning demand of a log, as an assertion.

OASIS: sarif-schema-2.1.0.json; GitHub: "SARIF support for code scanning", supported properties.
"""

from __future__ import annotations

from typing import Any

LEVELS = {"none", "note", "warning", "error"}


def check_sarif(log: dict[str, Any]) -> list[dict[str, Any]]:
    """Fail where the log breaks a rule of the schema, or of what GitHub asks beyond it; returns its results."""
    assert log.keys() == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run.keys() <= {"tool", "columnKind", "properties", "results", "invocations"}
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    driver = run["tool"]["driver"]
    assert driver.keys() <= {"name", "version", "rules"}
    assert driver["name"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in LEVELS
    for each in run.get("invocations", ()):
        assert isinstance(each["executionSuccessful"], bool)
    for result in run["results"]:
        _check_result(result, ids)
    return run["results"]  # type: ignore[no-any-return]


def _check_result(result: dict[str, Any], rules: list[str]) -> None:
    assert rules[result["ruleIndex"]] == result["ruleId"]
    assert result["level"] in LEVELS
    assert result["message"]["text"]
    (location,) = result["locations"]
    place = location["physicalLocation"]
    uri = place["artifactLocation"]["uri"]
    assert not uri.startswith(("/", "./", "../"))
    assert ":" not in uri.partition("/")[0]
    assert " " not in uri
    assert place["region"]["startLine"] >= 1
    assert place["region"].get("startColumn", 1) >= 1
    assert all(isinstance(each, str) for each in result["partialFingerprints"].values())


def told(log: dict[str, Any]) -> list[tuple[str, str, str, Any]]:
    """Rule, level, path and region of each result."""
    results = check_sarif(log)
    places = [result["locations"][0]["physicalLocation"] for result in results]
    return [
        (each["ruleId"], each["level"], place["artifactLocation"]["uri"], place["region"])
        for each, place in zip(results, places, strict=True)
    ]
