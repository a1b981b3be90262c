// Drives a live server with the published TypeScript SDK and prints what came of it, as one
// JSON object. The server and its key come from COMFY_BASE_URL and COMFY_API_KEY.
import { readFile, writeFile } from "node:fs/promises";
import { Comfy } from "@comfyorg/sdk";

const client = new Comfy({ apiKey: process.env.COMFY_API_KEY });
const report = { events: [] };

const graph = (blur) => ({
  1: { class_type: "LoadImage", inputs: { image: "photo.png" } },
  2: { class_type: "ImageBlur", inputs: { image: ["1", 0], blur_radius: blur, sigma: 2.0 } },
  9: { class_type: "SaveImage", inputs: { images: ["2", 0], filename_prefix: "sdk" } },
});

async function workflow(nodes, name) {
  await writeFile(name, JSON.stringify(nodes));
  return client.workflows.fromFile(name);
}

// Upload, and the same bytes again: one asset.
const first = client.assets.fromFile("photo.png");
const wf = await workflow(graph(1), "wf.json");
wf.setInput("1", "image", first);
const job = await client.run(wf);
report.status = job.status;
const outputs = job.getOutputs("9");
await outputs[0].toFile("out.png");
report.output = (await readFile("out.png")).subarray(0, 4).toString("latin1");

const again = client.assets.fromFile("photo.png");
await first.commit();
await again.commit();
report.sameAsset = first.id === again.id;

// Follow a job by its events.
const followed = await client.submit(wf);
for await (const e of followed.events()) {
  report.events.push(e.kind + (e.status ? ":" + e.status : ""));
}

// Cancel one that takes long.
const long = { 0: { class_type: "EmptyImage", inputs: { width: 4096, height: 4096, batch_size: 1, color: 255 } } };
for (let i = 1; i <= 40; i++) {
  long[i] = { class_type: "ImageBlur", inputs: { image: [String(i - 1), 0], blur_radius: 31, sigma: 10.0 } };
}
long[99] = { class_type: "SaveImage", inputs: { images: ["40", 0], filename_prefix: "long" } };
const canceled = await client.submit(await workflow(long, "long.json"));
await canceled.cancel();
await canceled.wait().catch(() => {});
report.canceled = canceled.status;

// A refusal has its class and its details.
try {
  await client.submit(await workflow({ 1: { class_type: "Nothing", inputs: {} } }, "bad.json"));
} catch (e) {
  report.refusal = { class: e.constructor.name, code: e.code, details: e.details };
}
console.log(JSON.stringify(report));
