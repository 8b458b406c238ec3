"""What a main that moved backwards, or does not count, means to an app or a release group (decision 17)."""


def why_rewritten(lost: str) -> str:
    """That main lacks a commit that was seen in it, and what to do; empty where it lacks none."""
    if not lost:
        return ""
    what = f"main no longer contains {lost[:10]}, which was seen before: nothing that main says now moves traffic"
    return f"{what}; push the former history back, or accept the new one: `gitops-bg accept-history`"
