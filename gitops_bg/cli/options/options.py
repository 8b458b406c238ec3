"""The options that verbs share: which repository, which cluster, how to print. Declarations only."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.values import a_version_name, an_app, namespace_name, positive_seconds, seconds
from gitops_bg.cli.views.templates import FORMS, is_template
from gitops_bg.core.dataclass import dataclass

GIT, CLUSTER, OUTPUT = "Git", "Cluster", "Output"


class Format(StrEnum):
    """How a verb prints."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def get_format(text: str) -> str:
    """Return an output format of `get`. Raises `UsageError`."""
    if text in set(Format) or is_template(text):
        return text
    raise UsageError(f"{text!r} is no output format: {', '.join(Format)}, {FORMS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOptions:
    """Which repository, and how to reach it."""

    repo: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_REPO",
            metavar="URL",
            help="The configuration repository: https, ssh, file or a path. Default: origin of the current directory, "
            "else the one that the live app follows.",
            rich_help_panel=GIT,
        ),
    ] = ""
    branch: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_BRANCH",
            help="The branch that is deployed. Default: the one that the live app follows, else main.",
            rich_help_panel=GIT,
        ),
    ] = ""
    cluster: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_CLUSTER",
            metavar="NAME",
            help="Whose ledger: gitops-bg/state/NAME. Default: that of the live app, else the only one there is.",
            rich_help_panel=GIT,
        ),
    ] = ""
    env: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_ENV",
            metavar="NAME",
            help="Which environment of the repository (environments.yaml). Default: that of the cluster.",
            rich_help_panel=GIT,
        ),
    ] = ""
    git_token_file: Annotated[
        Path | None,
        typer.Option(envvar="GITOPS_BG_GIT_TOKEN_FILE", help="A file with the token for https.", rich_help_panel=GIT),
    ] = None
    git_username: Annotated[
        str, typer.Option(envvar="GITOPS_BG_GIT_USERNAME", help="The user of the token.", rich_help_panel=GIT)
    ] = "git"
    git_ca_file: Annotated[
        Path | None,
        typer.Option(envvar="GITOPS_BG_GIT_CA_FILE", help="Certificates to trust for https.", rich_help_panel=GIT),
    ] = None
    ssh_key_file: Annotated[
        Path | None,
        typer.Option(envvar="GITOPS_BG_SSH_KEY_FILE", help="The private key for ssh.", rich_help_panel=GIT),
    ] = None
    known_hosts_file: Annotated[
        Path | None,
        typer.Option(envvar="GITOPS_BG_KNOWN_HOSTS_FILE", help="The host keys for ssh.", rich_help_panel=GIT),
    ] = None
    signing_key: Annotated[
        Path | None,
        typer.Option(envvar="GITOPS_BG_SIGNING_KEY", help="An ssh key to sign commits with.", rich_help_panel=GIT),
    ] = None
    state_dir: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_STATE_DIR",
            help="Where the mirror of the repository is kept. Default: below the user's cache.",
            rich_help_panel=GIT,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """The keys that commits of the repository must be signed by."""

    verify_signers: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_VERIFY_SIGNERS",
            help="Read main only as far as its commits are signed by these SSH keys: a file of allowed signers, "
            "ssh-keygen(1). The public key of --signing-key has to be among them.",
            rich_help_panel=GIT,
        ),
    ] = None
    verify_gpg_keys: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_VERIFY_GPG_KEYS",
            help="Beside --verify-signers: armored OpenPGP public keys whose signatures count, too.",
            rich_help_panel=GIT,
        ),
    ] = None


Author = Annotated[
    str,
    typer.Option(
        envvar="GITOPS_BG_AUTHOR",
        metavar="'NAME <MAIL>'",
        help="The author of the commit. Default: user.name and user.email of git.",
        rich_help_panel=GIT,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorOptions:
    """The author of a commit."""

    author: Author = ""
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.", rich_help_panel=OUTPUT)
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Which cluster; without a kubeconfig: the pod's own service account, or kubectl's default file."""

    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            envvar=["GITOPS_BG_KUBECONFIG", "KUBECONFIG"], help="The kubeconfig file.", rich_help_panel=CLUSTER
        ),
    ] = None
    context: Annotated[
        str | None,
        typer.Option(envvar="GITOPS_BG_CONTEXT", help="The context of the kubeconfig.", rich_help_panel=CLUSTER),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOptions:
    """The namespace of apps that are named without one."""

    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            parser=namespace_name,
            metavar="NS",
            help="The namespace of an APP that is named without one. Default: its own, if the name is unique.",
            rich_help_panel=CLUSTER,
        ),
    ] = ""


NoColor = Annotated[bool, typer.Option("--no-color", help="Print without colors.", rich_help_panel=OUTPUT)]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Say which agent works, and when it looks again.", rich_help_panel=OUTPUT),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How to print."""

    output: Annotated[
        Format,
        typer.Option(
            "--output",
            "-o",
            help="The output format: for people, as wide as it needs, or for programs.",
            rich_help_panel=OUTPUT,
        ),
    ] = Format.TEXT
    no_color: NoColor = False
    verbose: Verbose = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOutputOptions:
    """How to print what is there."""

    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            parser=get_format,
            metavar="FORMAT",
            help="The output format: text or wide for people; json, yaml, name, jsonpath=TEMPLATE or "
            "custom-columns=TITLE:PATH,… for programs, about what json prints.",
            rich_help_panel=OUTPUT,
        ),
    ] = "text"
    no_color: NoColor = False
    verbose: Verbose = False

    @property
    def ordinary(self) -> OutputOptions:
        """The options that every verb has; a template is about JSON."""
        output = Format(self.output) if self.output in set(Format) else Format.JSON
        return OutputOptions(output=output, no_color=self.no_color, verbose=self.verbose)

    @property
    def template(self) -> str:
        """What is taken out of the JSON; empty: all of it."""
        return "" if self.output in set(Format) else self.output


