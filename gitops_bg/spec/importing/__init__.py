"""Turns manifests of Argo Rollouts, Flagger, bgd-controller, OAM, and Deployments into files of a repository. Pure."""
