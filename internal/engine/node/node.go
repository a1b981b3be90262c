// Package node defines the port of node classes: the declarations of a class (inputs, outputs, cost) and the
// arguments of its run. A class is plain data with a few functions, registered in a Registry. The packages below this
// one hold the native classes, which package standard lists. Scheduling, storage and events are left to others.
package node

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Type is the name of an input or output type as graphs spell it.
type Type string

// The types that native classes exchange. A class may declare others. A graph connects equal types, and Any with every
// type.
const (
	Image       Type = "IMAGE"
	Mask        Type = "MASK"
	Audio       Type = "AUDIO"
	Video       Type = "VIDEO"
	Int         Type = "INT"
	Float       Type = "FLOAT"
	String      Type = "STRING"
	Boolean     Type = "BOOLEAN"
	Combo       Type = "COMBO"
	BoundingBox Type = "BOUNDING_BOX"
	Color       Type = "COLOR"
	Layers      Type = "LAYERS"
	Any         Type = "*"
)

// Section is the section of a definition in which an input is listed.
type Section uint8

// The sections of a definition.
const (
	Required Section = iota
	Optional
	Hidden
	Undeclared // accepted, but not part of the definition
)

// Input declares an input of a class. Min, Max, Step and Default are of type int, float64, string or bool, as they
// appear in the definition; nil means undeclared.
type Input struct {
	Name    string
	Type    Type
	Section Section

	Default        any
	Min, Max, Step any
	Round          any
	Display        string   // "number", "slider", "color" or ""
	Options        []string // of a Combo
	Folder         Folder   // a Combo whose options are the caller's files of this folder
	Directory      bool     // of Folder, the options are the folders that contain the files
	Weights        string   // a Combo of a server whose options are its model files in a folder such as checkpoints; * = in any folder
	Multiline      bool
	Placeholder    string
	DynamicPrompts bool
	Lazy           bool // evaluated only if LazyNeeds names it
	ForceInput     bool
	Advanced       bool
	Socketless     bool   // the editor does not connect links to it
	Control        any    // control_after_generate: bool or a mode name; nil = undeclared
	MatchTemplate  string // template id of a COMFY_MATCHTYPE_V3 input; "" = none
	DisplayName    string // "" = the name
	Tooltip        string
	Extra          map[string]any // further options, such as image_upload

	// Declared is the specification as the input's source wrote it: type and options. Nil = it is made of the other
	// fields.
	Declared []json.RawMessage
}

// Output declares one output of a class.
type Output struct {
	Type    Type
	Name    string // "" = the type's name
	IsList  bool
	Tooltip string

	MatchTemplate string // template id of a COMFY_MATCHTYPE_V3 output; "" = none
}

// Folder is a namespace of files, as the cloud API names it.
type Folder string

// The three folders of an account.
const (
	FolderInput  Folder = "input"
	FolderOutput Folder = "output"
	FolderTemp   Folder = "temp"
)

// FolderModels lists the weights of an account and those of all accounts, as folder/name. Graphs open no files in it.
const FolderModels Folder = "models"

// Value is a value that an edge carries: *raster.Image, *raster.Mask, *media.Sound, *media.Video, *layers.Stack, int64,
// float64, string, bool, a List of values, decoded JSON (map[string]any, []any), or a Blocker. Values are immutable once returned.
type Value any

// List is the value of an output with IsList. A class that reads it is called for each element.
type List []Value

// Args are the arguments of a call by input name. An absent optional input has no key.
type Args map[string]Value

// Class is a node class. Fields that are not documented as required may be left zero.
type Class struct {
	Name        string
	DisplayName string // "" = none, which the newer schema has as null and clients show by the name
	Description string
	Category    string
	Essentials  string // the group in which ComfyUI's editor shows the class among the first; "" = none
	Module      string // the Python module that declares the class in ComfyUI: "nodes" or "comfy_extras.nodes_x"

	Inputs        []Input // in definition order
	Outputs       []Output
	OutputNode    bool
	InputIsList   bool
	Deprecated    bool
	Experimental  bool
	Intermediate  bool     // has_intermediate_output
	Partner       bool     // runs a partner model: needs the job's credential, and its runs cost credit
	Lacks         []string // variables that the operator must set before it can run: it is not listed, and graphs with it are refused
	Remote        bool     // only ComfyUI servers have the class: it runs as part of a segment, and Run returns an error
	MoreOutputs   bool     // it may return more values than it declares, and links may read them
	NotIdempotent bool     // a cached result is used only for nodes of the same id
	Uncached      bool     // results differ from call to call: they are not cached
	Version       int      // increment it when the same inputs give other results than before, so that cached results are not used
	SearchAliases []string
	OlderSchema   bool      // declared in ComfyUI's older schema, although its module is one of the newer
	Document      *Document // the definition that clients read; nil = made of the other fields

	// Cost bounds the run time of one call on one slow core, from the pixels of the largest input or output (width ×
	// height × batch) and the constant arguments. For linked arguments, which are absent, it assumes the worst value.
	// Nil = negligible (under 1 ms): its result is at most kept in the memory of one process. A class that saves files or
	// expands must have a cost.
	Cost func(constants Args, pixels int64) time.Duration

	// Pixels bounds the pixels of the largest output, from the constant arguments (linked ones are absent) and the bound
	// of the linked inputs. Nil = the bound of the inputs.
	Pixels func(constants Args, upstream int64) int64

	// Check validates the constant arguments beyond their types and ranges. An error becomes custom_validation_failed with
	// the error's public message. Nil = nothing to check. The inputs in Checked are exempt from the checks of options and
	// ranges.
	Check   func(ctx context.Context, files Files, constants Args) error
	Checked []string

	// Fingerprint identifies state that the constants do not show, such as the content of loaded files. It is part of the
	// node's cache key. Nil = nothing.
	Fingerprint func(ctx context.Context, files Files, constants Args) (string, error)

	// LazyNeeds names the lazy inputs that are needed, given the evaluated arguments. Nil = all.
	LazyNeeds func(args Args) []string

	// Run computes the outputs. It must not keep or change its arguments and must observe ctx in long loops. Only
	// Invocation.Run calls it, because the methods of Call that read arguments may end it. Its errors have a fault.Kind:
	// Invalid (bad input found while running), Exhausted (memory or pixels), Unavailable (another attempt may succeed).
	Run func(ctx context.Context, call *Call) (Result, error)
}

