"""From the world to actions: what to do in the cluster, in Git and over HTTP to reach what the record says."""
