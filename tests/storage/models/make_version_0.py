"""Wrote ``version_0.safetensors`` once; it is kept so that anyone can see what the file holds."""

from pathlib import Path

import numpy as np

from treemend import storage

rng = np.random.default_rng(0)
reference = np.cumsum(rng.normal(size=(60, 8)), axis=1)
contents = {
    "parameters": {"dict": [["alpha", 0.5], ["depth", 2], ["n_neighbors", 4], ["false_alarm_rate", 0.1]]},
    "names": [f"sensor {column}" for column in range(8)],
    "reference": {"array": "reference"},
}

if __name__ == "__main__":
    path = Path(__file__).with_name("version_0.safetensors")
    storage.write(path, "treemend model", 0, contents, {"reference": reference})
