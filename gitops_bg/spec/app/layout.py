"""The paths of a configuration repository (DESIGN §3.1), of its apps and of its release groups, and the names that are
allowed in it. Reads no file.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.model import version_number
from gitops_bg.core.model.version import AppKey, GroupKey, PullSubject
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.written import DNS_LABEL

File = TypeVar("File")

SETTINGS_FILE = "gitops-bg.yaml"
ENVIRONMENTS_FILE = "environments.yaml"
APPS_FOLDER = "apps"
ANALYSIS_FOLDER = "analysis"
ALERTS_FOLDER = "alerts"
POLICIES_FOLDER = "policies"
PEOPLE_FILE = "policies/people.yaml"
SIGNERS_FILE = "policies/allowed_signers"
POLICY_TEST_SUFFIX = ".test.yaml"
APP_FILE = "app.yaml"
PRIMARY_FILE = "primary.yaml"
OVERLAY_FILE = "overlay.yaml"
RELEASE_FILE = "release.yaml"
DEFAULT_TARGET_FILE = "target.yaml"
MANIFEST_SUFFIXES = (".yaml", ".yml")
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""The names under which kustomize looks for its file."""

OF_ENVIRONMENT = frozenset({PRIMARY_FILE, OVERLAY_FILE, RELEASE_FILE})
"""The files that an app has for each environment, and never beside their folders."""
STRAY = "./"
"""What a file is called that belongs into the folder of an environment, and lies beside it."""

# Kubernetes: subdomains of RFC 1123, labels of RFC 1035 (concepts/overview/working-with-objects/names).
SUBDOMAIN = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"


def folder_of(app: AppKey) -> str:
    """Return the folder of an app that is no member of a release group, without a trailing slash (`Places` knows all).

    >>> folder_of(AppKey("shop", "web"))
    'apps/shop/web'
    """
    return f"{APPS_FOLDER}/{app.namespace}/{app.name}"


def app_file(app: AppKey, filename: str) -> str:
    """Return the path of a file in the folder of an app that is no member of a release group.

    >>> app_file(AppKey("shop", "web"), "target.yaml")
    'apps/shop/web/target.yaml'
    """
    return f"{folder_of(app)}/{filename}"


@dataclass(frozen=True, slots=True)
class MemberFolder:
    """One service of one version of a release group, which is an app: ``groups/<ns>/<group>/<version>/<service>/``."""

    group: GroupKey
    version: str
    service: str

    @property
    def app(self) -> AppKey:
        """The app.

        >>> MemberFolder(GroupKey("shop", "store"), "v1", "cart").app
        AppKey(namespace='shop', name='cart-v1')
        """
        return AppKey(self.group.namespace, f"{self.service}-{self.version}")

    @property
    def folder(self) -> str:
        """Its folder, without a trailing slash.

        >>> MemberFolder(GroupKey("shop", "store"), "v1", "cart").folder
        'groups/shop/store/v1/cart'
        """
        return f"{group_folder(self.group)}/{self.version}/{self.service}"

    def own(self, name: str) -> str:
        """Return the member's own name where ``name`` is the same service's in another version: people copy folders.

        >>> cart = MemberFolder(GroupKey("shop", "store"), "v2", "cart")
        >>> cart.own("cart-v1"), cart.own("cart-v1-preview"), cart.own("cart"), cart.own("auth-v1"), cart.own("cart-v")
        ('cart-v2', 'cart-v2-preview', 'cart', 'auth-v1', 'cart-v')
        """
        version, dash, more = name.removeprefix(f"{self.service}-").partition("-")
        is_one = name.startswith(f"{self.service}-") and is_version(version)
        return f"{self.app.name}{dash}{more}" if is_one else name


def member_of(folder: str) -> MemberFolder | None:
    """Return the member of a release group whose folder this is; None for any other folder.

    >>> member_of("groups/shop/store/v1/cart")
    MemberFolder(group=GroupKey(namespace='shop', name='store'), version='v1', service='cart')
    >>> member_of("groups/shop/store/v01/cart"), member_of("groups/shop/store/v1"), member_of("apps/shop/web")
    (None, None, None)
    """
    found = group_of(folder)
    if found is None:
        return None
    version, _, service = found[1].partition("/")
    if not is_version(version) or not service or "/" in service:
        return None
    return MemberFolder(found[0], version, service)


def app_of_folder(folder: str) -> AppKey | None:
    """Return the app whose folder this is; None for any other folder. Whether its name is allowed is not checked.

    >>> app_of_folder("apps/shop/web"), app_of_folder("groups/shop/store/v1/cart")
    (AppKey(namespace='shop', name='web'), AppKey(namespace='shop', name='cart-v1'))
    >>> app_of_folder("apps/shop"), app_of_folder("groups/shop/store/v1"), app_of_folder("analysis/shop/web")
    (None, None, None)
    """
    parts = folder.split("/")
    if parts[0] == APPS_FOLDER:
        return AppKey(parts[1], parts[2]) if len(parts) == 3 and all(parts) else None
    member = member_of(folder)
    return member.app if member else None


