# Writes the golden files: what Pillow and NumPy make of one picture of noise, by the steps that the classes document.
import json

import numpy as np
from PIL import Image

rng = np.random.default_rng(5)
noise = rng.integers(0, 256, (1, 17, 23, 3), dtype=np.uint8)
np.save("noise.npy", noise.astype(np.float32) / 255)
picture = Image.fromarray(noise[0])


def save(name, im):
    np.save(name, np.asarray(im)[None].astype(np.float32) / 255)


save("shorter.npy", picture.resize((int(23 * (30 / 17)), 30), Image.Resampling.LANCZOS))
save("longer.npy", picture.resize((10, int(17 * (10 / 23))), Image.Resampling.LANCZOS))
np.random.seed(77)
left, top = np.random.randint(0, 23 - 8 + 1), np.random.randint(0, 17 - 5 + 1)
save("random_crop.npy", picture.crop((left, top, left + 8, top + 5)))
grid = Image.new("RGB", (2 * 33 + 3, 34 + 3 + 34))
cell = picture.resize((33, 34), Image.Resampling.LANCZOS)
for at in ((0, 0), (36, 0), (0, 37)):
    grid.paste(cell, at)
save("grid.npy", grid)
small = picture.resize((8, 8), Image.Resampling.LANCZOS).convert("L")
pixels = list(small.getdata())
mean = sum(pixels) / len(pixels)
bits = [1 if p > mean else 0 for p in pixels]
np.random.seed(4)
json.dump({"hash": bits, "order": [int(i) for i in np.random.permutation(5)]}, open("choices.json", "w"))
