"""The nodes: a pair that writes and reads for each type of value."""

import hashlib
import os

import folder_paths

from . import tensors

SUFFIX = ".safetensors"


def _saver(kind, name):
    class Save:
        DESCRIPTION = f"Writes a value of type {kind} into the output folder, without any loss."
        CATEGORY = "lossless"
        OUTPUT_NODE = True
        RETURN_TYPES = ()
        FUNCTION = "save"

        @classmethod
        def INPUT_TYPES(cls):
            return {
                "required": {
                    name: (kind,),
                    "filename_prefix": ("STRING", {"default": f"lossless/{name}"}),
                }
            }

        def save(self, filename_prefix, **values):
            folder, stem, counter, subfolder, _ = folder_paths.get_save_image_path(
                filename_prefix, folder_paths.get_output_directory()
            )
            filename = f"{stem}_{counter:05}_{SUFFIX}"
            tensors.write(os.path.join(folder, filename), kind, values[name])
            return {"ui": {"tensors": [{"filename": filename, "subfolder": subfolder, "type": "output"}]}}

    Save.__name__ = f"LosslessSave{kind.capitalize()}"
    return Save


def _loader(kind, name):
    class Load:
        DESCRIPTION = f"Reads a value of type {kind} that was written without any loss."
        CATEGORY = "lossless"
        RETURN_TYPES = (kind,)
        FUNCTION = "load"

        @classmethod
        def INPUT_TYPES(cls):
            return {
                "required": {
                    "file": (
                        "STRING",
                        {"default": "", "tooltip": "A file of the input folder, or of another one: value.safetensors [output]"},
                    )
                }
            }

        @classmethod
        def VALIDATE_INPUTS(cls, file):
            if not _inside(file):
                return f"Not a file of this server: {file}"
            return True

        @classmethod
        def IS_CHANGED(cls, file):
            digest = hashlib.sha256()
            with open(folder_paths.get_annotated_filepath(file), "rb") as content:
                for chunk in iter(lambda: content.read(1 << 20), b""):
                    digest.update(chunk)
            return digest.hexdigest()

        def load(self, file):
            if not _inside(file):
                raise ValueError(f"not a file of this server: {file}")
            return (tensors.read(folder_paths.get_annotated_filepath(file), kind),)

    Load.__name__ = f"LosslessLoad{kind.capitalize()}"
    return Load


def _inside(file):
    """Reports whether a name leads to a file of the folder that it names."""
    name, folder = folder_paths.annotated_filepath(file)
    root = os.path.realpath(folder or folder_paths.get_input_directory())
    path = os.path.realpath(os.path.join(root, name))
    return os.path.commonpath((root, path)) == root and os.path.isfile(path)


NODE_CLASS_MAPPINGS = {}
NODE_DISPLAY_NAME_MAPPINGS = {}

for _kind, _name in (("IMAGE", "image"), ("MASK", "mask"), ("LATENT", "latent"), ("AUDIO", "audio")):
    for _node, _verb in ((_saver(_kind, _name), "Save"), (_loader(_kind, _name), "Load")):
        NODE_CLASS_MAPPINGS[_node.__name__] = _node
        NODE_DISPLAY_NAME_MAPPINGS[_node.__name__] = f"{_verb} {_name.capitalize()} (lossless)"
