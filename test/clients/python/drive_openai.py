"""Makes and edits a picture with OpenAI's client and prints what came of it, as one JSON object. The arguments are the base URL, the key
and the file of a picture."""

import base64
import json
import sys

import openai

base_url, key, picture = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key=key)
report = {"models": sorted(m.id for m in client.models.list())}


def begins(data):
    return base64.b64decode(data)[:4].decode("latin1")


made = client.images.generate(model="portrait", prompt="a cat in a raincoat", n=2, extra_body={"width": 24})
report["made"] = [begins(p.b64_json) for p in made.data]
link = client.images.generate(model="portrait", prompt="a cat", response_format="url")
report["link"] = link.data[0].url.startswith("http")
with open(picture, "rb") as image:
    report["edited"] = [begins(p.b64_json) for p in client.images.edit(model="invert", image=image, prompt="inverted").data]
try:
    client.images.generate(model="portrait", prompt="a cat", quality="hd")
except openai.BadRequestError as error:
    report["refused"] = error.param
try:
    client.images.generate(model="landscape", prompt="a cat")
except openai.NotFoundError as error:
    report["unknown"] = error.param
print(json.dumps(report))
