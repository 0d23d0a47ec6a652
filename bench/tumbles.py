"""A thousand random tumbles (tests/contact/tumbles.py), as a table.

Run in the repository: python -m bench.tumbles [COUNT]
"""

from __future__ import annotations

import sys

from tests.contact.tumbles import GROUNDS, table, tumble


def main(count: int = 1000) -> None:
    outcomes = []
    for seed in range(count):
        outcomes.append(tumble(seed, GROUNDS[seed % 3]))
        if (seed + 1) % 25 == 0:
            wrong = [o.seed for o in outcomes if not o.right]
            print(f"{seed + 1} runs, {len(wrong)} wrong: {wrong[:20]}", file=sys.stderr, flush=True)
    print(table(outcomes))


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:2]))
