#!/usr/bin/env python3
"""The other side of the engine benchmark: Pillow and NumPy with the conversions of
the reference (float32 frames between steps, 8-bit at Lanczos and at saving).

The reference blurs with a dense (2r+1)^2 convolution in torch. Here it is the best
that NumPy offers for the same result: the kernel is separable, so each axis is a sum
of symmetric pairs of shifted views, in float32, in place, over blocks of rows that
stay in the cache. Usage: pillow.py INPUT OUTPUT
"""
import json
import resource
import sys
import time

import numpy as np
from PIL import Image


def kernel(radius, sigma):
    x = np.linspace(-1, 1, 2 * radius + 1)
    k = np.exp(-x * x / (2 * sigma * sigma))
    return (k / k.sum()).astype(np.float32)


def along(p, k, shift, n, out, tmp):
    """out = sum of k[i] * p shifted by i along one axis, pairwise; tmp is scratch."""
    r = len(k) // 2
    np.multiply(shift(p, r, n), k[r], out=out)
    for i in range(r):
        np.add(shift(p, i, n), shift(p, 2 * r - i, n), out=tmp)
        np.multiply(tmp, k[i], out=tmp)
        np.add(out, tmp, out=out)


def blur(a, radius, sigma):
    k = kernel(radius, sigma)
    h, w, c = a.shape
    wide = np.pad(a, ((0, 0), (radius, radius), (0, 0)), mode="reflect").reshape(h, -1)
    tall = np.empty((h + 2 * radius, w * c), np.float32)
    rows = max(1, (1 << 18) // (w * c * 4))
    tmp = np.empty((rows, w * c), np.float32)
    for y in range(0, h, rows):
        n = min(rows, h - y)
        along(wide[y:y + n], k, lambda p, i, _: p[:, i * c:(i + w) * c], n, tall[radius + y:radius + y + n], tmp[:n])
    tall[:radius] = tall[2 * radius:radius:-1]
    tall[h + radius:] = tall[h + radius - 2:h - 2:-1]
    out = np.empty((h, w * c), np.float32)
    for y in range(0, h, rows):
        n = min(rows, h - y)
        along(tall, k, lambda p, i, m: p[y + i:y + i + m], n, out[y:y + n], tmp[:n])
    return out.reshape(h, w, c)


def to_bytes(a):
    return np.clip(255.0 * a, 0, 255).astype(np.uint8)


def main(source, target):
    ms, start = {}, time.perf_counter()
    last = start

    def lap(step):
        nonlocal last
        now = time.perf_counter()
        ms[step], last = (now - last) * 1000, now
        ms["total"] = (now - start) * 1000

    a = np.array(Image.open(source).convert("RGB")).astype(np.float32) / 255.0
    lap("load")
    h, w = a.shape[:2]
    im = Image.fromarray(to_bytes(a)).resize((w * 3 // 4, h * 3 // 4), resample=Image.Resampling.LANCZOS)
    a = np.array(im).astype(np.float32) / 255.0
    lap("lanczos")
    a = blur(a, 10, 1.0)
    lap("blur")
    a = 1.0 - a
    lap("invert")
    Image.fromarray(to_bytes(a)).save(target, compress_level=4)
    lap("save")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"ms": ms, "peak_mb": peak}))


main(sys.argv[1], sys.argv[2])
