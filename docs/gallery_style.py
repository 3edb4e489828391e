"""How the gallery's pictures look: sphinx-gallery calls `use_style` before each example.

The first colours are blue, orange and green, as matplotlib's own are, in the version of Okabe and Ito, which people
with any kind of colour vision can tell apart. Without this file examples look plainer, and not much different.
"""

from typing import Any

STYLE = {
    "axes.prop_cycle": ("color", ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.edgecolor": "0.4",
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.labelcolor": "0.25",
    "figure.dpi": 100,
    "font.size": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "xtick.color": "0.3",
    "ytick.color": "0.3",
}


def use_style(gallery_conf: dict[str, Any], example: str) -> None:
    """Set matplotlib's parameters; the arguments are sphinx-gallery's and are not used."""
    del gallery_conf, example
    import matplotlib as mpl
    from cycler import cycler

    name, colours = STYLE["axes.prop_cycle"]
    mpl.rcParams.update({**STYLE, "axes.prop_cycle": cycler(name, colours)})
