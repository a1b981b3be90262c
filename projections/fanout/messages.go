package fanout

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// The data of each message type, field for field as the hosted service sends it.

type statusData struct {
	Status struct {
		ExecInfo struct {
			QueueRemaining int `json:"queue_remaining"`
		} `json:"exec_info"`
	} `json:"status"`
	SID string `json:"sid,omitempty"`
}

type notificationData struct {
	Value    string       `json:"value"`
	PromptID job.PublicID `json:"prompt_id"`
}

// lifecycleData is the data of execution_start and execution_success.
type lifecycleData struct {
	PromptID  job.PublicID `json:"prompt_id"`
	Timestamp int64        `json:"timestamp"` // Unix milliseconds
}

type cachedData struct {
	Nodes     []string     `json:"nodes"`
	PromptID  job.PublicID `json:"prompt_id"`
	Timestamp int64        `json:"timestamp"`
}

type executingData struct {
	Node        string       `json:"node"`
	DisplayNode string       `json:"display_node"`
	PromptID    job.PublicID `json:"prompt_id"`
}

// overData is the data of the executing message that ends a run: its node is null.
type overData struct {
	Node     *string      `json:"node"`
	PromptID job.PublicID `json:"prompt_id"`
}

type progressData struct {
	Value    int          `json:"value"`
	Max      int          `json:"max"`
	PromptID job.PublicID `json:"prompt_id"`
	Node     string       `json:"node"`
}

// progressStateData is the beginning of a progress_state message, before its nodes.
type progressStateData struct {
	PromptID job.PublicID `json:"prompt_id"`
	Nodes    struct{}     `json:"nodes"`
}

type nodeProgressData struct {
	Value         steps        `json:"value"`
	Max           steps        `json:"max"`
	State         string       `json:"state"` // running, finished, error
	NodeID        string       `json:"node_id"`
	PromptID      job.PublicID `json:"prompt_id"`
	DisplayNodeID string       `json:"display_node_id"`
	ParentNodeID  *string      `json:"parent_node_id"`
	RealNodeID    string       `json:"real_node_id"`
}

// steps is a number of steps. As in the self-hosted runtime, a node that has reported no steps begins at 0.0 of 1.0.
// This is a fraction, which clients in typed languages distinguish from a count.
type steps struct {
	n        int
	reported bool
}

// MarshalJSON implements json.Marshaler.
func (s steps) MarshalJSON() ([]byte, error) {
	text := strconv.Itoa(s.n)
	if !s.reported {
		text += ".0"
	}
	return []byte(text), nil
}

type executedData struct {
	Node        string          `json:"node"`
	DisplayNode string          `json:"display_node"`
	Output      json.RawMessage `json:"output"`
	PromptID    job.PublicID    `json:"prompt_id"`
}

type errorData struct {
	PromptID         job.PublicID    `json:"prompt_id"`
	NodeID           string          `json:"node_id"`
	NodeType         string          `json:"node_type"`
	Executed         []string        `json:"executed"`
	ExceptionMessage string          `json:"exception_message"`
	ExceptionType    string          `json:"exception_type"`
	Traceback        []string        `json:"traceback"`
	CurrentInputs    json.RawMessage `json:"current_inputs"`
	CurrentOutputs   []string        `json:"current_outputs"`
	Timestamp        int64           `json:"timestamp"`
}

type interruptedData struct {
	PromptID  job.PublicID `json:"prompt_id"`
	NodeID    *string      `json:"node_id"`
	NodeType  *string      `json:"node_type"`
	Executed  []string     `json:"executed"`
	Timestamp int64        `json:"timestamp"`
}

// Entry is one lifecycle message of a history: its type and its data.
type Entry struct {
	Type string
	Data any
}

// MarshalJSON renders the entry as a pair, as in history.status.messages.
func (e Entry) MarshalJSON() ([]byte, error) { return json.Marshal([]any{e.Type, e.Data}) }

// History returns the lifecycle messages of a job, from its folded state, in the order
// in which they were sent.
func History(j job.Job) []Entry {
	if j.StartedAt == nil {
		return []Entry{}
	}
	start := j.StartedAt.UnixMilli()
	entries := []Entry{
		{"execution_start", lifecycleData{j.PublicID(), start}},
		{"execution_cached", cachedData{j.Calls.Shown(j.Cached), j.PublicID(), start}},
	}
	if j.EndedAt == nil {
		return entries
	}
	switch j.State {
	case job.Succeeded:
		entries = append(entries, Entry{"execution_success", lifecycleData{j.PublicID(), j.EndedAt.UnixMilli()}})
	case job.Failed:
		entries = append(entries, Entry{"execution_error", executionError(j, *j.EndedAt)})
	case job.Canceled:
		entries = append(entries, Entry{"execution_interrupted", interruption(j, *j.EndedAt)})
	case job.Queued, job.Running, job.Canceling, job.Expired:
	}
	return entries
}

func executionError(j job.Job, at time.Time) errorData {
	d := errorData{
		PromptID: j.PublicID(), Executed: j.Calls.Shown(j.Executed), Traceback: []string{}, CurrentInputs: json.RawMessage("{}"),
		CurrentOutputs: j.Calls.Shown(slices.Concat(j.Cached, j.Executed)), Timestamp: at.UnixMilli(),
	}
	if j.Error == nil {
		return d
	}
	d.NodeID, d.NodeType = j.Error.Node, j.Error.Class
	d.ExceptionMessage, d.ExceptionType = j.Error.Message+"\n", j.Error.ExceptionType
	d.Traceback = list(j.Error.Traceback)
	if len(j.Error.Inputs) > 0 {
		d.CurrentInputs = j.Error.Inputs
	}
	return d
}

// blockage returns the text that reports why a node was blocked. It is not an execution_error, which would mean the
// end of the job: the run continues.
func blockage(e job.NodeExecutedV1) string {
	id, class := e.Within.Shown(e.Node, e.Class)
	return "Node " + id + " (" + class + ") did not run: " + e.Blocked
}

func interruption(j job.Job, at time.Time) interruptedData {
	d := interruptedData{PromptID: j.PublicID(), Executed: j.Calls.Shown(j.Executed), Timestamp: at.UnixMilli()}
	if j.Interrupted != nil {
		d.NodeID, d.NodeType = &j.Interrupted.Node, &j.Interrupted.Class
	}
	return d
}

// list returns a copy that marshals as [] and not as null when empty.
func list(s []string) []string { return append([]string{}, s...) }

// text renders one text frame. The data are plain structs and valid raw JSON: marshalling could only fail on an event
// with invalid JSON, which the registry refuses.
func text(kind string, data any) []byte {
	raw, err := json.Marshal(struct {
		Type string `json:"type"`
		Data any    `json:"data"`
	}{kind, data})
	if err != nil {
		panic(err)
	}
	return raw
}

// StatusText renders a status frame; sid is only set on the first frame of a connection.
func StatusText(remaining int, sid string) []byte {
	var d statusData
	d.Status.ExecInfo.QueueRemaining = remaining
	d.SID = sid
	return text("status", d)
}

// ReconnectText renders the frame that a client receives about its running job when it
// reconnects: the executing node, without the job's id.
func ReconnectText(node string) []byte {
	return text("executing", struct {
		Node string `json:"node"`
	}{node})
}
