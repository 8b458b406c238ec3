"""How files name one key of a Secret; its value is in no file."""

from typing import Annotated

from pydantic import Field

from gitops_bg.spec.app.fields import Model, Text
from gitops_bg.spec.app.layout import SUBDOMAIN

SecretName = Annotated[str, Field(pattern=f"^{SUBDOMAIN}$")]


class SecretKeyRef(Model):
    """One key of a Secret in the app's namespace; read only when something is measured."""

    name: SecretName = Field(description="The Secret.")
    key: Text = Field(description="The key in it.")
