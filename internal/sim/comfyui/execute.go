package comfyui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/sim/comfyui/classes"
)

// errInterrupted ends a prompt that was cancelled.
var errInterrupted = errors.New("interrupted")

// executePrompts is the execution thread: one prompt at a time, until ctx ends.
func (s *Server) executePrompts(ctx context.Context) {
	for {
		it := s.queue.take()
		if it == nil {
			select {
			case <-ctx.Done():
				return
			case <-s.queue.wake:
				continue
			}
		}
		s.announce()
		s.run(ctx, it)
		if ctx.Err() != nil {
			return
		}
	}
}

// execution is one prompt that runs.
type execution struct {
	*Server
	item     *item
	client   string
	muted    bool
	run      int // in the ledger
	plan     *graph.Plan
	signed   []string
	results  map[int]node.Result
	progress map[string]map[string]any
	executed []string
	inner    map[string]visibleNode // nodes of expansions
	entry    *entry
	begun    time.Time
}

// run executes a prompt and writes it into the history.
func (s *Server) run(ctx context.Context, it *item) {
	e := &execution{
		Server: s, item: it, client: it.client(), run: s.ledger.begin(it.id), begun: time.Now(), muted: s.faults.happens(Mute),
		results: map[int]node.Result{}, progress: map[string]map[string]any{}, executed: []string{}, inner: map[string]visibleNode{},
		entry: &entry{Prompt: it, Outputs: map[string]map[string]any{}, Meta: map[string]map[string]any{}},
	}
	err := e.execute(ctx)
	if ctx.Err() != nil {
		s.ledger.end(e.run, "lost")
		return
	}
	outcome := "success"
	var failed *nodeFailure
	switch {
	case err == nil:
		e.remember("execution_success", map[string]any{})
	case errors.As(err, &failed) && errors.Is(failed.cause, errInterrupted):
		outcome = "interrupted"
		e.remember("execution_interrupted", e.interruption(failed))
	default:
		outcome = "error"
		e.remember("execution_error", e.failure(failed, err))
	}
	e.entry.Status.Status = map[bool]string{true: "success", false: "error"}[err == nil]
	e.entry.Status.Completed = err == nil
	s.sockets.executing(e.client, "")
	s.ledger.end(e.run, outcome)
	if s.faults.happens(Forget) {
		s.queue.done(nil)
	} else {
		s.queue.done(e.entry)
	}
	s.announce()
	e.send("executing", map[string]any{"node": nil, "prompt_id": it.id})
}

// send sends a message to the client of the prompt.
func (e *execution) send(kind string, data map[string]any) {
	if e.client != "" && !e.muted {
		e.sockets.send(e.client, kind, data)
	}
}

// remember sends a message and keeps it for the history.
func (e *execution) remember(kind string, data map[string]any) {
	data["prompt_id"], data["timestamp"] = e.item.id, time.Now().UnixMilli()
	e.entry.Status.Messages = append(e.entry.Status.Messages, message{kind, data})
	if e.client == "" && kind == "execution_interrupted" {
		e.sockets.broadcast(kind, data)
		return
	}
	e.send(kind, data)
}

// nodeFailure is the error of one node.
type nodeFailure struct {
	id, class string
	cause     error
}

// Error implements error.
func (f *nodeFailure) Error() string { return f.id + ": " + f.cause.Error() }

// Unwrap returns the cause.
func (f *nodeFailure) Unwrap() error { return f.cause }

func (e *execution) interruption(f *nodeFailure) map[string]any {
	return map[string]any{"node_id": f.id, "node_type": f.class, "executed": e.executed}
}

// failure is the data of an execution_error.
func (e *execution) failure(f *nodeFailure, err error) map[string]any {
	if f == nil {
		f = &nodeFailure{cause: err}
	}
	kind, text := "RuntimeError", f.cause.Error()
	var raised *classes.Exception
	var classified *fault.Error
	if errors.As(f.cause, &raised) {
		kind, text = raised.Kind, raised.Text
	} else if errors.As(f.cause, &classified) {
		text = classified.Message
	}
	data := e.interruption(f)
	data["exception_type"], data["exception_message"] = kind, text+"\n"
	data["traceback"] = []string{
		"  File \"/home/somebody/ComfyUI/execution.py\", line 525, in execute\n    output_data = await get_output_data()\n",
		"  File \"/home/somebody/ComfyUI/nodes.py\", line 1500, in sample\n    return common_ksampler(model)\n",
	}
	data["current_inputs"], data["current_outputs"] = e.inputsOf(f.id), e.executed
	return data
}

// inputsOf returns the inputs of a node as an error shows them, with a hidden one.
func (e *execution) inputsOf(id string) map[string][]any {
	var nodes map[string]struct{ Inputs map[string]any }
	shown := map[string][]any{}
	if json.Unmarshal(e.item.prompt, &nodes) != nil {
		return shown
	}
	for name, value := range nodes[id].Inputs {
		if _, linked := value.([]any); linked {
			value = "<object of /home/somebody/ComfyUI/comfy/sd.py>"
		}
		shown[name] = []any{value}
	}
	shown["hidden"] = []any{"not for accounts"}
	return shown
}

