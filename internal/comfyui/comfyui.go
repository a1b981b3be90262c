// Package comfyui drives one ComfyUI server over its HTTP and WebSocket interface. Server is the
// port: what a server is and has, prompts by an id that the caller chooses, the messages of their
// execution, and files in and out. Client implements it.
//
// Its promise: nothing a server says leads outside that server. Redirects are not followed, names
// in answers that climb out of their folder are refused, every answer is bounded in size and time,
// credentials that an answer repeats are overwritten, and only a prompt that is named by its id is ever
// cancelled. What a server remembers is its own
// memory only; leases, placement and retries belong to the callers, and so does the decision what
// an unknown outcome means.
package comfyui

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/google/uuid"
)

// Server is one ComfyUI server. Implementations are safe for concurrent use.
//
// Every error is a *fault.Error with one of this package's codes, or wraps one, or is the error of
// ctx. CodeUnreachable says that nothing was sent. CodeLost and CodeServerError say that the request
// may have been carried out: the caller looks before it repeats anything that is not idempotent.
type Server interface {
	Inspector
	Prompts
	Files

	// Withholding returns the same server for work with more secrets than the credentials of the server itself: they, too,
	// are overwritten wherever an answer repeats them.
	Withholding(secrets ...string) Server
}

// Inspector tells what a server is and has. Its methods change nothing.
type Inspector interface {
	// Identify reads version, memory and devices. It refuses what is not ComfyUI (CodeNotComfyUI)
	// and what is older than MinVersion (CodeTooOld, with the version in the message and details).
	Identify(ctx context.Context) (Identity, error)

	// Classes reads the definitions of all node classes. Where known is the Digest of an earlier
	// answer and the definitions are the same, the answer has that Digest and no definitions.
	Classes(ctx context.Context, known string) (Classes, error)

	// Models reads the names of the model files, by folder, and of the embeddings. It costs a small
	// fraction of Classes, and its Digest changes whenever a file appears or goes.
	Models(ctx context.Context) (Models, error)

	// Extensions lists the web files of the server's custom nodes, as absolute paths of its site.
	Extensions(ctx context.Context) ([]string, error)

	// WebFile opens one of the files that Extensions lists. The caller closes it.
	WebFile(ctx context.Context, path string) (*Download, error)

	// Queue reads what runs and waits, whoever sent it, in the order of execution.
	Queue(ctx context.Context) (Queue, error)
}

// Prompts runs prompts on a server. A server keeps no prompt across its own restart.
type Prompts interface {
	// Submit queues a prompt. It returns a *Refusal when the server refuses the graph, which then is
	// not queued. A server does not recognize an id that it was given before and runs it again, so
	// that after CodeLost and CodeServerError the caller asks Find before another Submit.
	Submit(ctx context.Context, prompt Prompt) (Submitted, error)

	// Find tells where a prompt is: one that waits, runs or ended, or Unknown when the server never
	// had it, has lost it in a restart, or it was cancelled while it waited.
	Find(ctx context.Context, id PromptID) (State, error)

	// Cancel takes a prompt out of the queue, or interrupts it if it is the one that runs; it never
	// touches another prompt. It reports whether there was anything to cancel. An interrupt takes
	// effect between nodes or steps, so that the prompt may run for a while, or complete.
	Cancel(ctx context.Context, id PromptID) (bool, error)

	// Follow delivers the messages of prompts that were submitted under client, one at a time and in
	// order, until ctx ends (the error is that of ctx), deliver fails (the error is deliver's), or
	// the server gave no sign of life for the client's Silence (CodeSilent). It delivers Connected
	// when the socket is up, and reconnects when it breaks, with Disconnected and another Connected:
	// what was sent between the two is lost, and Find tells the outcome. The newest follower of one
	// client name receives the messages, an older one is silent from then on.
	Follow(ctx context.Context, client string, deliver func(Event) error) error

	// Free asks the server to unload its models and to drop its node cache, which it does when no
	// prompt runs.
	Free(ctx context.Context) error
}

// Files moves bytes to and from a server.
type Files interface {
	// Put stores a file and returns the name that the server gave it, which differs from the one
	// asked for when that is taken by other content. The same name with the same content is stored
	// once. CodeTooLarge says that the file exceeds what the server accepts.
	Put(ctx context.Context, upload Upload) (File, error)

	// Fetch opens a file of the server, of at most limit bytes. The caller closes it. Reading fails
	// with CodeTooLarge beyond the limit and with CodeLost when the file ends before its announced
	// size. CodeNotFound says that the server has no such file (any more).
	Fetch(ctx context.Context, file File, limit int64) (*Download, error)
}

// PromptID names a prompt: a UUID in its canonical lower-case form. Ids that others chose, as in a
// Queue, may be any text.
type PromptID string

// NewPromptID returns the id of a prompt.
func NewPromptID(id uuid.UUID) PromptID { return PromptID(id.String()) }

