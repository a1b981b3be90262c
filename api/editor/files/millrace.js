// Joins the editor with the console of this service: "/?millrace_job=ID" opens the graph of a job, and the menu leads from the
// editor to the jobs that it queued. It is loaded by the editor as scripts of custom nodes are.
import { app } from "../../scripts/app.js";
import { api } from "../../scripts/api.js";

let last = ""; // id of the job that was queued last

function consoleAddress(path) { return new URL("console" + path, document.baseURI).href; }

// open shows the graph of a job: as the editor that drew it saved it, else as it was submitted.
async function open(id) {
  const answer = await api.fetchApi("/history/" + encodeURIComponent(id));
  const entry = answer.ok ? (await answer.json())[id] : null;
  if (!entry) throw new Error("There is no such job, or it has not ended.");
  const prompt = Array.isArray(entry.prompt) ? entry.prompt : [null, null, entry.prompt.prompt, entry.prompt.extra_data];
  const drawn = prompt[3] && prompt[3].extra_pnginfo && prompt[3].extra_pnginfo.workflow;
  const name = "job-" + id.slice(0, 8);
  if (drawn && drawn.nodes) await app.loadGraphData(drawn, true, true, name);
  else await app.loadApiJson(prompt[2], name);
}

// started resolves when the editor has opened a graph by itself, which would replace one that is loaded earlier.
async function started() {
  do await new Promise((resolve) => setTimeout(resolve, 50)); while (app.extensionManager.spinner);
}

// The editor begins with a graph of its own. Where the classes of that are missing, this one takes its place: it runs everywhere.
const first = {
  1: { class_type: "EmptyImage", inputs: { width: 512, height: 512, batch_size: 1, color: 3368601 } },
  2: { class_type: "SaveImage", inputs: { images: ["1", 0], filename_prefix: "first" } },
};

function beginWithWhatRuns() {
  const load = app.loadGraphData.bind(app);
  const lacks = () => !("KSampler" in window.LiteGraph.registered_node_types);
  app.loadGraphData = (...args) => (args.length === 0 && lacks() ? app.loadApiJson(first, "first") : load(...args));
}

app.registerExtension({
  name: "Millrace.Console",
  commands: [
    { id: "Millrace.Job", label: "Last job in the console", icon: "pi pi-external-link", function: () => window.open(consoleAddress(last ? "/jobs/" + last : ""), "_blank", "noopener") },
    { id: "Millrace.Jobs", label: "All jobs in the console", icon: "pi pi-list", function: () => window.open(consoleAddress(""), "_blank", "noopener") },
  ],
  menuCommands: [{ path: ["Millrace"], commands: ["Millrace.Job", "Millrace.Jobs"] }],
  async setup() {
    beginWithWhatRuns();
    api.addEventListener("execution_start", (e) => { if (e.detail && e.detail.prompt_id) last = e.detail.prompt_id; });
    const asked = new URL(document.location.href), id = asked.searchParams.get("millrace_job");
    if (!id) return;
    asked.searchParams.delete("millrace_job");
    history.replaceState(history.state, "", asked);
    last = id; // the menu leads to it also while its graph is fetched
    const show = () => open(id).catch((error) => app.extensionManager.toast.add({ severity: "error", summary: "Millrace", detail: String(error.message || error) }));
    started().then(show);
  },
});
