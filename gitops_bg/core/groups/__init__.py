"""Release groups: several services that are promoted and rolled back together (docs/decisions/0036).

A domain of its own beside the engine of one app: `model` has the nouns, `lifecycle` moves versions from stage to stage,
`prohibitions` says which requests must not reach the active version. Pure; knows neither pods nor routes in a cluster.
"""
