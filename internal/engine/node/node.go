// Package node defines the port of node classes: what a class declares (inputs,
// outputs, cost) and what it is given when it runs. A class is plain data plus a
// few functions, registered in a Registry; the families below this package hold
// the classes and node/standard lists them. Scheduling, storage and events are
// not its business.
package node

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Type is the name of an input or output type as graphs spell it.
type Type string

// The types that native classes exchange. A class may declare others; a graph
// connects equal names, or Any with everything.
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
	Any         Type = "*"
)

// Section says where an input stands in a definition.
type Section uint8

// The sections of a definition.
const (
	Required Section = iota
	Optional
	Hidden
)

// Input declares one input of a class. Min, Max, Step and Default are int, float64,
// string or bool, as they are to appear in the definition; nil means undeclared.
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
	Multiline      bool
	Placeholder    string
	DynamicPrompts bool
	Lazy           bool // evaluated only when LazyNeeds names it
	ForceInput     bool
	Advanced       bool
	Control        any    // control_after_generate: bool or a mode name; nil = undeclared
	MatchTemplate  string // template id of a COMFY_MATCHTYPE_V3 input; "" = none
	Tooltip        string
	Extra          map[string]any // further option keys, such as image_upload
}

// Output declares one output of a class.
type Output struct {
	Type    Type
	Name    string // "" = the type's name
	IsList  bool
	Tooltip string

	MatchTemplate string // template id of a COMFY_MATCHTYPE_V3 output; "" = none
}

// Folder is a namespace of files as the cloud contract names it.
type Folder string

// The three folders of an account.
const (
	FolderInput  Folder = "input"
	FolderOutput Folder = "output"
	FolderTemp   Folder = "temp"
)

// Value is what flows over an edge: *raster.Image, *raster.Mask, *media.Sound, *media.Video, int64, float64,
// string, bool, a List of values, decoded JSON (map[string]any, []any), or a Blocker. Values are immutable once returned.
type Value any

// List is a list-valued output (IsList); consumers are mapped over it.
type List []Value

// Args are the arguments of one call by input name. Absent optional inputs are absent keys.
type Args map[string]Value

// Class is one node class. The zero values of the optional parts are sound.
type Class struct {
	Name        string
	DisplayName string
	Description string
	Category    string
	Module      string // "nodes" or "comfy_extras.nodes_x", where the original stands

	Inputs        []Input // in definition order
	Outputs       []Output
	OutputNode    bool
	InputIsList   bool
	Deprecated    bool
	Experimental  bool
	Intermediate  bool // has_intermediate_output
	Partner       bool // runs a model of a partner: needs the job's credential, and what it gives is paid for
	NotIdempotent bool // results are shared between nodes of one id only
	Uncached      bool // results differ from call to call: no run is spared for an earlier one's result
	Version       int  // raised when the same inputs give other results than before
	SearchAliases []string

	// Cost bounds the run time of one call over an input or output of that many
	// pixels in all (width × height × batch), on one slow core, given the constant arguments (linked
	// ones are absent, and count as the worst). Nil = negligible (under 1 ms).
	Cost func(constants Args, pixels int64) time.Duration

	// Pixels bounds the pixels of the largest output, given the constant arguments
	// (linked ones are absent) and the bound of the linked inputs. Nil = upstream unchanged.
	Pixels func(constants Args, upstream int64) int64

	// Check validates constant arguments beyond types and ranges. A failure becomes
	// custom_validation_failed with the error's public message as text. Nil = nothing to check.
	// Inputs named in Checked are exempt from the list and range checks.
	Check   func(ctx context.Context, files Files, constants Args) error
	Checked []string

	// Fingerprint identifies what the constants do not show, such as the content of
	// loaded files; it enters the node's cache signature. Nil = nothing.
	Fingerprint func(ctx context.Context, files Files, constants Args) (string, error)

	// LazyNeeds names the lazy inputs that args (the evaluated ones) make necessary. Nil = all.
	LazyNeeds func(args Args) []string

	// Run computes the outputs. It must not keep or change its arguments, must observe ctx
	// in long loops, and returns errors classified with fault: Invalid (bad input found while
	// running), Exhausted (memory or pixels), Unavailable (worth another attempt).
	Run func(ctx context.Context, call *Call) (Result, error)
}

