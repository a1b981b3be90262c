package comfyui

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Find implements Prompts.
func (c *Client) Find(ctx context.Context, id PromptID) (State, error) {
	if !c.noJobs.Load() {
		state, known, err := c.findJob(ctx, id)
		if known || err != nil {
			return state, err
		}
		c.noJobs.Store(true)
	}
	return c.findQueued(ctx, id)
}

// findJob uses the jobs interface. known is false if the server does not have this interface.
func (c *Client) findJob(ctx context.Context, id PromptID) (state State, known bool, err error) {
	a, err := c.do(ctx, c.timeout, maxDocument, request{method: http.MethodGet, path: "/api/jobs/" + string(id)})
	if err != nil {
		return State{}, false, err
	}
	var job struct {
		Error   string                     `json:"error"`
		Status  string                     `json:"status"`
		Outputs map[string]json.RawMessage `json:"outputs"`
		Ending  *ending                    `json:"execution_status"`
	}
	if a.status == http.StatusNotFound {
		// The answer for a missing route is plain text.
		known := json.Unmarshal(a.body, &job) == nil && job.Error != ""
		return State{}, known, nil
	}
	if a.status != http.StatusOK {
		return State{}, false, statusError(a)
	}
	if err := a.decode(&job); err != nil {
		return State{}, false, err
	}
	status, ok := map[string]Status{
		"pending": Pending, "in_progress": Running, "completed": Completed, "failed": Failed, "cancelled": Cancelled,
	}[job.Status]
	if !ok {
		return State{}, false, fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server reports the unknown prompt status %q",
			clip(job.Status))
	}
	if !status.Ended() {
		return State{Status: status}, true, nil
	}
	state, err = endedState(job.Outputs, job.Ending)
	return state, true, err
}

// findQueued looks into the queue first and then into the history. In the opposite order it would miss a prompt that
// ends in between.
func (c *Client) findQueued(ctx context.Context, id PromptID) (State, error) {
	queue, err := c.Queue(ctx)
	if err != nil {
		return State{}, err
	}
	if contains(queue.Running, id) {
		return State{Status: Running}, nil
	}
	if contains(queue.Pending, id) {
		return State{Status: Pending}, nil
	}
	var history map[PromptID]struct {
		Outputs map[string]json.RawMessage `json:"outputs"`
		Ending  *ending                    `json:"status"`
	}
	if err := c.get(ctx, maxDocument, "/history/"+string(id), &history); err != nil {
		return State{}, err
	}
	entry, ok := history[id]
	if !ok {
		return State{Status: Unknown}, nil
	}
	return endedState(entry.Outputs, entry.Ending)
}

// ending is the record of a prompt's end on the server: messages are pairs of type and data.
type ending struct {
	Status   string              `json:"status_str"`
	Messages [][]json.RawMessage `json:"messages"`
}

// endedState returns the state of a prompt of the history.
func endedState(outputs map[string]json.RawMessage, e *ending) (State, error) {
	outcome := &Outcome{Outputs: make(map[string]Output, len(outputs))}
	for node, raw := range outputs {
		outcome.Outputs[node] = parseOutput(raw)
	}
	state := State{Status: Completed, Outcome: outcome}
	if e == nil {
		return state, nil
	}
	if e.Status != "success" {
		state.Status = Failed
	}
	for _, message := range e.Messages {
		if err := state.apply(message); err != nil {
			return State{}, err
		}
	}
	if state.Status == Failed && outcome.Err == nil {
		return State{}, fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server reports a failed prompt without an error")
	}
	return state, nil
}

// apply applies one message of the history.
func (s *State) apply(message []json.RawMessage) error {
	if len(message) != 2 {
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server's history cannot be read")
	}
	var kind string
	var data struct {
		wireData
		Timestamp int64 `json:"timestamp"` // in milliseconds
	}
	if json.Unmarshal(message[0], &kind) != nil || json.Unmarshal(message[1], &data) != nil {
		return fault.New(fault.Unavailable, fault.CodeServerGarbage, "the server's history cannot be read")
	}
	at := time.UnixMilli(data.Timestamp)
	switch kind {
	case "execution_start":
		s.Outcome.StartedAt = at
	case "execution_cached":
		s.Outcome.Cached = data.Nodes
	case "execution_success":
		s.Outcome.EndedAt = at
	case "execution_interrupted":
		s.Outcome.EndedAt, s.Status = at, Cancelled
	case "execution_error":
		failure := data.failure()
		s.Outcome.EndedAt, s.Outcome.Err = at, &failure
	}
	return nil
}