def app_of(path: str) -> tuple[AppKey, str] | None:
    """Return the app a file belongs to, and the file's name in the app's folder; None for a path at any other depth.

    >>> app_of("apps/shop/web/target.yaml")
    (AppKey(namespace='shop', name='web'), 'target.yaml')
    >>> app_of("groups/shop/store/v1/cart/target.yaml")
    (AppKey(namespace='shop', name='cart-v1'), 'target.yaml')
    >>> app_of("apps/shop/target.yaml"), app_of("policies/a.yaml"), app_of("apps/shop/web/more/x.yaml")
    (None, None, None)
    """
    folder, _, filename = path.rpartition("/")
    app = app_of_folder(folder)
    return (app, filename) if app and filename else None


def in_environment(path: str) -> tuple[str, str, str] | None:
    """Return the folder of an app, the folder in it, and the name of a file in that, which is an environment's if the
    repository has environments; None for a path at any other depth.

    >>> in_environment("apps/shop/web/prod/primary.yaml"), in_environment("apps/shop/web/app.yaml")
    (('apps/shop/web', 'prod', 'primary.yaml'), None)
    """
    parts = path.rsplit("/", 2)
    is_one = len(parts) == 3 and path.startswith(f"{APPS_FOLDER}/") and app_of_folder(parts[0]) is not None
    return (parts[0], parts[1], parts[2]) if is_one else None


def seen_in(environment: str, names: Iterable[str]) -> dict[str, str]:
    """Return the files that count in an environment, by the names under which an app is read, each with its path in the
    app's folder. What other environments have is left out.

    >>> seen_in("prod", ["app.yaml", "target.yaml", "prod/primary.yaml", "prod/app.yaml", "dev/primary.yaml"])
    {'app.yaml': 'app.yaml', 'target.yaml': 'target.yaml', 'primary.yaml': 'prod/primary.yaml', \
'prod/app.yaml': 'prod/app.yaml'}
    >>> seen_in("prod", ["primary.yaml"])
    {'./primary.yaml': 'primary.yaml'}
    """
    found = {}
    for path in names:
        folder, slash, name = path.rpartition("/")
        if not slash:
            found[f"{STRAY}{path}" if path in OF_ENVIRONMENT else path] = path
        elif folder == environment:
            found[name if name in OF_ENVIRONMENT else path] = path
    return found


def path_in(environment: str, name: str) -> str:
    """Return the path in an app's folder of a file by the name under which the app is read (`seen_in`).

    >>> path_in("prod", "primary.yaml"), path_in("prod", "prod/hpa.yaml"), path_in("prod", "./primary.yaml")
    ('prod/primary.yaml', 'prod/hpa.yaml', 'primary.yaml')
    """
    if name.startswith(STRAY):
        return name.removeprefix(STRAY)
    return f"{environment}/{name}" if environment and name in OF_ENVIRONMENT else name


