"""Cost per body, per loop and per particle against their number."""

from __future__ import annotations

from pathlib import Path

from result import Limit


def plot_scaling(limits: list[Limit], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    for limit in limits:
        sizes = [int(links) for links in limit.parts]
        axes.plot(sizes, list(limit.parts.values()), "o-", label=limit.case.partition(",")[0])
    axes.set(
        xscale="log",
        xlabel="links, loops or particles",
        ylabel="time for each of them [ns]",
        ylim=(0, None),
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
