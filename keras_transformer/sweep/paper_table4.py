"""The paper's Table 4: F1 on section 23 of the Wall Street Journal."""

# The Transformer with 4 layers, by the name of the row that repeats it.
TRANSFORMER = {"treebank_only": 91.3, "semi_supervised": 92.7}

OTHERS = {
    "Vinyals & Kaiser et al. (2014), WSJ only": 88.3,
    "Petrov et al. (2006), WSJ only": 90.4,
    "Zhu et al. (2013), WSJ only": 90.4,
    "Dyer et al. (2016), WSJ only": 91.7,
    "Zhu et al. (2013), semi-supervised": 91.3,
    "Huang & Harper (2009), semi-supervised": 91.3,
    "McClosky et al. (2006), semi-supervised": 92.1,
    "Vinyals & Kaiser et al. (2014), semi-supervised": 92.1,
    "Luong et al. (2015), multi-task": 93.0,
    "Dyer et al. (2016), generative": 93.3,
}


def quoted(names):
    """Returns the figures to quote beside the rows of a sweep.

    Args:
        names: Names of its rows. The paper's figure for a row of the
            Transformer that is missing is quoted, too.

    Returns:
        A list of pairs of a name and a dictionary of figures.
    """
    missing = {
        f"Transformer (4 layers), {name.replace('_', '-')}": f1
        for name, f1 in TRANSFORMER.items()
        if name not in names
    }
    return [(name, {"f1": f1}) for name, f1 in {**OTHERS, **missing}.items()]
