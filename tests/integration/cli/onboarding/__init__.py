"""How apps come in: imported from other tools, and rendered from charts and kustomizations."""
