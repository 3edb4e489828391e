"""The fitted model as a file, and how many files a row passes through."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.rows import correlated_rows, overwrite
from tests.walk import walked

from treemend.exceptions import ModelFileError
from treemend.model_file import decode, encode, read_model
from treemend.tcs import TCS, build_tree
from treemend.tcs.model import TCSModel

MOST_FILES = 12
MOST_CHANGES = 47


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return correlated_rows(rng, 120, 12), overwrite(rng, correlated_rows(rng, 30, 12))[0]


def test_a_model_read_from_a_file_gives_the_same_bits(rows, tmp_path):
    reference, suspects = rows
    suspects = suspects.copy()
    suspects[::4, 2:5] = np.nan
    tcs = TCS(tau=0.05, imputation="nearest").fit(reference)
    tcs.save(tmp_path / "model.safetensors")
    stored = read_model(tmp_path / "model.safetensors", {"TCS": TCS.model_type})
    assert stored.estimator == "TCS"
    loaded = TCS(**stored.parameters)
    loaded._model, loaded.n_features_in_ = stored.model, 12
    np.testing.assert_array_equal(loaded.mend(suspects).repaired, tcs.mend(suspects).repaired)
    np.testing.assert_array_equal(loaded.score_samples(suspects), tcs.score_samples(suspects))
    assert repr(loaded) == repr(tcs)


@pytest.mark.parametrize(
    "alter",
    [
        lambda model: {"rows": model.rows[:, :-1]},
        lambda model: {"rows": model.rows[:-1]},
        lambda model: {"rows": np.where(model.rows == model.rows[0, 0], np.inf, model.rows)},
        lambda model: {"radii": -model.radii},
        lambda model: {"radii": model.radii[:, :-1]},
        lambda model: {"tree": build_tree(12, 2)},
        lambda model: {"tree": replace(model.tree, left=model.tree.left[::-1].copy())},
        lambda model: {"tree": replace(model.tree, stop=model.tree.stop * 100)},
        lambda model: {"params": replace(model.params, n_neighbors=10**9)},
        lambda model: {"params": replace(model.params, depth=2)},
        lambda model: {"params": replace(model.params, alpha=7.0)},
        lambda model: {"params": replace(model.params, imputation="mean")},
        lambda model: {"params": replace(model.params, false_alarm_rate=0.1)},
        lambda model: {"tau": "0.05"},
        lambda model: {"tau": 7.0},
        lambda model: {"reference_rate": -1.0},
    ],
)
def test_nonsense_in_a_sealed_file_is_refused(rows, alter):
    model = TCS(tau=0.05).fit(rows[0])._model
    arrays = {}
    document = encode(replace(model, **alter(model)), arrays)
    with pytest.raises((ModelFileError, ValueError)):
        decode(TCSModel, document, arrays)


@pytest.mark.parametrize("alpha", [0.75, 1.0])
def test_a_row_passes_through_few_files(rows, alpha):
    reference, suspects = rows
    tcs = TCS(false_alarm_rate=0.2, alpha=alpha, n_jobs=1)
    assert tcs.fit(reference).mend(suspects).corrupted.any()  # imports and compiled code are loaded
    files = walked(lambda: tcs.fit(reference).mend(suspects))
    assert len(set(files)) <= MOST_FILES, " ".join(sorted(set(files)))
    changes = [file for before, file in pairwise(files) if file != before]
    assert len(changes) <= MOST_CHANGES, " ".join(changes)
