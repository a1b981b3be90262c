# Writes what ComfyUI 0.33.0 cuts around boxes. Run with the path of a ComfyUI checkout, in its environment.
import os, sys
sys.path.insert(0, sys.argv.pop(1)); sys.argv.append('--cpu')
import comfy.options; comfy.options.enable_args_parsing()
import numpy as np, torch
from comfy_extras.nodes_sdpose import CropByBBoxes
os.chdir(os.path.dirname(os.path.abspath(__file__)))
image = torch.from_numpy(np.load('noise.npy'))
image = torch.cat([image, image.flip(1)])
box = lambda x, y, w, h: {'x': x, 'y': y, 'width': w, 'height': h}
for name, boxes, padding, fit in [
    ('single', box(3, 4, 9, 5), 0, 'stretch'), ('two', [[box(2, 2, 4, 4), box(9, 6, 30, 3)], [box(0, 0, 5, 9)]], 2, 'pad'), ('outside', [[box(100, 100, 5, 5)]], 0, 'pad'),
]:
    np.save(f'boxes_{name}.npy', CropByBBoxes.execute(image, boxes, 24, 32, padding, fit).result[0].contiguous().numpy())
