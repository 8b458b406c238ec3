"""What a shell offers while somebody types: apps, groups, versions, gates. Declarations only, and never an error."""

from typing import Any

import typer


def apps(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the apps that begin so, each with its phase."""
    from gitops_bg.cli.session import completions

    return completions.apps(_typed(ctx), incomplete)


def groups(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the release groups that begin so, each with its phase."""
    from gitops_bg.cli.session import completions

    return completions.groups(_typed(ctx), incomplete)


def apps_and_groups(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return both, for verbs that are about either."""
    return [*apps(ctx, incomplete), *groups(ctx, incomplete)]


def versions(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the versions of the app that was named, each with what it is."""
    from gitops_bg.cli.session import completions

    return completions.versions(_typed(ctx), incomplete)


def group_versions(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the versions of the group that was named, each with its stage."""
    from gitops_bg.cli.session import completions

    return completions.group_versions(_typed(ctx), incomplete)


def gates(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the manual gates of the app that was named."""
    from gitops_bg.cli.session import completions

    return completions.gates(_typed(ctx), incomplete)


def _typed(ctx: typer.Context) -> dict[str, Any]:
    from gitops_bg.cli.session.completions import REST

    return {**ctx.params, REST: ctx.args}