// execute runs the nodes that the outputs need.
func (e *execution) execute(ctx context.Context) error {
	e.remember("execution_start", map[string]any{})
	g, err := graph.Parse(e.item.prompt, graph.Limits{MaxNodes: maxNodes, MaxBytes: int(e.opts.MaxUpload)})
	if err != nil {
		return err
	}
	if e.plan, err = graph.BuildPlan(g, e.classes, e.item.outputs, nil); err != nil {
		return err
	}
	if e.signed, err = e.signatures(ctx, g, e.plan); err != nil {
		return err
	}
	e.sockets.executing(e.client, "")
	cached := []string{}
	for i := range e.plan.Nodes {
		if _, ok := e.cache.get(e.signed[i]); ok {
			cached = append(cached, e.plan.Nodes[i].ID)
		}
	}
	e.remember("execution_cached", map[string]any{"nodes": cached})
	for i := range e.plan.Nodes {
		if e.plan.Nodes[i].Output {
			if err := e.ensure(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// ensure makes the result of a unit available, and before it those of the units it reads.
func (e *execution) ensure(ctx context.Context, unit int) error {
	if _, done := e.results[unit]; done {
		return nil
	}
	pn := &e.plan.Nodes[unit]
	if result, ok := e.cache.get(e.signed[unit]); ok {
		return e.reuse(unit, pn, result)
	}
	class, _ := e.classes.Lookup(pn.Class)
	inv := node.Invocation{Class: class, Inputs: node.Args{}, Lazy: pn.Lazy}
	for name, value := range pn.Constants {
		inv.Inputs[name] = value
	}
	for _, name := range pn.LinkNames() {
		if !pn.IsLazy(name) {
			if err := e.link(ctx, inv.Inputs, name, pn.Links[name]); err != nil {
				return err
			}
		}
	}
	for _, name := range inv.Needs() {
		if err := e.link(ctx, inv.Inputs, name, pn.Links[name]); err != nil {
			return err
		}
	}
	return e.compute(ctx, unit, pn, inv)
}

func (e *execution) link(ctx context.Context, inputs node.Args, name string, link graph.Link) error {
	if err := e.ensure(ctx, link.Unit); err != nil {
		return err
	}
	inputs[name] = e.results[link.Unit].Outputs[link.Slot]
	return nil
}

// reuse takes a result from the cache. Only output nodes are reported.
func (e *execution) reuse(unit int, pn *graph.PlanNode, result node.Result) error {
	e.results[unit] = result
	if !pn.Output {
		return nil
	}
	if err := e.show(pn.ID, result); err != nil {
		return err
	}
	e.state(pn.ID, 1, 1, "finished")
	return nil
}

// compute runs a node and the nodes to which it expands.
func (e *execution) compute(ctx context.Context, unit int, pn *graph.PlanNode, inv node.Invocation) error {
	if e.queue.isInterrupted() {
		return &nodeFailure{pn.ID, pn.Class, errInterrupted}
	}
	e.begin(pn.ID)
	result, err := e.invoke(ctx, pn.ID, pn.Class, inv)
	if err == nil && len(result.Calls) > 0 {
		result, err = e.expand(ctx, pn, inv, result.Calls)
	}
	var failed *nodeFailure
	if errors.As(err, &failed) {
		return failed
	}
	if err != nil {
		return &nodeFailure{pn.ID, pn.Class, err}
	}
	e.results[unit] = result
	e.cache.put(e.signed[unit], result)
	return e.finish(pn.ID, result)
}

// begin reports that a node runs.
func (e *execution) begin(id string) {
	display := e.visible(id).display
	e.sockets.executing(e.client, display)
	e.state(id, 0, 1, "running")
	e.send("executing", map[string]any{"node": id, "display_node": display, "prompt_id": e.item.id})
	e.ledger.ran(e.run, id)
}

// invoke calls the class of a node.
func (e *execution) invoke(ctx context.Context, id, class string, inv node.Invocation) (node.Result, error) {
	if e.queue.isInterrupted() {
		return node.Result{}, errInterrupted
	}
	if class == "LoadImage" && e.faults.happens(UnreadableInput) {
		return node.Result{}, &classes.Exception{
			Kind: "PIL.UnidentifiedImageError",
			Text: "cannot identify image file '/home/somebody/ComfyUI/input/a.png'",
		}
	}
	if class == "SaveImage" && e.faults.happens(DiskFull) {
		return node.Result{}, &classes.Exception{
			Kind: "OSError", Text: "[Errno 28] No space left on device: '/home/somebody/ComfyUI/output/a.png'",
		}
	}
	return inv.Run(context.WithValue(ctx, secretsKey{}, e.item.secrets), node.Call{
		NodeID: id, Prompt: e.item.prompt, ExtraPNGInfo: e.pngInfo(), SubmittedAt: e.begun, Files: e.files, Live: e.live(id, class),
	})
}

// finish reports that a node has succeeded, and its UI output.
func (e *execution) finish(id string, result node.Result) error {
	if err := e.show(id, result); err != nil {
		return err
	}
	e.executed = append(e.executed, id)
	e.state(id, 1, 1, "finished")
	return nil
}

// pngInfo returns the extra metadata of saved files.
func (e *execution) pngInfo() map[string]json.RawMessage {
	info, _ := e.item.extra["extra_pnginfo"].(map[string]any)
	out := map[string]json.RawMessage{}
	for name, value := range info {
		if raw, err := json.Marshal(value); err == nil {
			out[name] = raw
		}
	}
	return out
}

// show reports the UI output of a node, if it has one, and keeps it for the history.
func (e *execution) show(id string, result node.Result) error {
	if result.UI == nil {
		return nil
	}
	raw, err := json.Marshal(result.UI)
	if err != nil {
		return fmt.Errorf("show node %s: %w", id, err)
	}
	var output map[string]any
	if err := json.Unmarshal(raw, &output); err != nil {
		return fmt.Errorf("show node %s: %w", id, err)
	}
	if images, ok := output["images"].([]any); ok && len(images) > 0 {
		for f, name := range unsafeNames {
			if e.faults.happens(f) {
				images[0] = map[string]any{"filename": name[0], "subfolder": name[1], "type": "output"}
			}
		}
	}
	e.entry.Outputs[id] = output
	at := e.visible(id)
	e.entry.Meta[id] = map[string]any{"node_id": id, "display_node": at.display, "parent_node": at.parent, "real_node_id": at.real}
	e.send("executed", map[string]any{"node": id, "display_node": at.display, "output": output, "prompt_id": e.item.id})
	return nil
}

// state reports the progress of every node that has begun.
func (e *execution) state(id string, value, most int, state string) {
	if old := e.progress[id]; old != nil && state == "finished" {
		value, most = old["max"].(int), old["max"].(int)
	}
	at := e.visible(id)
	e.progress[id] = map[string]any{
		"value": value, "max": most, "state": state, "node_id": id, "prompt_id": e.item.id,
		"display_node_id": at.display, "parent_node_id": at.parent, "real_node_id": at.real,
	}
	e.send("progress_state", map[string]any{"prompt_id": e.item.id, "nodes": e.progress})
}

// live receives the live frames of a node.
type live struct {
	execution *execution
	id        string
	silent    bool
	raw       bool // the class sends its pictures itself
}

// live returns the receiver of a node's live frames. Native classes report progress that their originals do not; the
// classes of the options have no originals.
func (e *execution) live(id, class string) *live {
	added := slices.ContainsFunc(e.opts.Classes, func(c *node.Class) bool { return c.Name == class })
	return &live{e, id, class != classSampler && !added, class == classes.SendPictures}
}

var _ node.Live = (*live)(nil)

// Progress implements node.Live.
func (l *live) Progress(value, most int) {
	if l.silent {
		return
	}
	l.execution.state(l.id, value, most, "running")
	l.execution.send("progress", map[string]any{"value": value, "max": most, "prompt_id": l.execution.item.id, "node": l.id})
}

// Picture implements node.Live. Pictures that are results are sent whatever the settings of previews are.
func (l *live) Picture(contentType string, image []byte) { l.send(contentType, image) }

// Preview implements node.Live.
func (l *live) Preview(contentType string, image []byte) {
	e := l.execution
	if !l.silent && e.wantsPreviews() {
		l.send(contentType, image)
	}
}

func (l *live) send(contentType string, image []byte) {
	e := l.execution
	if e.client == "" || e.muted {
		return
	}
	if l.raw {
		e.sockets.preview(e.client, nil, image)
		return
	}
	at := e.visible(l.id)
	e.sockets.preview(e.client, map[string]any{
		"node_id": l.id, "prompt_id": e.item.id, "display_node_id": at.display, "parent_node_id": at.parent, "real_node_id": at.real,
		"image_type": contentType,
	}, image)
}

func (e *execution) wantsPreviews() bool {
	method, _ := e.item.extra["preview_method"].(string)
	return e.opts.Previews && method != "none" || method == "taesd" || method == "latent2rgb" || method == "auto"
}

// Message sends a message of a type of a node pack. Like the original, it sends it to all clients.
func (l *live) Message(kind string, data any) {
	if !l.execution.muted {
		l.execution.sockets.broadcast(kind, data)
	}
}

// Text implements node.Live. Like the original, it sends the text to all clients.
func (l *live) Text(text string) {
	if !l.execution.muted {
		l.execution.sockets.text(l.id, text)
	}
}
