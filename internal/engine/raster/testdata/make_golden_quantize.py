#!/usr/bin/env python3
"""Makes pillow_quantize_*.npy from source3.npy, as the reference's node does it.

Made with Pillow 11.3 and NumPy: up to Pillow 9 a palette image is padded with black
to 256 entries, which later versions no longer match against.
"""
import math

import numpy as np
from PIL import Image


def bayer(n):
    if n == 0:
        return np.zeros((1, 1), np.float32)
    q = 4**n
    m = q * bayer(n - 1)
    return (np.block([[m - 1.5, m + 0.5], [m + 1.5, m - 0.5]]) / q).astype(np.float32)


def quantize(a, colors, dither):
    im = Image.fromarray(a)
    pal = im.quantize(colors=colors)
    if dither == "none":
        out = im.quantize(colors=colors, palette=pal, dither=Image.Dither.NONE)
    elif dither == "floyd-steinberg":
        out = im.quantize(colors=colors, palette=pal, dither=Image.Dither.FLOYDSTEINBERG)
    else:
        order = int(dither.split("-")[1])
        spread = 2 * 256 / (len(pal.getpalette()) // 3)
        m = (np.float32(spread) * bayer(int(math.log2(order))) + np.float32(0.5)).astype(np.float32)
        h, w = a.shape[:2]
        tiled = np.tile(m, (-(-h // order), -(-w // order)))[:h, :w, None]
        v = np.clip(a.astype(np.float32) + tiled, 0, 255).astype(np.uint8)
        out = Image.fromarray(v).quantize(palette=pal, dither=Image.Dither.NONE)
    return np.asarray(out.convert("RGB"))


source = np.load("source3.npy")
for colors in (1, 7, 256):
    for dither in ("none", "floyd-steinberg", "bayer-2", "bayer-4", "bayer-8", "bayer-16"):
        np.save(f"pillow_quantize_{colors}_{dither}.npy", quantize(source, colors, dither))
v = np.arange(300 * 300) * 181
many = np.stack([v & 255, v >> 8 & 255, v >> 16 & 255], -1).astype(np.uint8).reshape(300, 300, 3)
np.save("pillow_quantize_many.npy", quantize(many, 64, "floyd-steinberg")[:24])
