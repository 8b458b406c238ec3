"""Promotion from one environment to the next: Kargo, GitOps Promoter and kardinal-promoter."""