// Identity is what a server says of itself.
type Identity struct {
	Version   Version
	OS        string // "linux", "win32", …
	PyTorch   string
	RAMTotal  int64 // bytes, as all sizes here
	RAMFree   int64
	Devices   []Device // the first is the one that samplers use
	MaxUpload int64    // largest request body that the server accepts
}

// Device is one device on which a server computes.
type Device struct {
	Name       string // "cuda:0 NVIDIA GeForce RTX 4090 : cudaMallocAsync", "cpu"
	Type       string // "cuda", "cpu", "mps", …
	Index      int
	MemTotal   int64 // of the device
	MemFree    int64
	TorchTotal int64 // of which PyTorch has taken
	TorchFree  int64 // and does not use
}

// Classes are the node classes of a server.
type Classes struct {
	Digest      string                     // of the definitions; a change of anything in them changes it
	Names       []string                   // in the server's order; nil when the definitions are unchanged
	Definitions map[string]json.RawMessage // by class name, as the server writes them
}

// Models are the model files of a server.
type Models struct {
	Digest     string
	Folders    []string            // in the server's order
	Files      map[string][]string // by folder; paths below it, as the server spells them in choices
	Embeddings []string
}

// Queue is what a server runs and what waits there.
type Queue struct {
	Running []QueueEntry
	Pending []QueueEntry // the next one first
}

// QueueEntry is one prompt in a Queue.
type QueueEntry struct {
	ID     PromptID
	Number float64 // smaller runs earlier
	Client string  // under which it was submitted, "" = none
}

// Prompt is a graph to run.
type Prompt struct {
	ID     PromptID
	Client string          // who follows it; without one the server sends no messages of it
	Graph  json.RawMessage // in API format
	// Extra is the prompt's extra_data: "preview_method", "extra_pnginfo", credentials of partner
	// nodes. A null extra_pnginfo.workflow is left out: servers choke on it later.
	Extra   map[string]json.RawMessage
	Targets []string // output nodes to run; nil = all
}

// Submitted is the answer to an accepted prompt.
type Submitted struct {
	Number float64
	// NodeErrors are of output nodes that will not run although others will, in the server's words;
	// nil when all run.
	NodeErrors map[string]NodeErrors
}

// NodeErrors is what a server finds wrong with one node of a graph.
type NodeErrors struct {
	Class     string            `json:"class_type"`
	Errors    []ValidationError `json:"errors"`
	Dependent []string          `json:"dependent_outputs"`
}

// ValidationError is one thing that a server finds wrong with a graph, in its own words.
type ValidationError struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Details string          `json:"details"`
	Extra   json.RawMessage `json:"extra_info,omitempty"`
}

// Status says where a prompt is.
type Status uint8

// The statuses of a prompt.
const (
	Unknown   Status = iota // not in the queue and not in the history
	Pending                 // waits in the queue
	Running                 // is executed
	Completed               // ended well
	Failed                  // ended with an error of a node
	Cancelled               // was interrupted while it ran
)

var statusNames = [...]string{"unknown", "pending", "running", "completed", "failed", "cancelled"}

// String returns the status in lower case.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "invalid"
}

// Ended reports whether the prompt will change no more.
func (s Status) Ended() bool { return s >= Completed }

// State is what a server knows of a prompt.
type State struct {
	Status  Status
	Outcome *Outcome // of a prompt that ended; nil otherwise
}

// Outcome is how a prompt ended.
type Outcome struct {
	Outputs   map[string]Output // by node
	Cached    []string          // nodes that the server answered from its cache
	Err       *ExecutionError   // of a Failed prompt
	StartedAt time.Time         // by the server's clock; zero = unknown
	EndedAt   time.Time
}

// Output is the UI output of one node.
type Output struct {
	Raw   json.RawMessage // the whole object, as the server wrote it
	Files []File          // all files that it names, in order
	Texts []string        // all texts under "text"
}

// File is a file of a server.
type File struct {
	Name      string // without folders
	Subfolder string // with slashes; "" = none
	Type      Folder
	Kind      string // the key of the output that names it: "images", "audio", "latents", …; "" = none
	Animated  bool   // an image with frames
}

// Folder is one of the folders of a server that hold files of prompts.
type Folder string

// The folders of a server.
const (
	FolderInput  Folder = "input"
	FolderOutput Folder = "output"
	FolderTemp   Folder = "temp" // emptied when the server starts
)

// Upload is a file for a server.
type Upload struct {
	Name      string // without folders
	Subfolder string // with slashes; created where it is missing
	Folder    Folder // "" = FolderInput
	Size      int64  // of Body
	Body      io.Reader
}

// Download is a file that is being read from a server.
type Download struct {
	io.ReadCloser
	MediaType string // as the server says; "" = it does not say
	Size      int64  // announced; -1 = not announced
}
