"""How a terminal draws what `gitops_bg.views` shows: lists, one app or group, tables, and what changes while somebody
watches.
"""
