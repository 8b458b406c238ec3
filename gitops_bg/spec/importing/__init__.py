"""Turns manifests of Argo Rollouts, Flagger, bgd-controller and Deployments into files of a repository. Pure."""
