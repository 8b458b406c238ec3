"""Options whose value may be left out, as in ``plan --worktree [DIR]``: typer knows none such. Pure."""

_BARE = {"--worktree": "."}
"""What an option means without a value."""


def with_bare_values(words: list[str]) -> list[str]:
    """Return the words of a command with a value after each option that stands alone: at the end, or before an option.

    >>> with_bare_values(["--worktree", "-o", "json"]), with_bare_values(["--worktree", "there"])
    (['--worktree', '.', '-o', 'json'], ['--worktree', 'there'])
    """
    found: list[str] = []
    for word, following in zip(words, [*words[1:], "-"], strict=False):
        found.append(word)
        if word in _BARE and following.startswith("-"):
            found.append(_BARE[word])
    return found
