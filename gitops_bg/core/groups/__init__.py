"""Release groups: several services that are promoted and rolled back together (docs/decisions/0036 and 0037).

A domain of its own beside the engine of one app. `engine` reads top to bottom; `model`, `desired`, `observed`,
`record` and `decision` are the nouns; `lifecycle` moves versions from stage to stage, `transition` takes a group there
step by step, `routing` renders HTTPRoutes. Pure; the group never touches a pod.
"""
