"""The rules of `check` about an app's folder: each finds its mistake, and nothing where there is none."""
