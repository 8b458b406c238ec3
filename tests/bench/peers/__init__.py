"""`python -m tests.bench.peers`: gitops-bg beside Argo Rollouts and Flagger, on one control plane, in one run.

Builds and fetches nothing: a peer runs where a folder with its binary and its CustomResourceDefinitions is given.
"""
