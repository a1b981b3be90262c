#!/usr/bin/env python3
"""Makes the golden files of the raster engine, independently of its Go code.

Every result is one of two kinds, told by the file's prefix:
  pillow_   produced by Pillow itself; the engine must give the same bytes
  formula_  a NumPy transcription (float64) of the documented formula; the engine
            must agree within the tolerance the test states

Needs Python 3 with NumPy and Pillow (made with 1.24 and 9.4). Run it in this directory.
"""
import io
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps, ImageSequence

rng = np.random.default_rng(20261121)


def picture(h, w, c):
    """A picture with gradients, edges and noise, uint8."""
    y, x = np.mgrid[0:h, 0:w]
    planes = []
    for k in range(c):
        v = 127 + 90 * np.sin(x / (3.1 + k) + k) * np.cos(y / (4.7 - k)) + rng.normal(0, 12, (h, w))
        v[(x // 9 + y // 7) % 5 == k % 5] += 60
        planes.append(v)
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def save(name, a):
    np.save(name + ".npy", np.ascontiguousarray(a))


def unit(a):
    return a.astype(np.float32) / np.float32(255)


# --- resize -----------------------------------------------------------------

def taps(method, n, m):
    """The weight matrix (m, n) of torch's interpolate(size=m) without antialias."""
    out = np.zeros((m, n))
    for i in range(m):
        if method == "area":
            lo, hi = (i * n) // m, -((-(i + 1) * n) // m)
            out[i, lo:hi] = 1 / (hi - lo)
            continue
        if method == "nearest-exact":
            out[i, min(int(np.floor((i + 0.5) * (n / m))), n - 1)] = 1
            continue
        src = (i + 0.5) * (n / m) - 0.5
        if method == "bilinear":
            src = max(src, 0)
            lo = int(np.floor(src))
            out[i, lo] += 1 - (src - lo)
            out[i, min(lo + 1, n - 1)] += src - lo
            continue
        lo, a = int(np.floor(src)), -0.75
        for j in range(lo - 1, lo + 3):
            d = abs(src - j)
            v = (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
            out[i, min(max(j, 0), n - 1)] += v
    return out


def resize(a, h, w, method):
    """a is (H, W, C) float."""
    if method == "lanczos":
        mode = {1: "L", 3: "RGB", 4: "RGBA"}[a.shape[2]]
        q = np.clip(a * np.float32(255), 0, 255).astype(np.uint8)
        im = Image.fromarray(q[..., 0] if mode == "L" else q, mode).resize((w, h), Image.Resampling.LANCZOS)
        return unit(np.asarray(im).reshape(h, w, -1))
    t = np.tensordot(taps(method, a.shape[0], h), a.astype(np.float64), (1, 0))
    return np.moveaxis(np.tensordot(taps(method, a.shape[1], w), t, (1, 1)), 0, 1)


def cover(a, h, w, method):
    H, W = a.shape[:2]
    x = y = 0
    if W / H > w / h:
        x = round((W - W * ((w / h) / (W / H))) / 2)
    elif W / H < w / h:
        y = round((H - H * ((W / H) / (w / h))) / 2)
    return resize(a[y:H - y, x:W - x], h, w, method)


for c in (1, 3, 4):
    src = picture(47, 61, c)
    save(f"source{c}", src)
    for h, w in ((20, 30), (52, 70), (20, 61), (47, 45), (1, 1), (47, 61), (20, 58), (33, 70)):
        mode = {1: "L", 3: "RGB", 4: "RGBA"}[c]
        im = Image.fromarray(src[..., 0] if c == 1 else src, mode)
        out = np.asarray(im.resize((w, h), Image.Resampling.LANCZOS)).reshape(h, w, c)
        save(f"pillow_lanczos{c}_{w}x{h}", out)

rgb, rgba = np.load("source3.npy"), np.load("source4.npy")
for method in ("nearest-exact", "bilinear", "area", "bicubic"):
    for h, w in ((20, 30), (52, 70), (33, 122)):
        save(f"formula_{method}_{w}x{h}", resize(unit(rgb), h, w, method).astype(np.float32))
save("formula_cover_bicubic_40x40", cover(unit(rgb), 40, 40, "bicubic").astype(np.float32))
save("formula_cover_bilinear_61x20", cover(unit(rgba), 20, 61, "bilinear").astype(np.float32))

# --- saving -----------------------------------------------------------------

levels = np.concatenate([
    unit(np.arange(256)), rng.uniform(-0.2, 1.2, 512).astype(np.float32),
    np.array([np.inf, -np.inf, 1.0, 0.0, 0.99999994, -0.0], np.float32)])
save("levels", levels)
save("formula_quantized", np.clip(255.0 * levels, 0, 255).astype(np.uint8))

# --- blur and sharpen -------------------------------------------------------


def window(radius, sigma):
    g = np.linspace(-1, 1, 2 * radius + 1)
    x, y = np.meshgrid(g, g)
    k = np.exp(-(x * x + y * y) / (2 * sigma * sigma))
    return k / k.sum()


def convolve(a, k):
    r = k.shape[0] // 2
    p = np.pad(a.astype(np.float64), ((r, r), (r, r), (0, 0)), mode="reflect")
    out = np.zeros(a.shape)
    for i in range(k.shape[0]):
        for j in range(k.shape[1]):
            out += k[i, j] * p[i:i + a.shape[0], j:j + a.shape[1]]
    return out


for name, a in (("3", rgb), ("4", rgba)):
    for radius, sigma in ((1, 1.0), (5, 0.4), (10, 1.0), (31, 3.0)):
        save(f"formula_blur{name}_{radius}_{sigma}", convolve(unit(a), window(radius, sigma)).astype(np.float32))
for radius, sigma, alpha in ((1, 1.0, 1.0), (7, 0.5, 0.3)):
    k = window(radius, sigma) * -(alpha * 10)
    k[radius, radius] += 1 - k.sum()
    save(f"formula_sharpen_{radius}_{sigma}_{alpha}", np.clip(convolve(unit(rgb), k), 0, 1).astype(np.float32))

# --- blend and composite ----------------------------------------------------

other = picture(47, 61, 3)
save("other3", other)
a, b = unit(rgb), unit(other)


def g(x):
    return np.where(x <= 0.25, ((16 * x - 12) * x + 4) * x, np.sqrt(x))


modes = {
    "normal": b, "multiply": a * b, "screen": 1 - (1 - a) * (1 - b), "difference": a - b,
    "overlay": np.where(a <= 0.5, 2 * a * b, 1 - 2 * (1 - a) * (1 - b)),
    "soft_light": np.where(b <= 0.5, a - (1 - 2 * b) * a * (1 - a), a + (2 * b - 1) * (g(a) - a)),
}
for mode, v in modes.items():
    for f in (0.5, 1.0):
        save(f"formula_blend_{mode}_{f}", np.clip(a * (1 - f) + v * f, 0, 1).astype(np.float32))

mask = unit(picture(25, 20, 1))
save("mask", mask[..., 0])
m = resize(mask, 47, 61, "bilinear")
for x, y in ((0, 0), (11, 7), (50, 40), (61, 47)):
    out = a.astype(np.float64).copy()
    h, w = 47 - y, 61 - x
    if h > 0 and w > 0:
        out[y:, x:] = m[:h, :w] * b[:h, :w] + (1 - m[:h, :w]) * out[y:, x:]
    save(f"formula_composite_{x}_{y}", out.astype(np.float32))

# --- files: what Pillow and the loader's rules make of them ------------------


def load(data):
    """The loader's rules: upright, RGB, mask = 1 - alpha when the mode has alpha."""
    im = Image.open(io.BytesIO(data))
    frames, masks = [], []
    for i in ImageSequence.Iterator(im):
        i = ImageOps.exif_transpose(i)
        if i.mode == "I":
            i = i.point(lambda v: v * (1 / 255))
        frames.append(np.asarray(i.convert("RGB")))
        if "A" in i.getbands():
            masks.append(1 - unit(np.asarray(i.getchannel("A"))))
        elif i.mode == "P" and "transparency" in i.info:
            masks.append(1 - unit(np.asarray(i.convert("RGBA").getchannel("A"))))
    return np.stack(frames), (np.stack(masks) if len(masks) == len(frames) else None)


def case(name, data):
    with open(name, "wb") as f:
        f.write(data)
    frames, masks = load(data)
    save("pillow_" + name.replace(".", "_") + "_rgb", frames)
    if masks is not None:
        save("pillow_" + name.replace(".", "_") + "_mask", masks)


def encoded(im, fmt, **kw):
    buf = io.BytesIO()
    im.save(buf, fmt, **kw)
    return buf.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(w, h, depth, color, rows, extra=b"", interlace=0):
    ihdr = struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + extra
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


photo = Image.fromarray(picture(37, 53, 3))
alpha = Image.fromarray(picture(37, 53, 4))
grey = photo.convert("L")
pal = photo.quantize(40)
case("rgb.png", encoded(photo, "PNG"))
case("rgba.png", encoded(alpha, "PNG"))
case("grey.png", encoded(grey, "PNG"))
case("grey_alpha.png", encoded(alpha.convert("LA"), "PNG"))
case("one_bit.png", encoded(photo.convert("1"), "PNG"))
case("palette.png", encoded(pal, "PNG"))
case("palette_4bit.png", encoded(photo.quantize(11), "PNG", bits=4))
case("palette_clear.png", encoded(pal, "PNG", transparency=bytes([0, 128, 255, 7])))
case("rgb_clear.png", encoded(photo, "PNG", transparency=(10, 20, 30)))
wide = (rng.integers(0, 65536, (37, 53))).astype(np.uint16)
case("grey16.png", encoded(Image.fromarray(wide), "PNG"))
deep = rng.integers(0, 65536, (9, 13, 3)).astype(">u2")
case("rgb16.png", raw_png(13, 9, 16, 2, b"".join(b"\0" + r.tobytes() for r in deep)))
deep = rng.integers(0, 65536, (9, 13, 4)).astype(">u2")
case("rgba16.png", raw_png(13, 9, 16, 6, b"".join(b"\0" + r.tobytes() for r in deep)))
case("grey_2bit.png", raw_png(7, 3, 2, 0, b"".join(b"\0" + bytes([27 + y, 114]) for y in range(3))))


def interlaced(a):
    rows = b""
    for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        part = a[y::dy, x::dx]
        if part.size:
            rows += b"".join(b"\0" + r.tobytes() for r in part)
    return rows


for h, w in ((9, 13), (1, 1), (3, 2)):
    p = picture(h, w, 4)
    case(f"interlaced_{w}x{h}.png", raw_png(w, h, 8, 6, interlaced(p), interlace=1))

for o in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = o
    case(f"oriented_{o}.png", encoded(photo.resize((7, 5)), "PNG", exif=exif))
exif = Image.Exif()
exif[0x0112] = 6
case("oriented.webp", encoded(photo, "WEBP", lossless=True, exif=exif.tobytes()))
case("oriented.jpg", encoded(photo, "JPEG", quality=95, subsampling=0, exif=exif))

case("sub444.jpg", encoded(photo, "JPEG", quality=90, subsampling=0))
case("sub422.jpg", encoded(photo, "JPEG", quality=90, subsampling=1))
case("sub420.jpg", encoded(photo, "JPEG", quality=90, subsampling=2))
case("progressive.jpg", encoded(photo, "JPEG", quality=90, progressive=True))
case("grey.jpg", encoded(grey, "JPEG", quality=90))
case("cmyk.jpg", encoded(photo.convert("CMYK"), "JPEG", quality=95))

case("lossy.webp", encoded(photo, "WEBP", quality=80))
case("lossy_odd.webp", encoded(photo.crop((0, 0, 52, 36)), "WEBP", quality=60))
case("lossless.webp", encoded(photo, "WEBP", lossless=True))
case("lossless_alpha.webp", encoded(alpha, "WEBP", lossless=True, exact=True))
case("lossy_alpha.webp", encoded(alpha, "WEBP", quality=80))
case("photo.bmp", encoded(photo, "BMP"))
case("palette.bmp", encoded(pal, "BMP"))
case("photo.tiff", encoded(photo, "TIFF"))
case("photo_lzw.tiff", encoded(photo, "TIFF", compression="tiff_lzw"))
case("rgba.tiff", encoded(alpha, "TIFF"))

case("still.gif", encoded(pal, "GIF"))
steps = []
for i in range(4):
    f = photo.copy()
    f.paste((250, 40 * i, 10), (5 * i, 3 * i, 5 * i + 12, 3 * i + 9))
    steps.append(f)
case("moving.gif", encoded(steps[0].quantize(64), "GIF", save_all=True,
                           append_images=[s.quantize(64) for s in steps[1:]], duration=50))
case("moving.png", encoded(steps[0], "PNG", save_all=True, append_images=steps[1:], duration=50))
case("moving.webp", encoded(steps[0], "WEBP", save_all=True, append_images=steps[1:], lossless=True))

# --- masks, morphology, Porter-Duff -----------------------------------------


def window_extreme(a, size, b, fn, empty):
    """fn over a size x size window that reaches b up and left; nothing outside."""
    p = np.pad(a, ((b, size - 1 - b), (b, size - 1 - b), (0, 0)), constant_values=empty)
    views = [p[i:i + a.shape[0], j:j + a.shape[1]] for i in range(size) for j in range(size)]
    return fn.reduce(views)


def erode(x, k):
    return window_extreme(x, k, k // 2, np.minimum, np.inf)


def dilate(x, k):
    return window_extreme(x, k, k - 1 - k // 2, np.maximum, -np.inf)


f = unit(rgb)[:24, :31]
save("morph_source", (rgb[:24, :31]))
for k in (3, 4, 9):
    for name, out in {
        "erode": erode(f, k), "dilate": dilate(f, k), "open": dilate(erode(f, k), k), "close": erode(dilate(f, k), k),
        "gradient": dilate(f, k) - erode(f, k), "top_hat": f - dilate(erode(f, k), k),
        "bottom_hat": erode(dilate(f, k), k) - f,
    }.items():
        save(f"formula_morph_{name}_{k}", out.astype(np.float32))


def grow(a, steps, tapered):
    """Grey dilation (erosion) with a 3x3 footprint, edges reflected, iterated."""
    for _ in range(abs(steps)):
        p = np.pad(a, 1, mode="symmetric")
        views = [p[i:i + a.shape[0], j:j + a.shape[1]] for i in range(3) for j in range(3)
                 if not tapered or i == 1 or j == 1]
        a = (np.maximum if steps > 0 else np.minimum).reduce(views)
    return a


sparse = np.where(rng.random((25, 20)) > 0.97, rng.random((25, 20)), 0).astype(np.float32)
save("sparse", sparse)
for count in (1, 4, -2, 60):
    for tapered in (True, False):
        save(f"formula_grow_{count}_{tapered}".lower(), grow(sparse if count > 0 else mask[..., 0], count, tapered))

fm = mask[..., 0].astype(np.float64).copy()
for i in range(5):
    fm[:, i] *= (i + 1) / 5
for i in range(7):
    fm[i, :] *= (i + 1) / 7
for i in range(20):
    fm[:, 19 - i] *= (i + 1) / 20
for i in range(3):
    fm[24 - i, :] *= (i + 1) / 3
save("formula_feather_5_7_30_3", fm.astype(np.float32))

small = unit(picture(12, 15, 1))[..., 0]
save("small_mask", small)
for mode in ("multiply", "add", "subtract", "and", "or", "xor"):
    out = mask[..., 0].copy()
    d, s = out[20:, 9:], small[:5, :11]
    D, S = np.round(d) != 0, np.round(s) != 0
    out[20:, 9:] = {"multiply": d * s, "add": d + s, "subtract": d - s, "and": (D & S), "or": (D | S), "xor": (D ^ S)}[mode]
    save(f"formula_maskmix_{mode}", np.clip(out, 0, 1))

t = np.zeros((47, 61))
for y in range(47):
    for x in range(61):
        d = min(x, y, 61 - x)
        if d < 12:
            t[y, x] = ((12 - d) / 12) ** 2
om = np.ones((47 + 9, 61 + 5 + 14))
om[9:, 5:66] = t
save("formula_outpaint_mask", om.astype(np.float32))

sm, dm = unit(picture(47, 61, 1)), unit(picture(47, 61, 1))
save("duff_source_mask", sm[..., 0])
save("duff_destination_mask", dm[..., 0])
sa, da = 1 - sm.astype(np.float64), 1 - dm.astype(np.float64)
s, d = unit(rgb) * sa, unit(other) * da
union = sa + da - sa * da
duff = {
    "ADD": (np.clip(s + d, 0, 1), np.clip(sa + da, 0, 1)), "CLEAR": (0 * s, 0 * sa),
    "DARKEN": ((1 - da) * s + (1 - sa) * d + np.minimum(s, d), union), "DST": (d, da),
    "DST_ATOP": (sa * d + (1 - da) * s, sa), "DST_IN": (d * sa, sa * da), "DST_OUT": ((1 - sa) * d, (1 - sa) * da),
    "DST_OVER": (d + (1 - da) * s, da + (1 - da) * sa),
    "LIGHTEN": ((1 - da) * s + (1 - sa) * d + np.maximum(s, d), union), "MULTIPLY": (s * d, sa * da),
    "OVERLAY": (np.where(2 * d < da, 2 * s * d, sa * da - 2 * (da - s) * (sa - d)), union),
    "SCREEN": (s + d - s * d, union), "SRC": (s, sa), "SRC_ATOP": (da * s + (1 - sa) * d, da),
    "SRC_IN": (s * da, sa * da), "SRC_OUT": ((1 - da) * s, (1 - da) * sa),
    "SRC_OVER": (s + (1 - sa) * d, sa + (1 - sa) * da), "XOR": ((1 - da) * s + (1 - sa) * d, (1 - da) * sa + (1 - sa) * da),
}
for mode, (color, al) in duff.items():
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.clip(np.where(al > 1e-5, color / al, 0), 0, 1)
    save(f"formula_duff_{mode}", np.concatenate([out[:9], (1 - al)[:9]], -1).astype(np.float32))

# --- more files: transparency and animation together --------------------------

clear = pal.copy()
case("still_clear.gif", encoded(clear, "GIF", transparency=3))
sprites = []
for i in range(3):
    s = Image.new("RGBA", (30, 20), (0, 0, 0, 0))
    s.paste((200, 60 * i, 30, 255), (4 * i, 2 * i, 4 * i + 10, 2 * i + 8))
    sprites.append(s)
case("sprites.gif", encoded(sprites[0], "GIF", save_all=True, append_images=sprites[1:], disposal=2, duration=50))
case("sprites.png", encoded(sprites[0], "PNG", save_all=True, append_images=sprites[1:], disposal=2, blend=0, duration=50))
case("sprites_over.png", encoded(sprites[0], "PNG", save_all=True, append_images=sprites[1:], disposal=0, blend=1, duration=50))
case("sprites_previous.png", encoded(sprites[0], "PNG", save_all=True, append_images=sprites[1:], disposal=2, blend=1, duration=50))
case("sprites.webp", encoded(sprites[0], "WEBP", save_all=True, append_images=sprites[1:], lossless=True, duration=50))
case("sprites_lossy.webp", encoded(sprites[0], "WEBP", save_all=True, append_images=sprites[1:], quality=70, duration=50))
case("rgba.bmp", encoded(alpha, "BMP"))
case("grey.bmp", encoded(grey, "BMP"))
case("grey.tiff", encoded(grey, "TIFF"))
case("palette.tiff", encoded(pal, "TIFF"))
case("one_bit.tiff", encoded(photo.convert("1"), "TIFF"))
case("deflate.tiff", encoded(photo, "TIFF", compression="tiff_adobe_deflate"))
case("default_first.png", encoded(steps[0], "PNG", save_all=True, append_images=steps[1:3], default_image=True, duration=50))
