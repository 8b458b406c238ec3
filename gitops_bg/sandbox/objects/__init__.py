"""The objects: kinds, schemas, defaults, validation, and the store that keeps them."""
