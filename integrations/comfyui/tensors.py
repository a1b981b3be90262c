"""Values of ComfyUI as files in the safetensors format, and back.

A value is a tensor, or a dict of tensors and plain values. Its tensors keep their type and shape; what
else it holds stands as JSON in the metadata of the file, beside the ComfyUI type of the value. Equal
values give equal files. Nothing in a file is executed when it is read.
"""

import json
import os

import torch
from safetensors import safe_open
from safetensors.torch import save_file

FORMAT = 1

# The one member of the metadata; the order of several would differ from file to file.
METADATA = "comfyui"

# The name of a tensor that is the whole value.
WHOLE = "tensor"


def _split(value):
    """Returns the tensors of a value by name, and the rest of it."""
    if isinstance(value, torch.Tensor):
        return {WHOLE: value}, None
    if not isinstance(value, dict):
        raise TypeError(f"a value of type {type(value).__name__} cannot be written")
    tensors, rest = {}, {}
    for name, member in value.items():
        if type(member) is torch.Tensor:
            tensors[name] = member
        else:
            rest[name] = member
    return tensors, rest


def write(path, kind, value):
    """Writes a value. It is there under its name as a whole, or not at all."""
    tensors, rest = _split(value)
    try:
        described = json.dumps({"format": FORMAT, "type": kind, "value": rest}, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"this {kind} holds more than tensors and plain values: {error}") from error
    part = path + ".part"
    try:
        save_file(
            {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()},
            part,
            metadata={METADATA: described},
        )
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def read(path, kind):
    """Reads what write wrote."""
    with safe_open(path, framework="pt", device="cpu") as file:
        described = json.loads((file.metadata() or {}).get(METADATA, "{}"))
        if described.get("format") != FORMAT:
            raise ValueError("this file does not hold a value of ComfyUI")
        if described["type"] != kind:
            raise ValueError(f"this file holds a value of type {described['type']}, not {kind}")
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    if described["value"] is None:
        return tensors[WHOLE]
    return {**described["value"], **tensors}
