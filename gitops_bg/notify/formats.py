"""The format of each chat; the types of Flagger's AlertProvider."""

from gitops_bg.notify.discord import discord
from gitops_bg.notify.gchat import gchat
from gitops_bg.notify.message import Format
from gitops_bg.notify.rocket import rocket
from gitops_bg.notify.slack import slack
from gitops_bg.notify.teams import teams

FORMATS: dict[str, Format] = {
    "slack": slack,
    "msteams": teams,
    "discord": discord,
    "rocket": rocket,
    "gchat": gchat,
}
