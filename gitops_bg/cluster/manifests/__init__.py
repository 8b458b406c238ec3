"""The manifests of live objects, and the patches that change live objects to them. Pure."""
