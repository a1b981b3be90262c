# Writes the golden files: what kornia, PyTorch and Pillow make of one picture of noise and of one with a shape in it.
import kornia
import numpy as np
import torch
from PIL import Image, ImageDraw

rng = np.random.default_rng(5)
noise = rng.integers(0, 256, (1, 17, 23, 3), dtype=np.uint8)
np.save("noise.npy", noise.astype(np.float32) / 255)

shape = Image.new("RGB", (40, 31), (30, 60, 90))
ImageDraw.Draw(shape).ellipse((6, 5, 30, 25), fill=(220, 200, 40))
shape = np.asarray(shape)[None].astype(np.float32) / 255
np.save("shape.npy", shape)


def planes(a):
    return torch.from_numpy(a).movedim(-1, 1)


def save(name, t):
    np.save(name, np.ascontiguousarray(t.numpy()))


for name, source in (("noise", noise.astype(np.float32) / 255), ("shape", shape)):
    save(f"canny_{name}.npy", kornia.filters.canny(planes(source), 0.4, 0.8)[1].repeat(1, 3, 1, 1).movedim(1, -1))
yuv = kornia.color.rgb_to_ycbcr(planes(noise.astype(np.float32) / 255))
save("yuv.npy", yuv.movedim(1, -1))
save("rgb.npy", kornia.color.ycbcr_to_rgb(yuv).movedim(1, -1))
image = torch.from_numpy(noise.astype(np.float32) / 255)
grain = torch.randn(image.size(), generator=torch.manual_seed(11))
save("grain.npy", torch.clip(image + 0.3 * grain, 0.0, 1.0))
