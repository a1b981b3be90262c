// Package driving runs one segment of a graph on one ComfyUI server: it moves in what the segment reads, sends it as a
// prompt, follows the execution, and moves out what it made. It keeps one promise: a prompt is found again by its id,
// so that a segment whose driver was lost goes on where it was, and what a server gave is copied before the segment
// counts as done. Which server runs a segment, and whether another one takes over, is left to its caller.
package driving

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/millrace-dev/millrace/internal/comfyui"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/fault"
)

// NodeFiles are the files of one node of one run.
type NodeFiles interface {
	node.Files
	// Saved returns what the node has saved so far, in order.
	Saved() []job.OutputFile
}

// Recorder records what happens to the nodes of a segment, by their ids in the graph, and to the nodes that these expand to
// on the server, by the ids that the server gives them. Calls do not overlap.
type Recorder interface {
	// Started says that a node runs. within is its place if another node expanded to it, otherwise nil.
	Started(ctx context.Context, id string, within *job.Expansion) error
	// Cached says which nodes the server answers from its own cache.
	Cached(ctx context.Context, ids []string) error
	// Settle is called several times a second: what was said before is to be seen now.
	Settle(ctx context.Context) error
	// Executed says that a node ended well.
	Executed(ctx context.Context, e Executed) error
	// Recorded reports whether the end of a node was recorded by an earlier attempt.
	Recorded(id string) bool
	// Progress, Preview and Text show a running node to watchers; they may be lost.
	Progress(id string, value, max int)
	Preview(id, contentType string, data []byte)
	Text(id, text string)
}

// Executed is the end of a node.
type Executed struct {
	Node   string
	Within *job.Expansion // of a node that another node expanded to
	UI     map[string][]any
	Files  []job.OutputFile
	Took   time.Duration
	Cached bool // the server answered it from its own cache
}

// Run is one segment to run on one server.
type Run struct {
	Server   comfyui.Server
	Name     string // of the server, in what is remembered of it
	Prompt   comfyui.PromptID
	Fresh    bool // no driver can have sent the prompt before
	Segment  *graph.Segment
	Graph    json.RawMessage       // as it was submitted, for the metadata of saved files; nil = they keep the prompt
	Inputs   map[string]node.Value // by the names of SegmentIn.From
	Classes  *node.Registry
	Offers   func(class string) bool // whether the server has a class; nil = it has the original's and not those of the node pack
	Files    func(nodeID string) NodeFiles
	Extra    map[string]json.RawMessage // extra_data of the prompt
	Recorder Recorder
	Ended    func() // unless nil, called when the prompt has ended well: its server can take another one
}

// Result is what a segment made.
type Result struct {
	Outputs []node.Value  // in the order of graph.Segment.Outputs
	Took    time.Duration // of the prompt on the server, from its start; of a prompt found again, since it was found
}

// ErrHandedOver is the cause, or in the chain of the cause, of a context that ends because another driver goes on with the
// prompt. Drive then returns when its server has let go of this driver's socket: the next one uses the same name.
var ErrHandedOver = errors.New("another driver continues")

// NodeError is the failure of a node on a server.
type NodeError struct{ comfyui.ExecutionError }

// Error implements error.
func (e *NodeError) Error() string { return e.ExecutionError.Error() }

// Options bound a Driver. The zero value works.
type Options struct {
	MaxOutput int64         // of one file that a server gives; default 4 GiB
	MaxPixels int64         // of one value
	Sounds    *ffmpeg.Tool  // reads the sounds of servers; nil = they are passed on as files
	LostAfter time.Duration // without an answer since the connection broke; default 2 s
	Poll      time.Duration // between two polls of a prompt without messages; default 2 s
	Quiet     time.Duration // without a message of a prompt that runs, after which the socket is opened anew; default 10 s
}

func (o *Options) setDefaults() {
	if o.MaxOutput == 0 {
		o.MaxOutput = 4 << 30
	}
	if o.MaxPixels == 0 {
		o.MaxPixels = raster.DefaultMaxPixels
	}
	if o.LostAfter == 0 {
		o.LostAfter = 2 * time.Second
	}
	if o.Poll == 0 {
		o.Poll = 2 * time.Second
	}
	if o.Quiet == 0 {
		o.Quiet = 10 * time.Second
	}
}

// Driver runs segments.
type Driver struct {
	opts     Options
	uploaded *uploads
}

// New returns a driver.
func New(opts Options) *Driver {
	opts.setDefaults()
	return &Driver{opts: opts, uploaded: newUploads()}
}

// resends bounds how often a prompt is sent that its server has forgotten.
const resends = 3

// cancelWithin bounds telling a server that a prompt is not wanted any more.
const cancelWithin = 2 * time.Second

// Drive runs a segment and returns what it made. The error is a *NodeError when a node failed, a *comfyui.Refusal
// when the server refused the prompt, has CodeGivenUp when the server is lost, and is the cause of ctx when that
// ended; the prompt then goes on, to be found by the next driver, or cancelled by Cancel.
func (d *Driver) Drive(ctx context.Context, r Run) (Result, error) {
	c, err := d.compile(&r)
	if err != nil {
		return Result{}, given(ctx, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := newFollower(d, &r, c)
	outcome, err := f.run(ctx)
	if err != nil {
		return Result{}, given(ctx, err)
	}
	res := Result{Took: time.Since(f.began)}
	if res.Outputs, err = f.outputs(ctx, outcome); err != nil {
		return Result{}, given(ctx, err)
	}
	return res, nil
}

// Cancel takes a prompt from its server, whether it waits or runs.
func (d *Driver) Cancel(ctx context.Context, s comfyui.Server, id comfyui.PromptID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	_, err := s.Cancel(ctx, id)
	return err
}

// given turns the failures by which a server is lost into CodeGivenUp.
func given(ctx context.Context, err error) error {
	if ctx.Err() != nil && context.Cause(ctx) != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	switch fault.CodeOf(err) {
	case fault.CodeServerUnreachable, fault.CodeServerLost, fault.CodeServerSilent, fault.CodeServerError, fault.CodeServerGarbage,
		fault.CodeServerCertificate, fault.CodeServerRedirect, fault.CodeServerDenied, fault.CodeNotComfyUI, fault.CodeServerTooOld:
		return fault.Wrap(err, fault.Unavailable, fault.CodeServerGivenUp, "the server is lost: %s", err.Error())
	}
	return err
}
