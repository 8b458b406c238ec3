"""Release groups: several services that are promoted and rolled back together (docs/decisions/0036 and 0037).

What only they have: routes, members and the lifecycle of versions. `model`, `desired`, `observed`, `record` and
`decision` are the nouns; `lifecycle` moves versions from stage to stage, `transition` takes a group there step by step,
`routes` says which HTTPRoutes that needs. Pure; the group never touches a pod. The engine is `core.group_engine`.
"""
