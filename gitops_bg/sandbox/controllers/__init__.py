"""The controllers of the sandbox: what kube-controller-manager, the scheduler and kubelets do."""
