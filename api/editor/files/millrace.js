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

app.registerExtension({
  name: "Millrace.Console",
  commands: [
    { id: "Millrace.Job", label: "Last job in the console", icon: "pi pi-external-link", function: () => window.open(consoleAddress(last ? "/jobs/" + last : ""), "_blank", "noopener") },
    { id: "Millrace.Jobs", label: "All jobs in the console", icon: "pi pi-list", function: () => window.open(consoleAddress(""), "_blank", "noopener") },
  ],
  menuCommands: [{ path: ["Millrace"], commands: ["Millrace.Job", "Millrace.Jobs"] }],
  async setup() {
    api.addEventListener("execution_start", (e) => { if (e.detail && e.detail.prompt_id) last = e.detail.prompt_id; });
    const asked = new URL(document.location.href), id = asked.searchParams.get("millrace_job");
    if (!id) return;
    asked.searchParams.delete("millrace_job");
    history.replaceState(history.state, "", asked);
    const show = () => open(id).then(() => { last = id; }, (error) => app.extensionManager.toast.add({ severity: "error", summary: "Millrace", detail: String(error.message || error) }));
    setTimeout(show, 0); // after the graph that the editor opens by itself
  },
});
