"""What is shown of apps, groups, gates and history, once for the command line and the dashboard: data becomes
shapes for programs and lines of text. Nothing here knows a terminal, asks a server or writes.
"""
