"""Writes cut/*.npy: the planes that ffmpeg (PyAV) decodes of JPEG files that are cut off after so many bytes. Run from this directory."""
import io

import av
import numpy

LENGTHS = {"jpeg/444_37x28.jpg": 1184, "jpeg/444_65x31.jpg": 1644, "jpeg/444_7x7.jpg": 644, "jpeg/444_40x28.jpg": 1347,
           "jpeg/444_40x29.jpg": 650, "grey.jpg": 769}
for name, length in LENGTHS.items():
    with av.open(io.BytesIO(open(name, "rb").read()[:length])) as container:
        frame = next(container.decode(video=0))
    numpy.save("cut/" + name.removeprefix("jpeg/") + ".npy", frame.to_ndarray())