// Call is everything one run of a node is given.
type Call struct {
	NodeID       string
	Args         Args
	Lists        map[string]List            // of an InputIsList class, instead of Args
	Prompt       json.RawMessage            // the graph as submitted (hidden PROMPT)
	ExtraPNGInfo map[string]json.RawMessage // hidden EXTRA_PNGINFO
	SubmittedAt  time.Time                  // clock of name tokens such as %year%; the same on every attempt
	MaxPixels    int64                      // bound on the pixels of any one value; exceeding it is Exhausted
	Files        Files
	Live         Live
	Models       Models // of a Partner class; nil elsewhere

	// Ran, unless nil, is told what each call of a mapped or other class gave, while the node still runs.
	Ran func(Result)
}

// Models runs models of partners on behalf of one node. A run that is repeated, because its worker was
// lost, pays once.
type Models interface {
	// Run sends the body, a JSON object, to a model and waits for its answer. State names the catalog
	// that the body was made for: the model runs as it was defined there. Every call of one node's
	// run has a number of its own, from 0; a repeated run makes the same calls in the same order.
	Run(ctx context.Context, model, state string, body []byte) (ModelAnswer, error)
	// Fetch opens what an address in the model's answer points to.
	Fetch(ctx context.Context, model, address string) (ModelAnswer, error)
}

// ModelAnswer is what a model gave, or a file that its answer points to. Content is to be closed.
type ModelAnswer struct {
	ContentType string
	Content     io.ReadCloser
}

// Result is what a run returns. Outputs has one value per declared output. UI holds what
// `executed` shows: key → list, such as "images" → File, "text" → string.
type Result struct {
	Outputs []Value
	UI      map[string][]any

	// Expand is a graph that is to run in the node's place; outputs may then be a From of it. The same
	// arguments give the same graph, on every attempt.
	Expand *Expansion

	// Calls is set by Invocation.Run, not by classes: where one of the calls expands, the result of each. The rest of
	// the result is empty then.
	Calls []Result

	// Blocked is set by Invocation.Run, not by classes: a call did not run because of a Blocker, or an
	// output is or has one. Message is what a blocker that kept a call from running had to say.
	Blocked bool
	Message string
}

// File names a stored file as clients see it (cloud contract, file descriptor).
type File struct {
	Filename  string `json:"filename"`
	Subfolder string `json:"subfolder"`
	Folder    Folder `json:"type"`
}

// Save asks for a new file named "<prefix>_<counter>_<suffix>"; see Files.Save.
type Save struct {
	Folder      Folder
	Prefix      string // after token expansion; may contain "/" (subfolder)
	Suffix      string // from behind the counter, such as "_.png" or ".txt"
	ContentType string
	Index       int // which file of this call, from 0
	Width       int // of the first image, 0 = not an image
	Height      int
}

// Files is a job's view of its account's files.
type Files interface {
	// Open returns the bytes of a file by the name a graph uses: "name", "sub/name", with an
	// optional " [input]", " [output]" or " [temp]" annotation (default input), or an asset
	// reference already resolved. Absent is NotFound; a name that escapes its folder is Invalid.
	Open(ctx context.Context, name string) (Content, error)
	// Stat is Open without the bytes.
	Stat(ctx context.Context, name string) (Info, error)
	// List returns the names in a folder in order, at most limit.
	List(ctx context.Context, folder Folder, limit int) ([]string, error)
	// Save stores what write produces. The counter is 1 + the highest in use for the prefix,
	// allotted once per (run, node, index), so that another attempt of the same call gets the same name.
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
	Pixels      int64 // of an image's first frame, 0 = unknown
}

// Live receives what only watchers see: it is never stored and may be dropped.
type Live interface {
	// Progress says that value of max steps are done.
	Progress(value, max int)
	// Preview shows an encoded image (image/jpeg or image/png) of at most 512 pixels a side.
	Preview(contentType string, data []byte)
	// Text shows progress text.
	Text(text string)
}
