"""Writes misuse.json: the exceptions of ComfyUI's classes for arguments of other types than their inputs have.

Run as `python make_misuse.py COMFYUI CLASS...` with ComfyUI's Python, where COMFYUI is its directory. Values are those that a prompt
or another node can give: booleans, numbers, texts, None, objects, lists, pictures and sounds. Left
out by hand: exceptions that depend on the device or come after the first steps of a class.
"""
import asyncio
import json
import os
import sys

here, (comfy, *names) = os.getcwd(), sys.argv[1:]
sys.argv = ["main", "--cpu"]
sys.path.insert(0, comfy)
os.chdir(comfy)
import comfy.options

comfy.options.enable_args_parsing()
import torch
import execution
import nodes
from comfy_api.latest._input_impl.video_types import VideoFromComponents
from comfy_api.latest._util import VideoComponents

asyncio.run(nodes.init_extra_nodes(init_custom_nodes=False, init_api_nodes=False))
image, mask = torch.rand(2, 20, 24, 3), torch.rand(2, 20, 24)
sound = {"waveform": torch.rand(1, 2, 4000), "sample_rate": 8000}
video = VideoFromComponents(VideoComponents(images=image, audio=None, frame_rate=8))
samples = {"IMAGE": image, "MASK": mask, "AUDIO": sound, "VIDEO": video,
           "BOUNDING_BOX": {"x": 1, "y": 2, "width": 5, "height": 6}, "INT": 1, "FLOAT": 1.0, "STRING": "text", "BOOLEAN": True}
wrong = {"bool": True, "int": 7, "float": 2.5, "str": "text", "None": None, "dict": {"x": 1}, "list": ["a", "b"],
         "IMAGE": image, "AUDIO": sound}


def fill(args, name, spec):
    kind, options = spec[0], spec[1] if len(spec) > 1 else {}
    if isinstance(kind, list):
        kind, options = "COMBO", {"options": kind, **options}
    if kind == "COMFY_DYNAMICCOMBO_V3":
        choice = options["options"][0]
        args[name] = choice["key"]
        for part, inner in choice["inputs"].get("required", {}).items():
            fill(args, name + "." + part, inner)
    elif kind == "COMFY_AUTOGROW_V3":
        (each,) = options["template"]["input"]["required"].values()
        for i in range(2):
            fill(args, f"{name}.{options['template']['prefix']}{i}", each)
    elif kind == "COMFY_MATCHTYPE_V3":
        args[name] = image
    elif kind == "COMBO":
        args[name] = options.get("default") or options["options"][0]
    else:
        args[name] = options.get("default", samples.get(kind))


async def raised(name, args):
    data, _, v3 = execution.get_input_data(args, nodes.NODE_CLASS_MAPPINGS[name], "1", extra_data={})
    try:
        await execution.get_output_data("p", "1", nodes.NODE_CLASS_MAPPINGS[name](), data, v3_data=v3)
    except Exception as e:
        return execution.full_type_name(type(e)) + ": " + str(e).split("\n")[0]


async def main():
    found = {}
    for name in names:
        args = {}
        for section in ("required", "optional"):
            for key, spec in nodes.NODE_CLASS_MAPPINGS[name].INPUT_TYPES().get(section, {}).items():
                fill(args, key, spec)
        for key in args:
            row = {kind: await raised(name, {**args, key: value}) for kind, value in wrong.items()}
            found[f"{name}.{key}"] = {kind: text for kind, text in row.items() if text}
    with open(here + "/misuse.json", "w") as f:
        json.dump(found, f, indent=1)


asyncio.run(main())