// parseOutput reads the UI output of a node.
func parseOutput(raw json.RawMessage) Output {
	output := Output{Raw: raw}
	keys, lists, err := members(raw)
	if err != nil {
		return output // null, or a form of a custom node that is not read
	}
	var animated []bool
	_ = json.Unmarshal(lists["animated"], &animated) // any other form is ignored
	for _, key := range keys {
		var items []json.RawMessage
		if json.Unmarshal(lists[key], &items) != nil {
			continue
		}
		for i, item := range items {
			if err := output.add(key, item, i < len(animated) && animated[i]); err != nil {
				return Output{Raw: raw, Err: err}
			}
		}
	}
	return output
}

// add adds one item of an output: a text, or a value of any form with the files that it names at any depth.
func (o *Output) add(key string, item json.RawMessage, animated bool) error {
	var text string
	if key == "text" && json.Unmarshal(item, &text) == nil {
		o.Texts = append(o.Texts, text)
		return nil
	}
	if bytes.HasPrefix(item, []byte("[")) {
		var items []json.RawMessage
		if err := json.Unmarshal(item, &items); err != nil {
			return nil //nolint:nilerr // it was part of a document that was read
		}
		for _, item := range items {
			if err := o.add(key, item, false); err != nil {
				return err
			}
		}
		return nil
	}
	names, values, err := members(item)
	if err != nil {
		return nil //nolint:nilerr // neither a list nor an object
	}
	var named wireFile
	if json.Unmarshal(item, &named) == nil && named.Name != "" && named.Type != "" {
		return o.addFiles(key, named, animated)
	}
	for _, name := range names {
		if value := values[name]; bytes.HasPrefix(value, []byte("[")) || bytes.HasPrefix(value, []byte("{")) {
			if err := o.add(key, value, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFiles adds a file, and the picture beside it that holds its workflow.
func (o *Output) addFiles(key string, named wireFile, animated bool) error {
	file, err := named.file()
	if err != nil {
		return err
	}
	file.Kind, file.Animated = key, animated && key == "images"
	o.Files = append(o.Files, file)
	var workflow string
	if json.Unmarshal(named.Workflow, &workflow) != nil || workflow == "" || workflow == named.Name {
		return nil //nolint:nilerr // another form, which names no file
	}
	beside := File{Name: workflow, Subfolder: file.Subfolder, Type: file.Type, Kind: key, Workflow: true}
	if beside.check() == nil {
		o.Files = append(o.Files, beside)
	}
	return nil
}

// wireFile is a file in the form of the server's answers.
type wireFile struct {
	Name      string `json:"filename"`
	Subfolder string `json:"subfolder"`
	Type      Folder `json:"type"`

	Workflow json.RawMessage `json:"workflow"` // in outputs of VHS_VideoCombine, the name of a picture in the same folder
}

// file returns the file, after checking that its name stays inside its folder.
func (w wireFile) file() (File, error) {
	f := FileOf(w.Name, w.Subfolder, w.Type)
	return f, f.check()
}

// FileOf returns the file that an output of a node names. Some classes of packs repeat the subfolder in the name, and some give the path
// on the machine of the server.
func FileOf(name, subfolder string, folder Folder) File {
	f := File{Name: name, Subfolder: strings.Trim(strings.ReplaceAll(subfolder, `\`, "/"), "/"), Type: folder}
	within := path.Join("/", string(folder), f.Subfolder) + "/"
	at, last := path.Split(name)
	if last != "" && (at == f.Subfolder+"/" || strings.HasPrefix(at, "/") && strings.HasSuffix(at, within)) {
		f.Name = last
	}
	return f
}
