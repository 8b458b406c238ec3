"""Resource quantities of Kubernetes: ``500m``, ``1Gi``, ``0.5``. Reads text; changes nothing.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
from decimal import Decimal

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)([numkKMGTPE]?i?)")


def amount(value: object) -> Decimal | None:
    """How much a quantity is; None where it is none.

    >>> amount("500m"), amount("1Ki"), amount(2), amount("1 Gi"), amount("1gb")
    (Decimal('0.500'), Decimal('1024'), Decimal('2'), None, None)
    """
    found = _QUANTITY.fullmatch(str(value))
    factor = _SUFFIXES.get(found[2]) if found else None
    return Decimal(found[1]) * factor if found and factor is not None else None
