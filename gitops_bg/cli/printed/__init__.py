"""The shape of what each verb prints for programs: types of the serialisers, and the JSON Schemas made from them.

Only type checkers and `gitops-bg schema --output` import it: no verb pays for it.
"""
