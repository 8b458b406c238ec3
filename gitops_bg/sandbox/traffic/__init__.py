"""Traffic in the sandbox: what kube-proxy and the containers do."""
