import numpy as np

from treemend.result import adjusted_p_values


def test_p_values_adjusted_for_a_false_discovery_rate():
    assert adjusted_p_values(np.array([0.01, 0.5, 0.02, 0.9])).round(3).tolist() == [0.04, 0.667, 0.04, 0.9]
