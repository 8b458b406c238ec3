"""The demo: days of blue-green deployments on one machine, without a cluster and without a network.

It does what a user does, with plain `git`, and checks what it shows. It must not reach into the agent: it sees
what a user sees, which is Git, the objects of the cluster, and the answers of the Services.
"""
