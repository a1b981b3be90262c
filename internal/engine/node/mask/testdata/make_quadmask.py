# Writes what ComfyUI 0.33.0 makes of a mask for VOID. Run with the path of a ComfyUI checkout, in its environment.
import os, sys
sys.path.insert(0, sys.argv.pop(1)); sys.argv.append('--cpu')
import comfy.options; comfy.options.enable_args_parsing()
import numpy as np, torch
from comfy_extras.nodes_void import VOIDQuadmaskPreprocess
os.chdir(os.path.dirname(os.path.abspath(__file__)))
mask = np.random.default_rng(2).random((2, 9, 14)).astype(np.float32)
mask[:, 2:4] = 1.0
np.save('quad_source.npy', mask)
for wider in (0, 1):
    np.save(f'quad_{wider}.npy', VOIDQuadmaskPreprocess.execute(torch.from_numpy(mask), wider).result[0].numpy())
np.save('quad_large.npy', VOIDQuadmaskPreprocess.execute(torch.from_numpy(mask * 255), 0).result[0].numpy())
