# Writes golden.json: what NumPy 2 and PyTorch 2.9 draw on a CPU.
import json

import numpy as np
import torch

out = {}
np.random.seed(7)
out["ints"] = [int(np.random.randint(0, 101)) for _ in range(6)]
np.random.seed(12345)
out["permutation"] = [int(x) for x in np.random.permutation(10)]
out["choice"] = [int(x) for x in np.random.RandomState(3).choice(50, size=5, replace=False)]
for n in (3, 7, 16, 20, 40):
    out[f"normal{n}"] = [float(x) for x in torch.randn(n, generator=torch.manual_seed(42))]
print(json.dumps(out))
