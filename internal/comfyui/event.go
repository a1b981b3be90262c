package comfyui

import "encoding/json"

// Event is a message that Follow delivers: one of the types below.
type Event interface{ isEvent() }

// Connected reports that messages arrive from now on. Earlier messages are lost.
type Connected struct {
	Reconnected bool // true after Disconnected
}

// Disconnected reports that no messages arrive until the next Connected.
type Disconnected struct {
	Err error
}

// QueueChanged reports how many prompts run or wait at the server.
type QueueChanged struct {
	Remaining int
}

// Started reports that a prompt began to execute.
type Started struct {
	Prompt PromptID
}

// Cached reports the nodes of a prompt that the server takes from its cache.
type Cached struct {
	Prompt PromptID
	Nodes  []string
}

// Executing reports which node runs. After a reconnection the server repeats it without the Prompt.
type Executing struct {
	Prompt  PromptID
	Node    string
	Display string // the node of the submitted graph that stands for it
}

// Finished reports that the server is done with a prompt, whatever its outcome, and that Find returns the outcome.
type Finished struct {
	Prompt PromptID
}

// Progressed is the progress of one node.
type Progressed struct {
	Prompt PromptID
	Node   string
	Value  float64
	Max    float64
}

// ProgressState is the progress of all nodes of a prompt that have begun.
type ProgressState struct {
	Prompt PromptID
	Nodes  map[string]NodeProgress
}

// NodeProgress is the progress of one node in a ProgressState.
type NodeProgress struct {
	Value   float64 `json:"value"`
	Max     float64 `json:"max"`
	State   string  `json:"state"` // "running", "finished", "error"
	Display string  `json:"display_node_id"`
	Parent  string  `json:"parent_node_id"`
	Real    string  `json:"real_node_id"`
}

// Preview is a picture of an unfinished result. Old servers do not report its node: then all names are empty, and the
// picture belongs to the prompt and node that run.
type Preview struct {
	Prompt    PromptID
	Node      string
	Display   string
	Parent    string
	Real      string
	MediaType string // "image/jpeg" or "image/png"
	Image     []byte
}

// ProgressText is a text of a node about its progress. It does not name the prompt.
type ProgressText struct {
	Node string
	Text string
}

// Executed reports the UI output of a node. Nodes without a UI output are reported by Executing and ProgressState
// only.
type Executed struct {
	Prompt  PromptID
	Node    string
	Display string
	Output  Output
}

// Succeeded reports that a prompt succeeded. Find returns its outcome only after Finished.
type Succeeded struct {
	Prompt PromptID
}

// Errored reports that a node of a prompt failed.
type Errored struct {
	Prompt PromptID
	Err    ExecutionError
}

// Interrupted reports that a prompt was cancelled while it ran. The prompt may belong to another client.
type Interrupted struct {
	Prompt PromptID
	Node   string
}

// Unrecognized is a message of a type that this package does not know, such as those of custom nodes.
type Unrecognized struct {
	Type string
	Data json.RawMessage
}

func (Connected) isEvent()     {}
func (Disconnected) isEvent()  {}
func (QueueChanged) isEvent()  {}
func (Started) isEvent()       {}
func (Cached) isEvent()        {}
func (Executing) isEvent()     {}
func (Finished) isEvent()      {}
func (Progressed) isEvent()    {}
func (ProgressState) isEvent() {}
func (Preview) isEvent()       {}
func (ProgressText) isEvent()  {}
func (Executed) isEvent()      {}
func (Succeeded) isEvent()     {}
func (Errored) isEvent()       {}
func (Interrupted) isEvent()   {}
func (Unrecognized) isEvent()  {}
