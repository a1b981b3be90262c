// Package comfyui drives one ComfyUI server over its HTTP and WebSocket interface. Server is the port: the identity
// and the content of a server, prompts by an id that the caller chooses, the messages of their execution, and files
// in and out. Client implements it.
//
// Its promise: no answer of a server leads a caller outside that server. Redirects are not followed, names that leave
// their folder are refused, every answer is bounded in size and time, credentials that an answer repeats are
// overwritten, and Cancel affects only the prompt with the given id. A server remembers prompts only in its own
// memory. Leases, placement, retries and the handling of unknown outcomes are left to the callers.
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
// Every error is a *fault.Error with one of this package's codes, or wraps one, or is the error of ctx.
// CodeUnreachable means that nothing was sent. CodeLost and CodeServerError mean that the request may have been
// carried out: the caller must find out before it repeats a request that is not idempotent.
type Server interface {
	Inspector
	Prompts
	Files
	Packs

	// Withholding returns the same server for work with further secrets: they, too, are overwritten wherever an
	// answer repeats them.
	Withholding(secrets ...string) Server
}

// Inspector reads the identity and the content of a server. Its methods change nothing.
type Inspector interface {
	// Identify reads version, memory and devices. It refuses a server that is not ComfyUI (CodeNotComfyUI) or is
	// older than MinVersion (CodeTooOld, with the version in the message and details).
	Identify(ctx context.Context) (Identity, error)

	// Classes reads the definitions of all node classes. If known is the Digest of an earlier answer and the
	// definitions have not changed, the answer has that Digest and no definitions.
	Classes(ctx context.Context, known string) (Classes, error)

	// Models reads the names of the model files, by folder, and of the embeddings. It costs a small fraction of
	// Classes, and its Digest changes whenever a file is added or removed.
	Models(ctx context.Context) (Models, error)

	// Extensions lists the web files of the server's custom nodes, as absolute URL paths.
	Extensions(ctx context.Context) ([]string, error)

	// WebFile opens one of the files that Extensions lists. The caller closes it.
	WebFile(ctx context.Context, path string) (*Download, error)

	// Queue reads the running and waiting prompts of all clients, in the order of execution.
	Queue(ctx context.Context) (Queue, error)
}

// Prompts runs prompts on a server. A server loses its prompts when it restarts.
type Prompts interface {
	// Submit queues a prompt. It returns a *Refusal if the server refuses the graph; the prompt is then not queued. A
	// server does not recognize an id that it was given before and runs the prompt again, so after CodeLost and
	// CodeServerError the caller must call Find before another Submit.
	Submit(ctx context.Context, prompt Prompt) (Submitted, error)

	// Find returns the state of a prompt that waits, runs or has ended. The status is Unknown if the server never had
	// the prompt, lost it in a restart, or the prompt was cancelled while it waited.
	Find(ctx context.Context, id PromptID) (State, error)

	// Cancel takes a prompt out of the queue, or interrupts it while it runs; it never affects another prompt. It
	// reports whether the prompt was waiting or running. An interrupt takes effect between nodes or steps, so the
	// prompt may run for a while, or complete.
	Cancel(ctx context.Context, id PromptID) (bool, error)

	// Follow delivers the messages of prompts that were submitted under client, one at a time and in order, until ctx
	// ends (the error is that of ctx), deliver fails (the error is deliver's), or the server has sent nothing for the
	// client's Silence (CodeSilent). Follow delivers Connected when the socket is open. When the socket breaks, it
	// delivers Disconnected, reconnects, and delivers Connected again; messages in between are lost, and Find returns
	// the outcome. If several callers follow one client name, only the newest receives messages.
	Follow(ctx context.Context, client string, deliver func(Event) error) error

	// Free makes the server unload its models and drop its node cache, as soon as no prompt runs.
	Free(ctx context.Context) error
}

// Files moves bytes to and from a server.
type Files interface {
	// Put stores a file and returns the name that the server gave to it. This name differs from the requested one if
	// a file with other content has that name. The same name with the same content is stored once. CodeTooLarge means
	// that the file exceeds the size that the server accepts.
	Put(ctx context.Context, upload Upload) (File, error)

	// Fetch opens a file of the server, of at most limit bytes. The caller closes it. Reading fails with CodeTooLarge
	// beyond the limit and with CodeLost if the file ends before its announced size. CodeNotFound means that the
	// server does not have the file, or no longer has it.
	Fetch(ctx context.Context, file File, limit int64) (*Download, error)

	// Remove removes files that a prompt made in the output folder, below FilesFolder and its id, or in the temp folder. Files
	// that are not there are ignored. The server refuses all other files. CodeServerFileNotFound means that the server cannot
	// remove files, because it lacks the node pack of this repository.
	Remove(ctx context.Context, id PromptID, files []File) error
}

// FilesFolder is the folder on servers below which prompts of this program read and save files.
const FilesFolder = "millrace"

// PromptID identifies a prompt: a UUID in its canonical lower-case form. Ids of other clients, as in a Queue, may be
// any text.
type PromptID string

// NewPromptID returns a new random id.
func NewPromptID(id uuid.UUID) PromptID { return PromptID(id.String()) }

