import numpy as np
import pytest
from experiments.digits import DEPTH, TAUS
from experiments.false_alarms import theta_of_curve
from experiments.roc import found_at_rate

from treemend.tcs.false_alarms import corruption_false_alarm_rate


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("theta", [0.5, 0.8])
def test_theta_comes_back_from_the_models_own_curve(theta, logarithmic):
    rates = np.asarray(corruption_false_alarm_rate(TAUS, theta, DEPTH))
    assert theta_of_curve(rates, np.array(TAUS), logarithmic=logarithmic) == pytest.approx(theta, abs=1e-3)


def test_a_curve_is_read_between_its_points():
    rows = [{"alpha": 1, "false_alarm": 0.1, "found": 0.8}, {"alpha": 1, "false_alarm": 0.3, "found": 1.0}]
    assert found_at_rate(rows, 0.2, alpha=1) == pytest.approx(0.9)
    assert found_at_rate(rows, 0.05, alpha=1) == pytest.approx(0.4)
