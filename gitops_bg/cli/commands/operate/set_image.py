"""`set-image`: another image in the target, as a commit on main. Every other byte of the file stays as it is."""

from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.edits.commits import commit_change, demand_sound, in_app
from gitops_bg.cli.edits.restore_version import target_file
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import App, AppOptions, CommitOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.spec.manifests.image import EXAMPLE, trouble_with
from gitops_bg.spec.yaml import edit


def set_image(
    app: App,
    images: Annotated[list[str], typer.Argument(metavar="CONTAINER=IMAGE...", show_default=False)],
    at: AppOptions,
    by: CommitOptions,
) -> None:
    """Change the image of containers in the target; comments and formatting stay. What `check` refuses is not pushed.

    Example: gitops-bg set-image shop/web web=registry.example.com/shop/web:1.4.2
    """
    wanted = dict(map(_pair, images))
    output, person = Output(at.out, dry_run=by.person.dry_run), author(by.person.author)
    with Session(at.git, at.kube, at.place, person, about=apps_named(app), note=output.note) as session:
        key = session.app_in_git(app)
        filename, places = target_file(session.repository, key), session.repository.places

        def change(data: bytes) -> bytes:
            for container, image in wanted.items():
                data = edit.set_image(data, container, image, places.file(key, filename))
            demand_sound(session.repository, key, {filename: data})
            return data

        said = ", ".join(f"{container}={image}" for container, image in wanted.items())
        made = commit_change(session, output, in_app(places, key, filename, change, f"set image {said}", by.message))
    sentence = f"{key}: committed {made[:10]}, {said}" if made else f"{key}: the target has these images already"
    output.both({"app": str(key), "images": wanted, "commit": made, "changed": bool(made)}, sentence)


def _pair(text: str) -> tuple[str, str]:
    container, equals, image = text.partition("=")
    if not (container and equals and image) or any(sign.isspace() for sign in text):
        raise UsageError(f"{text!r} names no image; write CONTAINER=IMAGE, as in web={EXAMPLE}")
    trouble = trouble_with(image)
    if trouble:
        raise UsageError(f"{image!r} is no image: {trouble}; write [REGISTRY/]NAME[:TAG][@DIGEST], as in {EXAMPLE}")
    return container, image
