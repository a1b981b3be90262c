# Writes what ComfyUI 0.33.0 makes of two batches. Run with the path of a ComfyUI checkout, in its environment.
import os, sys
sys.path.insert(0, sys.argv.pop(1)); sys.argv.append('--cpu')
import comfy.options; comfy.options.enable_args_parsing()
import numpy as np, torch
from comfy_extras.nodes_post_processing import ColorTransfer
os.chdir(os.path.dirname(os.path.abspath(__file__)))
rng = np.random.default_rng(9)
y, x = np.mgrid[0:11, 0:17]
base = np.stack([x * 15, y * 25, (x * 7 + y * 5) % 256], -1)
target = np.clip(np.stack([base + rng.normal(0, 12, base.shape) + k * 20 for k in range(2)]), 0, 255).astype(np.uint8)
y, x = np.mgrid[0:9, 0:13]
ref = np.stack([np.stack([60 + x * 5 + k * 30, 200 - y * 9, 90 + (x * y) % 60], -1) + rng.integers(0, 20, (9, 13, 3)) for k in range(2)]).astype(np.uint8)
target, ref = target.astype(np.float32) / 255, ref.astype(np.float32) / 255
np.save('target.npy', target); np.save('ref.npy', ref)
for method in ('reinhard_lab', 'mkl_lab', 'histogram'):
    for stats in ('per_frame', 'uniform', 'target_frame'):
        for strength in (1.0, 0.4):
            out = ColorTransfer.execute(torch.from_numpy(target), torch.from_numpy(ref), method, {'source_stats': stats, 'target_index': 1}, strength)
            np.save(f'{method}-{stats}-{strength}.npy', out.result[0].numpy())
