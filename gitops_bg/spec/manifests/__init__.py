"""The manifests in an app's folder: target, Services, ConfigMaps, Secrets, autoscaler, and their parts."""
