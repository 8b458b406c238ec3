"""What an unquoted scalar means, compared with two other parsers."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gitops_bg.spec.yaml.scalars import AmbiguousScalar, resolve

SAME_FOR_ALL = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "true": True,
    "FALSE": False,
    "0": 0,
    "-7": -7,
    "+7": 7,
    "8080": 8080,
    "0x1F": 31,
    "9223372036854775807": 2**63 - 1,
    "1.5": 1.5,
    "-0.25": -0.25,
    ".5": 0.5,
    "1.5e+3": 1500.0,
    "web": "web",
    "1.0.0": "1.0.0",
    "1.25-alpine": "1.25-alpine",
    "100m": "100m",
    "128Mi": "128Mi",
    "8080:8080": "8080:8080",
    "10.0.0.1": "10.0.0.1",
    "-": "-",
    "--flag": "--flag",
    ".": ".",
    "nUll": "nUll",
    "/yes": "/yes",
    "9be1c0de": "9be1c0de",
    "2026": 2026,
    "2026-01": "2026-01",
}

DOUBTFUL = {
    "yes": 'write true, or quote it: "yes"',
    "Off": 'write false, or quote it: "Off"',
    "y": 'write true, or quote it: "y"',
    "N": 'write false, or quote it: "N"',
    "010": 'quote it: "010"',
    "08": 'quote it: "08"',
    "0o10": 'quote it: "0o10"',
    "0b11": 'quote it: "0b11"',
    "1_000": 'quote it: "1_000"',
    "1e3": 'quote it: "1e3"',
    "123e4567": 'quote it: "123e4567"',  # the short id of a commit
    "12:30:45": 'quote it: "12:30:45"',
    "1:30": 'quote it: "1:30"',
    "5.": 'quote it: "5."',
    "-.5": 'quote it: "-.5"',
    "-0x1F": 'quote it: "-0x1F"',
    "2026-01-01": 'quote it: "2026-01-01"',
    "2026-01-01T12:00:00Z": 'quote it: "2026-01-01T12:00:00Z"',
    ".inf": 'quote it: ".inf"',
    "-.INF": 'quote it: "-.INF"',
    ".NaN": 'quote it: ".NaN"',
    "9223372036854775808": 'quote it: "9223372036854775808"',
    "1" * 5000: f'quote it: "{"1" * 5000}"',
    "1.0e+999": 'quote it: "1.0e+999"',
    "=": 'quote it: "="',
    "<<": "write the merged fields out",
}


@pytest.mark.parametrize("text", SAME_FOR_ALL)
def test_a_scalar_that_all_parsers_read_alike_is_read_so(text: str) -> None:
    value = resolve(text)
    assert (value, type(value)) == (SAME_FOR_ALL[text], type(SAME_FOR_ALL[text]))


@pytest.mark.parametrize("text", DOUBTFUL, ids=lambda text: text[:24])
def test_a_scalar_that_parsers_differ_about_is_refused_with_a_remedy(text: str) -> None:
    doubt = resolve(text)
    assert isinstance(doubt, AmbiguousScalar)
    assert doubt.remedy == DOUBTFUL[text]


@given(st.text("0123456789abcdefxobnyestruEDT_.:+-~Z ", min_size=1, max_size=12).map(str.strip))
def test_what_is_not_refused_is_the_same_to_yaml_1_1_and_to_yaml_1_2(text: str) -> None:
    value = resolve(text)
    if isinstance(value, AmbiguousScalar) or (isinstance(value, str) and value != value.strip(":- ")):
        return
    try:
        old, new = yaml.safe_load(text), YAML(typ="safe", pure=True).load(text)
    except (yaml.YAMLError, ValueError, Exception):
        return
    if isinstance(old, dict | list):
        return
    for other in (old, new):
        assert value == other or (isinstance(value, float) and math.isclose(value, other))