// Call holds all arguments of one run of a node.
type Call struct {
	NodeID       string
	Args         Args
	Lists        map[string]List            // set for an InputIsList class, instead of Args
	Prompt       json.RawMessage            // the submitted graph (hidden input PROMPT)
	ExtraPNGInfo map[string]json.RawMessage // the hidden input EXTRA_PNGINFO
	SubmittedAt  time.Time                  // time of name tokens such as %year%; the same on every attempt
	MaxPixels    int64                      // bound on the pixels of one value; a larger value is Exhausted
	Files        Files
	Live         Live
	Models       Models // set for a Partner class

	// Ran, unless nil, is called with the result of each call of the class, while the node still runs.
	Ran func(Result)
}

// Models runs partner models for one node. A node that runs again because its worker was lost is charged once.
type Models interface {
	// Run sends the body, a JSON object, to a model and waits for its answer. state identifies the catalog for which
	// the body was made, so that the model runs as that catalog defines it. The calls of a node's run are numbered
	// from 0; a repeated run makes the same calls in the same order.
	Run(ctx context.Context, model, state string, body []byte) (ModelAnswer, error)
	// Fetch opens the file at an address in the model's answer.
	Fetch(ctx context.Context, model, address string) (ModelAnswer, error)
}

// ModelAnswer is the answer of a model, or a file that the answer points to. The caller closes Content.
type ModelAnswer struct {
	ContentType string
	Content     io.ReadCloser
}

// Result is the result of a run. Outputs has one value for each declared output. UI is the UI output, which clients
// get in the message "executed": lists by key, such as "images" → File, "text" → string.
type Result struct {
	Outputs []Value
	UI      map[string][]any

	// Expand is a graph that runs in place of the node; outputs may then be a From of it. The same arguments must give
	// the same graph on every attempt.
	Expand *Expansion

	// Calls is set by Invocation.Run, not by classes, if one of the calls expands: the result of each call. The other
	// fields are then empty.
	Calls []Result

	// Blocked is set by Invocation.Run, not by classes, if a Blocker kept a call from running or is part of an output.
	// Message is the message of the Blocker that kept a call from running.
	Blocked bool
	Message string
}

// File names a stored file as the cloud API does.
type File struct {
	Filename  string `json:"filename"`
	Subfolder string `json:"subfolder"`
	Folder    Folder `json:"type"`
}

// Save describes a new file named "<prefix>_<counter>_<suffix>"; see Files.Save.
type Save struct {
	Folder      Folder
	Prefix      string // after token expansion; may contain "/" (subfolder)
	Suffix      string // the name after the counter, such as "_.png" or ".txt"
	ContentType string
	Index       int // number of the file within the call, from 0
	Width       int // of the first image; 0 = not an image
	Height      int
}

// Files gives a job access to the files of its account.
type Files interface {
	// Open opens a file by the name that a graph uses: "name" or "sub/name", with an optional annotation " [input]",
	// " [output]" or " [temp]" (default input), or a resolved asset reference. A missing file is NotFound; a name that
	// leaves its folder is Invalid.
	Open(ctx context.Context, name string) (Content, error)
	// Stat returns the description of a file, under the rules of Open.
	Stat(ctx context.Context, name string) (Info, error)
	// List returns at most limit names in a folder, in order.
	List(ctx context.Context, folder Folder, limit int) ([]string, error)
	// Save stores the bytes that write writes. The counter is 1 + the highest counter in use for the prefix. It is given
	// once for each run, node and index, so that a repeated attempt of the call gets the same name.
	Save(ctx context.Context, save Save, write func(io.Writer) error) (File, error)
}

// Content is an open file.
type Content interface {
	io.ReadSeekCloser
	Info() Info
}

// Info describes a stored file. Hash is the blob's digest, "blake3:<hex>".
type Info struct {
	Name        string
	Hash        string
	Size        int64
	ContentType string
	Pixels      int64 // of the first frame of an image; 0 = unknown
}

// MaxPicture bounds the bytes of a picture that Live sends.
const MaxPicture = 8 << 20

// SentPrefix begins the names of the files that keep pictures which were sent.
const SentPrefix = "websocket"

// Live receives live frames for the clients that watch a job. Frames are never stored and may be dropped.
type Live interface {
	// Progress reports that value of max steps are done.
	Progress(value, max int)
	// Preview sends an encoded image (image/jpeg or image/png) of at most 512 pixels a side.
	Preview(contentType string, data []byte)
	// Picture sends an encoded image (image/jpeg or image/png) of at most MaxPicture bytes in full size, as the
	// result of a node that has no other result. Watching clients get all such images, in order, unless the
	// connection breaks.
	Picture(contentType string, data []byte)
	// Text sends a progress text.
	Text(text string)
}