class PlanFormat(StrEnum):
    """How a plan is printed."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutputOptions:
    """How to print a plan."""

    output: Annotated[
        PlanFormat,
        typer.Option(
            "--output",
            "-o",
            help="The output format: for people, programs, or a comment in a pull request.",
            rich_help_panel=OUTPUT,
        ),
    ] = PlanFormat.TEXT
    no_color: NoColor = False

    @property
    def ordinary(self) -> OutputOptions:
        """The options that every verb has."""
        of_programs = {PlanFormat.JSON: Format.JSON, PlanFormat.YAML: Format.YAML}
        return OutputOptions(output=of_programs.get(self.output, Format.TEXT), no_color=self.no_color)


class CheckFormat(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutputOptions:
    """How to print findings."""

    output: Annotated[
        CheckFormat,
        typer.Option(
            "--output",
            "-o",
            help="The output format: for people, programs, a forge's code scanning (sarif), annotations of GitHub "
            "Actions, or GitLab's code quality.",
            rich_help_panel=OUTPUT,
        ),
    ] = CheckFormat.TEXT
    no_color: NoColor = False

    @property
    def ordinary(self) -> OutputOptions:
        """The options that every verb has."""
        output = Format.JSON if self.output is CheckFormat.JSON else Format.TEXT
        return OutputOptions(output=output, no_color=self.no_color)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOptions:
    """A comment of a pull request, which CI keeps up to date."""

    comment: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Also keep the plan as a comment of the pull request at this address, as Markdown.",
            rich_help_panel=OUTPUT,
        ),
    ] = ""
    forge_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_FORGE_TOKEN_FILE",
            help="A file with the token that may comment.",
            rich_help_panel=OUTPUT,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """For `plan`, which prints in more ways."""

    git: GitOptions
    kube: ClusterOptions
    place: PlaceOptions
    out: PlanOutputOptions
    pull: CommentOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """Options of verbs that need the cluster alone."""

    kube: ClusterOptions
    place: PlaceOptions
    out: OutputOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOptions:
    """Options of verbs that show what the cluster has."""

    kube: ClusterOptions
    place: PlaceOptions
    out: GetOutputOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class AppOptions:
    """Options of verbs that read Git, and the cluster, or ask it which repository, branch and ledger are meant."""

    git: GitOptions
    kube: ClusterOptions
    place: PlaceOptions
    out: OutputOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOptions:
    """The author of a commit, and the reason."""

    person: AuthorOptions
    message: Annotated[
        str,
        typer.Option(
            "--message",
            "-m",
            "--reason",
            "-r",
            metavar="TEXT",
            help="Why; it is part of the commit.",
            rich_help_panel=GIT,
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideOptions:
    """In spite of which policies something is promoted."""

    override: Annotated[
        list[str] | None,
        typer.Option("--override", metavar="POLICY", help="Override a policy that permits it; needs --reason."),
    ] = None
    sign: Annotated[
        bool, typer.Option("--sign", help="Sign the commit with your SSH key, if the policy's override requires it.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PatienceOptions:
    """How long a request to the cluster may take."""

    grace: Annotated[
        float,
        typer.Option(
            parser=seconds,
            metavar="DURATION",
            show_default="3s",
            help="How long the agent has to answer; then this process acts itself, if it can.",
        ),
    ] = 3.0
    timeout: Annotated[
        float,
        typer.Option(parser=positive_seconds, metavar="DURATION", show_default="5m", help="How long it may take."),
    ] = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOptions:
    """Whether to wait for traffic."""

    wait: Annotated[bool, typer.Option("--wait", help="Return only once live traffic has moved.")] = False
    timeout: Annotated[
        float,
        typer.Option(parser=positive_seconds, metavar="DURATION", show_default="10m", help="How long --wait may take."),
    ] = 600.0


NAME = "NAME or NAMESPACE/NAME."
App = Annotated[
    str,
    typer.Argument(parser=an_app, metavar="APP", help=NAME, show_default=False, autocompletion=completion.apps),
]
_OF_EITHER = "NAME or NAMESPACE/NAME, of an app or a release group."
AppOrGroup = Annotated[
    str,
    typer.Argument(
        parser=an_app,
        metavar="APP",
        help=_OF_EITHER,
        show_default=False,
        autocompletion=completion.apps_and_groups,
    ),
]
AppGroupOrAll = Annotated[
    str | None,
    typer.Argument(
        parser=an_app,
        metavar="[APP]",
        help=f"{_OF_EITHER} Default: all of them.",
        autocompletion=completion.apps_and_groups,
    ),
]
Apps = Annotated[
    list[str],
    typer.Argument(parser=an_app, metavar="APP...", help=NAME, show_default=False, autocompletion=completion.apps),
]


def version_option(says: str) -> Any:
    """Return the option `--to VERSION` of a verb; ``says`` is its help."""
    return typer.Option("--to", parser=a_version_name, metavar="VERSION", autocompletion=completion.versions, help=says)


Watch = Annotated[bool, typer.Option("--watch", "-w", help="Keep watching, and show each change until Ctrl-C.")]
WatchTimeout = Annotated[
    float,
    typer.Option(
        parser=positive_seconds, metavar="DURATION", show_default="none", help="Stop watching after this time."
    ),
]