def only_seen_in(environment: str, files: Mapping[str, File]) -> dict[str, File]:
    """Return the files of `seen_in`, by the names under which an app is read."""
    return {name: files[path] for name, path in seen_in(environment, files).items()}


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of apps: those of release groups' members are known one by one, any other app's by its name. In a
    repository with environments, what each has of its own is in a folder of its name; members have no such folder.
    """

    members: Mapping[AppKey, str] = field(default_factory=dict)
    environment: str = ""
    """The environment that counts; empty where the repository has none, or nobody can tell."""

    def environment_of(self, app: AppKey) -> str:
        """Return the environment of an app; empty where it is in none."""
        return "" if app in self.members else self.environment

    def own_folder(self, app: AppKey) -> str:
        """Return the folder of what the app's environment has of its own, without a trailing slash.

        >>> Places(environment="prod").own_folder(AppKey("shop", "web")), Places().own_folder(AppKey("shop", "web"))
        ('apps/shop/web/prod', 'apps/shop/web')
        """
        environment = self.environment_of(app)
        return f"{self.folder(app)}/{environment}" if environment else self.folder(app)

    def branch(self, subject: PullSubject) -> str:
        """Return the branch that asks for a version of an app, or a release group.

        >>> Places(environment="prod").branch(AppKey("shop", "web")), Places().branch(AppKey("shop", "web"))
        ('gitops-bg/promote-in/prod/shop/web', 'gitops-bg/promote/shop/web')
        """
        return promotion_branch(subject, self.environment_of(subject) if isinstance(subject, AppKey) else "")

    def folders(self, app: AppKey) -> tuple[str, ...]:
        """Return every folder with files of an app."""
        return tuple(dict.fromkeys((self.folder(app), self.own_folder(app))))

    def folder(self, app: AppKey) -> str:
        """Return the folder of an app, without a trailing slash.

        >>> places = Places({AppKey("shop", "cart-v1"): "groups/shop/store/v1/cart"})
        >>> places.folder(AppKey("shop", "cart-v1")), places.folder(AppKey("shop", "web"))
        ('groups/shop/store/v1/cart', 'apps/shop/web')
        """
        return self.members.get(app) or folder_of(app)

    def file(self, app: AppKey, filename: str) -> str:
        """Return the path of a file of an app. What is asked for, or decided, in an environment is in its own folder.

        >>> Places().file(AppKey("shop", "web"), "target.yaml")
        'apps/shop/web/target.yaml'
        >>> [Places(environment="prod").file(AppKey("shop", "web"), each) for each in ("target.yaml", "app.yaml")]
        ['apps/shop/web/target.yaml', 'apps/shop/web/prod/app.yaml']
        """
        environment = self.environment_of(app)
        if environment and filename == APP_FILE:
            return f"{self.own_folder(app)}/{filename}"
        return f"{self.folder(app)}/{path_in(environment, filename)}"


def is_read(filename: str) -> bool:
    """Return whether a file of an app's folder is looked at: manifests, and the one name of a kustomization that is
    none.

    >>> is_read("service.yaml"), is_read("Kustomization"), is_read("README.md")
    (True, True, False)
    """
    return is_manifest(filename) or filename in KUSTOMIZATIONS


def is_manifest(filename: str) -> bool:
    """Return whether a file may have objects; a README or OWNERS beside the manifests is ignored.

    >>> is_manifest("service.yaml"), is_manifest("README.md")
    (True, False)
    """
    return filename.endswith(MANIFEST_SUFFIXES)


def meant_as(name: str, there: Iterable[str]) -> str:
    """Return the file that is there under a name that differs from ``name`` in capitals or its suffix; empty where none
    is.

    >>> meant_as("app.yaml", ["App.yml", "target.yaml"]), meant_as("app.yaml", ["target.yaml"])
    ('App.yml', '')
    """
    wanted = name.rpartition(".")[0].lower()
    return next((each for each in there if is_manifest(each) and each.rpartition(".")[0].lower() == wanted), "")


_DNS_LABEL = re.compile(DNS_LABEL)


def is_dns_label(name: str) -> bool:
    """Return whether Kubernetes accepts ``name`` for a namespace; apps follow the same rule.

    >>> is_dns_label("web-2"), is_dns_label("Web"), is_dns_label("web_2"), is_dns_label("")
    (True, False, False, False)
    """
    return _DNS_LABEL.fullmatch(name) is not None


GROUPS_FOLDER = "groups"
GROUP_FILE = "group.yaml"
VERSION_FILE = "version.yaml"
ROUTES_FILE = "routes.yaml"


def group_folder(group: GroupKey) -> str:
    """Return the folder of a group, without a trailing slash.

    >>> group_folder(GroupKey("shop", "store"))
    'groups/shop/store'
    """
    return f"{GROUPS_FOLDER}/{group.namespace}/{group.name}"


def group_file(group: GroupKey) -> str:
    """Return the path of ``group.yaml``.

    >>> group_file(GroupKey("shop", "store"))
    'groups/shop/store/group.yaml'
    """
    return f"{group_folder(group)}/{GROUP_FILE}"


def group_of(path: str) -> tuple[GroupKey, str] | None:
    """Return the group that a path belongs to, and the rest of the path; None for a path that belongs to none.

    >>> group_of("groups/shop/store/v1/cart/routes.yaml")
    (GroupKey(namespace='shop', name='store'), 'v1/cart/routes.yaml')
    >>> group_of("groups/shop/README.md"), group_of("apps/shop/web/app.yaml")
    (None, None)
    """
    parts = path.split("/", 3)
    if len(parts) != 4 or parts[0] != GROUPS_FOLDER:
        return None
    return GroupKey(parts[1], parts[2]), parts[3]


def is_version(name: str) -> bool:
    """Return whether a folder's name is that of a version.

    >>> is_version("v10"), is_version("v01"), is_version("two")
    (True, False, False)
    """
    return version_number(name) > 0


def looks_like_version(name: str) -> bool:
    """Return whether somebody may have meant a version: ``v01``, ``V2``, ``2``, ``version-3``.

    >>> looks_like_version("v01"), looks_like_version("docs")
    (True, False)
    """
    return re.search(r"\d", name, flags=re.ASCII) is not None or name.lower().startswith("v")
