# Writes JPEG files of every sampling and size parity, and beside each the picture that ComfyUI 0.33.0 (PyAV 18.1) loads of it.
# Run with the path of a ComfyUI checkout, in its environment.
import os, sys
sys.path.insert(0, sys.argv.pop(1)); sys.argv.append('--cpu')
import comfy.options; comfy.options.enable_args_parsing()
import numpy as np
from PIL import Image
import folder_paths, nodes
here = os.path.dirname(os.path.abspath(__file__))
folder_paths.set_input_directory(here)
rng = np.random.default_rng(1)
def picture(w, h):
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([x * 255 / max(1, w - 1), y * 255 / max(1, h - 1), (x * 7 + y * 13) % 256], -1) + rng.normal(0, 20, (h, w, 3))
    return Image.fromarray(np.clip(a, 0, 255).astype(np.uint8))
def put(name, im, **options):
    im.save(f'{here}/{name}.jpg', 'JPEG', **options)
for w, h in [(40, 28), (37, 28), (40, 29), (37, 29), (65, 31), (9, 9), (7, 7), (3, 3), (2, 2), (1, 1), (1, 9), (9, 1)]:
    for sampling, sub in (('444', 0), ('422', 1), ('420', 2)):
        put(f'{sampling}_{w}x{h}', picture(w, h), quality=85, subsampling=sub, progressive=(w + sub) % 2 == 0)
for quality in (1, 100):
    put(f'quality_{quality}', picture(51, 43), quality=quality)
    put(f'quality_{quality}_progressive', picture(51, 43), quality=quality, progressive=True, optimize=True)
put('restart', picture(90, 77), quality=80, restart_marker_blocks=3)
put('restart_progressive', picture(90, 77), quality=80, restart_marker_rows=1, progressive=True)
for f in sorted(os.listdir(here)):
    if f.endswith('.jpg'):
        im = nodes.LoadImage().load_image(f)[0].numpy()
        np.save(f'{here}/{f[:-4]}.npy', np.round(im[0] * 255).astype(np.uint8))
