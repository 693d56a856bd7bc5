"""Store signals, filter them by frequency, and load the remaining signals in batches.

Install the package first: ``uv pip install ./examples/signal_type``.
"""

import tempfile

import numpy as np
from deeplake_lite_signal import Signal

import deeplake_lite as dl

RATE = 250.0

time = np.arange(500) / RATE
frequencies = [1.5, 8.0, 12.0, 40.0]
rng = np.random.default_rng(0)
signals = [np.sin(2 * np.pi * f * time) + 0.1 * rng.normal(size=500) for f in frequencies]

folder = tempfile.TemporaryDirectory()
ds = dl.create(f"{folder.name}/signals.lake", {"ecg": Signal(500, RATE)})
ds.append({"ecg": np.array(signals, np.float32)})
ds.commit("four signals")
print(ds)

slow = ds.query(f"SELECT ecg, DOMINANT_FREQUENCY(ecg, {RATE}) AS hertz WHERE hertz < 10")
print("slow signals:", slow["hertz"][:])

for batch in slow.batches(2):
    print("a batch:", batch["ecg"].shape, batch["ecg"].dtype)

folder.cleanup()