// Identity holds the version, the memory and the devices of a server.
type Identity struct {
	Version   Version
	OS        string // "linux", "win32", …
	Python    string
	PyTorch   string
	RAMTotal  int64 // in bytes, like all sizes here
	RAMFree   int64
	Devices   []Device // samplers use the first one
	MaxUpload int64    // largest request body that the server accepts
}

// Device is one device on which a server computes.
type Device struct {
	Name       string // "cuda:0 NVIDIA GeForce RTX 4090 : cudaMallocAsync", "cpu"
	Type       string // "cuda", "cpu", "mps", …
	Index      int
	MemTotal   int64 // all memory of the device
	MemFree    int64
	TorchTotal int64 // the part that PyTorch has reserved
	TorchFree  int64 // the part that PyTorch has reserved and does not use
}

// Classes are the node classes of a server.
type Classes struct {
	Digest      string                     // digest of the definitions
	Names       []string                   // in the server's order; nil if the definitions have not changed
	Definitions map[string]json.RawMessage // by class name, as the server writes them
}

// Models are the model files of a server.
type Models struct {
	Digest     string
	Folders    []string            // in the server's order
	Files      map[string][]string // by folder: paths below the folder, as the server spells them in choices
	Embeddings []string
}

// Queue holds the running and the waiting prompts of a server.
type Queue struct {
	Running []QueueEntry
	Pending []QueueEntry // in the order of execution
}

// QueueEntry is one prompt in a Queue.
type QueueEntry struct {
	ID     PromptID
	Number float64 // prompts with smaller numbers run earlier
	Client string  // under which it was submitted, "" = none
}

// Prompt is a graph to run.
type Prompt struct {
	ID     PromptID
	Client string          // the name under which Follow gets the messages of the prompt; "" = the server sends none
	Graph  json.RawMessage // in API format
	// Extra is the prompt's extra_data: "preview_method", "extra_pnginfo", credentials of partner nodes. A null
	// extra_pnginfo.workflow is left out, because it later makes the server's list of jobs fail.
	Extra   map[string]json.RawMessage
	Targets []string // output nodes to run; nil = all
}

// Submitted is the answer to an accepted prompt.
type Submitted struct {
	Number float64
	// NodeErrors are the errors of output nodes that will not run, in the server's words; nil if all output nodes
	// will run.
	NodeErrors map[string]NodeErrors
}

// NodeErrors lists the errors that a server reports for one node of a graph.
type NodeErrors struct {
	Class     string            `json:"class_type"`
	Errors    []ValidationError `json:"errors"`
	Dependent []string          `json:"dependent_outputs"`
}

// ValidationError is one error that a server reports for a graph, in the server's words.
type ValidationError struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Details string          `json:"details"`
	Extra   json.RawMessage `json:"extra_info,omitempty"`
}

// Status is the status of a prompt on its server.
type Status uint8

// The statuses of a prompt.
const (
	Unknown   Status = iota // not in the queue and not in the history
	Pending                 // waiting in the queue
	Running                 // being executed
	Completed               // ended with success
	Failed                  // ended with an error of a node
	Cancelled               // interrupted while it ran
)

var statusNames = [...]string{"unknown", "pending", "running", "completed", "failed", "cancelled"}

// String returns the status in lower case.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "invalid"
}

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s >= Completed }

// State is the state of a prompt on its server.
type State struct {
	Status  Status
	Outcome *Outcome // set for a prompt that has ended
}

// Outcome is the result of a prompt that has ended.
type Outcome struct {
	Outputs   map[string]Output // by node
	Cached    []string          // nodes that the server took from its cache
	Err       *ExecutionError   // set for a Failed prompt
	StartedAt time.Time         // by the server's clock; zero = unknown
	EndedAt   time.Time
}

// Output is the UI output of one node.
type Output struct {
	Raw   json.RawMessage // the complete object, as the server wrote it
	Files []File          // all files that the output names, at any depth, in order
	Err   error           // CodeUnsafeName: the output names a file outside its folder, which cannot be fetched
	Texts []string        // all texts under "text"
}

// File is a file of a server.
type File struct {
	Name      string // without folders
	Subfolder string // with slashes; "" = none
	Type      Folder
	Kind      string // the key of the output that names it: "images", "audio", "latents", …; "" = none
	Animated  bool   // an image with several frames
	Workflow  bool   // a picture that holds the workflow of the file before it; its server may lack it
}

// Folder is one of the folders of a server that hold files of prompts.
type Folder string

// The folders of a server.
const (
	FolderInput  Folder = "input"
	FolderOutput Folder = "output"
	FolderTemp   Folder = "temp" // the server empties it when it starts
)

// Upload is a file that is sent to a server.
type Upload struct {
	Name      string // without folders
	Subfolder string // with slashes; the server creates missing folders
	Folder    Folder // "" = FolderInput
	Size      int64  // of Body, in bytes
	Body      io.Reader
}

// Download is a file that is read from a server.
type Download struct {
	io.ReadCloser
	MediaType string // as the server says; "" = it does not say
	Size      int64  // the announced size; -1 = not announced
}
