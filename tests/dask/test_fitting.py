"""`treemend.dask.fit`: a sample by row number, the same for any chunks."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from tests.dask.conftest import NAMES, suspects

import treemend.dask
from treemend import Mender
from treemend.exceptions import ColumnsError, InputError, ParameterError
from treemend.sampling import sample_rows

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("chunk", [7, 50, 1000])
def test_all_rows_give_the_bits_of_one_machine(chunk, client, clean):
    fitted = treemend.dask.fit(da.from_array(clean, chunks=(chunk, 5)), false_alarm_rate=0.2)
    expected = Mender(false_alarm_rate=0.2).fit(clean)
    rows = suspects(30)
    assert fitted.mend(rows).repaired.tobytes() == expected.mend(rows).repaired.tobytes()
    assert fitted.false_alarm_rate == 0.2


def test_a_sample_does_not_depend_on_the_chunks(clean):
    rows = suspects(20)
    expected = Mender(random_state=3).fit(clean[sample_rows(len(clean), 100, 3)]).score_samples(rows)
    for chunks in ((150,), (1, 49, 0, 100), (60, 60, 30)):
        collection = da.from_array(clean, chunks=(chunks, 12))
        fitted = treemend.dask.fit(collection, n_rows=100, random_state=3)
        assert np.array_equal(fitted.score_samples(rows), expected)


def test_frames_with_names_text_gaps_and_empty_partitions(client, clean):
    frame = pd.DataFrame(clean, columns=NAMES).assign(id="reference")
    frame.loc[[3, 90], "s4"] = np.nan
    parts = dd.from_pandas(frame, npartitions=4)
    parts = dd.concat([parts, parts.partitions[0][parts.partitions[0]["s0"] > 100]])
    fitted = treemend.dask.fit(parts, passthrough=["id"])
    expected = Mender(passthrough=["id"]).fit(frame)
    rows = pd.DataFrame(suspects(30), columns=NAMES).assign(id="suspect")
    pd.testing.assert_frame_equal(fitted.mend(rows).repaired, expected.mend(rows).repaired)
    assert list(fitted.feature_names_in_) == NAMES


def test_what_cannot_be_used_is_refused(clean):
    bad = clean.copy()
    bad[70, 2] = np.inf
    with pytest.raises(InputError, match="Chunk 1, rows counted from its first: .*row 20, column 2"):
        treemend.dask.fit(da.from_array(bad, chunks=(50, 12)))
    with pytest.raises(InputError, match="no rows"):
        treemend.dask.fit(da.from_array(clean[:0]))
    with pytest.raises(ParameterError, match="false_alarm_rate"):
        treemend.dask.fit(da.from_array(clean), false_alarm_rate=2)
    frame = dd.from_pandas(pd.DataFrame(clean, columns=NAMES), npartitions=2)
    with pytest.raises(ColumnsError, match="'nobody'"):
        treemend.dask.fit(frame, passthrough=["nobody"])
