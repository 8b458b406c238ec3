"""The strict reader: what it accepts, what it refuses, and the place that it reports."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.spec.yaml.reader import MAX_BYTES, Document, kind_of, read, read_one

# what is written: (line, column, field, part of the message, part of the remedy)
REFUSED = {
    "a truth value without quotes": (b"a:\n  b: yes\n", 2, 6, "a.b", "unquoted yes is a truth value", '"yes"'),
    "an octal number": (b"mode: [0644]", 1, 8, "mode[0]", "unquoted 0644 is a number", '"0644"'),
    "a date": (b"a: 2026-01-01", 1, 4, "a", "a date", 'quote it: "2026-01-01"'),
    "a key twice": (b"a: 1\nb: 2\na: 3\n", 3, 1, "a", "there twice", "keep one"),
    "a key twice, deep": (b"x:\n- {a: 1, a: 2}\n", 2, 10, "x[0].a", "there twice", "keep one"),
    "a number as key": (b"8080: x", 1, 1, "", "the key 8080 is not text", 'quote it: "8080"'),
    "an empty key": (b"? \n: x", 1, 2, "", "the key that is empty is not text", "quote it"),
    "a doubtful key": (b"on: push", 1, 1, "", "unquoted key on is a truth value", 'quote it: "on"'),
    "a list as key": (b"? [a]\n: b", 1, 3, "", "a key must be text", "plain key"),
    "a merge key": (b"a: &x {b: 1}\nc:\n  <<: *x\n", 3, 3, "c", "is a merge", "write the merged fields out"),
    "a tag": (b"a: !!str 1", 1, 4, "a", "the tag !!str", "remove it"),
    "a tag on a list": (b"a: !!set [x]", 1, 4, "a", "the tag !!set", "remove it"),
    "a tag on a key": (b"!!str a: 1", 1, 1, "", "the tag !!str", "remove it"),
    "an anchor on a key": (b"&k a: 1", 1, 1, "", "an anchor on a key", "remove &k"),
    "a Python object": (b"a: !!python/object/apply:os.system [ls]", 1, 4, "a", "the tag", "remove it"),
    "an alias without anchor": (b"a: *b", 1, 4, "a", "*b has no anchor", "&b"),
    "an alias inside itself": (b"a: &a [*a]", 1, 8, "a[0]", "inside the value it names", "write the value out"),
    "a directive": (b"%YAML 1.1\n---\na: 1", 1, 1, "", "directives", "starts with %"),
    "broken brackets": (b"a: [1\nb: 2", 2, 2, "a", "this is not YAML: did not find expected ',' or ']'", "brackets"),
    "a tab": (b"a:\n\tb: 1", 2, 1, "a", "cannot start any token", "spaces, not tabs"),
    "a colon in text": (b"a: b: c", 1, 5, "", "mapping values are not allowed", "quote text"),
    "a control character": (b"ok: 1\na: \x01", 2, 4, "", "control characters", "remove the character"),
    "half a character": (b'a: ["\\ud800"]', 1, 8, "a", "invalid Unicode", ""),
    "half a character beside a colon": (b'a: [b:c, "\\ud800"]', 1, 10, "a", "no character", "itself"),
    "broken beside a colon": (b"a: [b:c", 1, 8, "a", "expected ',' or ']'", "brackets"),
    "a control character beside a colon": (b"a: [b:c, \x01]", 1, 10, "", "control characters", "remove"),
    "bytes that are not UTF-8": (b"a: 1\nb: \xff", 2, 4, "", "not UTF-8", "save it as UTF-8"),
    "UTF-16": ("a: 1".encode("utf-16"), 1, 1, "", "not UTF-8", "save it as UTF-8"),
    "too deep": (b"[" * 65 + b"]" * 65, 1, 65, "[0]" * 64, "nested more than 64", "nest less"),
    "two documents": (b"a: 1\n---\nb: 2\n", 3, 1, "", "2 documents where one is expected", "files of their own"),
    "nothing": (b"# only a comment\n", 1, 1, "", "the file is empty", "delete the file"),
    "a list": (b"- a", 1, 1, "", "expected fields, found a list", "key: value"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_refuses_with_the_place_and_a_remedy(case: str) -> None:
    data, line, column, field, message, remedy = REFUSED[case]
    document, problems = read_one("apps/shop/web/x.yaml", data)
    assert document is None
    problem = problems[0]
    assert (problem.file, problem.line, problem.column) == ("apps/shop/web/x.yaml", line, column)
    assert problem.field == field
    assert message in problem.message
    assert remedy in problem.remedy


TAKEN = {
    "plain values": (b"a: 1\nb: [x, true, null, 1.5]\n", {"a": 1, "b": ["x", True, None, 1.5]}),
    "quoted doubts": (b'a: "yes"\nb: \'010\'\n"on": x\n', {"a": "yes", "b": "010", "on": "x"}),
    "a byte order mark": (b"\xef\xbb\xbfa: 1", {"a": 1}),
    "Windows line breaks": (b"a: 1\r\nb: |\r\n  x\r\n", {"a": 1, "b": "x\n"}),
    "aliases": (b"a: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
    "an alias of text": (b"a: &x one\nb: *x\n", {"a": "one", "b": "one"}),
    "an empty first document": (b"---\n---\na: 1\n", {"a": 1}),
    "URLs in brackets": (b"args: [--url=http://x:80, a:b]\nc: {image: web:1}\n", None),
    "JSON": (b'{"a":{"b":[1,"x"]}}', {"a": {"b": [1, "x"]}}),
}


@pytest.mark.parametrize("case", TAKEN)
def test_it_reads_what_every_parser_reads_the_same(case: str) -> None:
    data, expected = TAKEN[case]
    document, problems = read_one("x.yaml", data)
    assert problems == ()
    assert document is not None
    assert document.value == (expected or yaml.safe_load(data))


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    problems = read("x.yaml", b"a: yes\nb: 010\nc: !!str x\n").problems
    assert [(problem.line, problem.field) for problem in problems] == [(1, "a"), (2, "b"), (3, "c")]


def test_a_file_full_of_mistakes_ends_after_twenty() -> None:
    assert len(read("x.yaml", b"- yes\n" * 1000).problems) == 20


def test_a_file_that_is_too_large_is_not_parsed() -> None:
    (problem,) = read("x.yaml", b"#" * (MAX_BYTES + 1)).problems
    assert "is larger than 1024 KiB" in problem.message


def bomb(levels: int, width: int) -> bytes:
    lines = [b"a0: &a0 [%s]" % b",".join([b"x"] * width)]
    lines += [b"a%d: &a%d [%s]" % (n, n, b",".join([b"*a%d" % (n - 1)] * width)) for n in range(1, levels)]
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bomb(9, 10), "more than 50000 values"),
        (bomb(500, 1), "nested more than 64 levels"),
        (b"- x\n" * 60_000, "more than 50000 values"),
    ],
    ids=["wide aliases", "deep aliases", "many values"],
)
def test_bombs_are_refused_before_they_explode(data: bytes, message: str) -> None:
    (problem,) = read("x.yaml", data).problems
    assert message in problem.message


@pytest.mark.parametrize("value", ["0123", "*hunter2", "!hunter2", "!hunter2 x", "&hunter2 [*hunter2]"])
def test_a_secrets_value_is_not_in_its_problem(value: str) -> None:
    problems = read("x.yaml", f"apiVersion: v1\nkind: Secret\nstringData:\n  pin: {value}\n".encode()).problems
    assert {problem.field.removesuffix("[0]") for problem in problems} == {"stringData.pin"}
    assert "0123" not in str(problems)
    assert "hunter2" not in str(problems)
    assert "quote" in str(problems)


def test_a_field_that_is_missing_gets_the_place_of_its_parent() -> None:
    document, _ = read_one("x.yaml", b"a: 1\nb:\n  c:\n    d: 1\n")
    assert document is not None
    problem = document.problem(("b", "c", "e", "f"), "is required")
    assert (problem.line, problem.column, problem.field) == (3, 3, "b.c.e.f")


def test_places_are_those_of_the_right_document() -> None:
    _, second = read("x.yaml", b"a: 1\n---\n\na: 2\n").documents
    assert second.problem(("a",), "x").line == 4
    assert second.problem((), "x").line == 4


def test_a_document_that_is_not_from_a_file_has_problems_without_a_place() -> None:
    assert str(Document("live", {"a": 1}).problem(("a",), "is wrong")) == "live: a: is wrong"


def test_an_unknown_place_is_the_start_of_the_file() -> None:
    problem = Document("x.yaml", {}, b"# nothing\n").problem(("a",), "is required")
    assert (problem.line, problem.column) == (1, 1)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=6), children, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=6), json_values, max_size=5))
def test_what_pyyaml_writes_with_quotes_is_read_as_it_was(value: dict[str, object]) -> None:
    text = yaml.safe_dump(value, allow_unicode=False, default_style='"', default_flow_style=False)
    untagged = text.replace("!!int ", "").replace("!!null ", "").replace("!!bool ", "")
    if untagged != text:  # numbers would be quoted then: let it choose the style
        text = yaml.safe_dump(value, allow_unicode=False)
    reading = read("x.yaml", text.encode())
    if not reading.problems:
        assert reading.documents[0].value == value


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "nothing"), (True, "a truth value"), (1, "a number"), ("", "text"), ({}, "a mapping"), ([], "a list")],
)
def test_values_have_plain_words(value: object, words: str) -> None:
    assert kind_of(value) == words


@pytest.mark.parametrize(
    ("data", "line", "message", "remedy"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1234\n",
            1,
            "a pointer of Git LFS",
            "git lfs untrack",
        ),
        (b"\0GITCRYPT\0\x12\xff\x80", 1, "encrypted by git-crypt", "leave it as it is"),
        (b"a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n", 2, "its conflict marker <<<<<<<", "choose"),
        (b"a: 1\r\n=======\r\nb: 3\r\n", 2, "its conflict marker =======", "choose"),
        (b"a: 1\n>>>>>>> 1a2b3c4 (bump)\n", 2, "its conflict marker >>>>>>>", "choose"),
        (b"\x1f\x8b\x08\0\xff", 1, "binary, or encrypted", "as text"),
        ("a: 1".encode("utf-16"), 1, "is not UTF-8", "save it as UTF-8"),
    ],
)
def test_what_stands_in_place_of_a_manifest_is_named_and_never_destroyed_by_its_remedy(
    data: bytes, line: int, message: str, remedy: str
) -> None:
    (problem,) = read("x.yaml", data).problems
    assert message in problem.message
    assert problem.remedy.startswith(remedy) or remedy in problem.remedy
    assert problem.line == line


def test_marks_in_a_text_of_the_manifest_are_the_authors_own() -> None:
    reading = read("x.yaml", b"data:\n  notes: |\n    <<<<<<< left\n    =======\n  # =======\n")
    assert reading.problems == ()


@pytest.mark.parametrize("text", ["3.10", "0x1F", "True", "+49", "1.50", "1.5e+3"])
def test_the_remedy_for_a_scalar_quotes_what_its_author_wrote(text: str) -> None:
    document, _ = read_one("x.yaml", f"a:\n  b: {text}  # a version\n".encode())
    assert document is not None
    assert document.quoting(("a", "b")) == f'quote it: "{text}"'


def test_the_remedy_for_a_scalar_that_may_be_secret_does_not_say_it() -> None:
    document, _ = read_one("x.yaml", b"kind: Secret\nstringData: {pin: 3.10}\n")
    assert document is not None
    assert document.quoting(("stringData", "pin")) == "quote it"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("0400", "write 256, which is 0400 in octal"),
        ("0o644", "write 420, which is 0644 in octal"),
        ("0899", 'quote it: "0899"'),
    ],
)
def test_a_mode_in_octal_is_led_to_its_decimal_number(text: str, remedy: str) -> None:
    (problem,) = read("x.yaml", f"secret: {{defaultMode: {text}}}".encode()).problems
    assert problem.remedy == remedy
    (elsewhere,) = read("x.yaml", f"port: {text}".encode()).problems
    assert elsewhere.remedy == f'quote it: "{text}"'
