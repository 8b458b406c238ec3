"""Release groups: several services that are promoted and rolled back together (docs/decisions/0036 and 0037).

What only they have: routes, members and the lifecycle of versions. `model`, `inputs` and `record` are the
nouns; `transition` takes a group from stage to stage, and `routing` says which HTTPRoutes that needs. Pure; the group
never touches a pod. The engine is `core.group_engine`.
"""
