"""Writes the exceptions of ComfyUI's classes for arguments of other types than their inputs have.

Run as `python make_misuse.py COMFYUI CLASS...` with ComfyUI's Python, where COMFYUI is its directory. Values are those that a prompt
or another node can give and that are not of the input's own type. misuse.json, for the package node, has the exceptions that do not
depend on the value: {type}, {repr} and {str} stand for its type and its text, and kinds with one exception are together.
misuse_seen.json has examples, for testdata/misuse.json. Left out by hand: exceptions that depend on an expression, and of the examples
those of missing values that have a default, and every second kind.
"""
import asyncio
import json
import os
import re
import signal
import sys
import warnings

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

warnings.simplefilter("ignore")
asyncio.run(nodes.init_extra_nodes(init_custom_nodes=False, init_api_nodes=False))


def image(frames, height, width):
    return torch.rand(frames, height, width, 3)


def mask(frames, height, width):
    return torch.rand(frames, height, width)


def sound(rate, length):
    return {"waveform": torch.rand(1, 2, length), "sample_rate": rate}


def video(frames, height, width):
    return VideoFromComponents(VideoComponents(images=image(frames, height, width), audio=None, frame_rate=8))


samples = {"IMAGE": image(2, 20, 24), "MASK": mask(2, 20, 24), "AUDIO": sound(8000, 4000), "VIDEO": video(2, 20, 24),
           "BOUNDING_BOX": {"x": 1, "y": 2, "width": 5, "height": 6}, "INT": 1, "FLOAT": 1.0, "STRING": "text", "BOOLEAN": True}
wrong = {"bool": (True,), "int": (13, 17), "float": (2.5, 3.25), "str": ("text", "qzj vk"), "None": (None,),
         "dict": ({"x": 1}, {"qzj": "vk"}), "list": (["a", "b"], ["qzj"]), "IMAGE": (image(2, 64, 64), image(3, 11, 7)),
         "MASK": (mask(1, 64, 64), mask(3, 11, 7)), "AUDIO": (sound(8000, 4000), sound(9000, 300)),
         "VIDEO": (video(2, 64, 64), video(3, 11, 7)),
         "empty str": ("",), "empty dict": ({},), "empty list": ([],)}
fit = {"COMFY_MATCHTYPE_V3": "IMAGE,MASK", "INT": "int", "FLOAT": "int,float", "BOOLEAN": "bool",
       "IMAGE": "IMAGE", "MASK": "MASK", "AUDIO": "AUDIO", "VIDEO": "VIDEO"}
fit |= dict.fromkeys(("STRING", "COMBO", "COLOR", "COMFY_DYNAMICCOMBO_V3"), "str,empty str")
fit |= dict.fromkeys(("BOUNDING_BOX", "DICT", "ARRAY", "CURVE", "HISTOGRAM", "COMPOSITOR"), "dict,list,empty dict,empty list")


def fill(args, own, name, spec, choice):
    kind, options = spec[0], spec[1] if len(spec) > 1 else {}
    if isinstance(kind, list):
        kind, options = "COMBO", {"options": kind, **options}
    own[name] = ",".join(fit.get(part.strip(), ",".join(wrong)) for part in kind.split(",")).split(",")
    if kind == "COMFY_DYNAMICCOMBO_V3":
        chosen = options["options"][min(choice, len(options["options"]) - 1)]
        args[name] = chosen["key"]
        for part, inner in chosen["inputs"].get("required", {}).items():
            fill(args, own, name + "." + part, inner, choice)
    elif kind == "COMFY_AUTOGROW_V3":
        template = options["template"]
        (each,) = template["input"]["required"].values()
        for key in template.get("names", [])[:2] or [f"{template['prefix']}{i}" for i in range(2)]:
            fill(args, own, f"{name}.{key}", each, choice)
    elif kind == "COMFY_MATCHTYPE_V3":
        args[name] = samples["IMAGE"]
    elif kind == "COMBO":
        args[name] = options.get("default") or (options.get("options") or ["text"])[0]
    else:
        args[name] = options.get("default", samples.get(kind))


class Endless(BaseException):
    """Some values let a class run for ever."""


def stop(*_):
    raise Endless


signal.signal(signal.SIGALRM, stop)


async def raised(name, args):
    signal.alarm(5)
    data, _, v3 = execution.get_input_data(args, nodes.NODE_CLASS_MAPPINGS[name], "1", extra_data={})
    try:
        await execution.get_output_data("p", "1", nodes.NODE_CLASS_MAPPINGS[name](), data, v3_data=v3)
    except Exception as e:
        return execution.full_type_name(type(e)) + ": " + str(e).split("\n")[0].rstrip()
    except Endless:
        return None
    finally:
        signal.alarm(0)


def template(text, value):
    if isinstance(value, (str, int, float, list)) and not isinstance(value, bool) and len(str(value)) > 1:
        text = text.replace(repr(value), "{repr}").replace(str(value), "{str}")
    return re.sub(r"(?<![\w{])" + type(value).__name__ + r"(?!\w)", "{type}", text)


async def main():
    rows, seen = {}, {}
    for name in names:
        print(name, flush=True)
        definition = nodes.NODE_CLASS_MAPPINGS[name].INPUT_TYPES()
        for choice in range(4):
            args, own = {}, {}
            for section in ("required", "optional"):
                for key, spec in definition.get(section, {}).items():
                    fill(args, own, key, spec, choice)
            for key in args:
                row = f"{name}.{key.rstrip('0123456789') if '.' in key else key}"
                if row in rows:
                    continue
                by = {}
                for kind, values in wrong.items():
                    if kind in own[key]:
                        continue
                    texts = [await raised(name, {**args, key: value}) for value in values]
                    forms = {text and template(text, value) for text, value in zip(texts, values)}
                    form = forms.pop()
                    if forms or not form or len(form) > 210 or any(part in form for part in ("PromptServer", "0x", os.getcwd())):
                        continue
                    by.setdefault(form, []).append(kind)
                    seen.setdefault(f"{name}.{key}", {})[kind] = texts[0]
                rows[row] = {",".join(kinds): form for form, kinds in by.items()}
    lines = (json.dumps(row) + ": " + json.dumps(by) for row, by in sorted(rows.items()) if by)
    with open(here + "/misuse.json", "w") as f:
        f.write("{\n" + ",\n".join(lines) + "\n}\n")
    with open(here + "/misuse_seen.json", "w") as f:
        json.dump(seen, f, indent=1)


asyncio.run(main())
