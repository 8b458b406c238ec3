"""The shapes of what is shown to programs: types of the serialisers, from which the JSON Schemas are made.

Only type checkers and `gitops-bg schema --of` import them: no verb pays for them.
"""
