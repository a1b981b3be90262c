// Package driving runs one segment of a graph on one ComfyUI server: it uploads the values that the segment reads, sends the prompt,
// follows its execution, and downloads its outputs. It promises two things: a prompt is found again by its id, so a segment whose driver
// was lost continues; and outputs are copied before the segment counts as done. Choosing the server, and another one after a failure, is
// left to the caller.
package driving

import (
	"cmp"
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
	// Saved returns the files that the node has saved so far, in order.
	Saved() []job.OutputFile
}

// Recorder records the events of the nodes of a segment, by their ids in the graph, and of the nodes to which they
// expand on the server, by the server's ids. Calls do not overlap.
type Recorder interface {
	// Started records that a node runs. within is its position if another node expanded to it, otherwise nil.
	Started(ctx context.Context, id string, within *job.Expansion) error
	// Cached records the nodes that the server takes from its own cache.
	Cached(ctx context.Context, ids []string) error
	// Flush makes earlier records visible. It is called several times a second.
	Flush(ctx context.Context) error
	// Executed records that a node ended with success.
	Executed(ctx context.Context, e Executed) error
	// Recorded reports whether the end of a node was recorded by an earlier attempt.
	Recorded(id string) bool
	// Progress, Preview and Text send the state of a running node to watching clients. They may be lost.
	Progress(id string, value, max int)
	Preview(id, contentType string, data []byte)
	Text(id, text string)
	// Message sends a message of a node pack, of a type of its own, to the sockets of the account. It may be lost.
	Message(id, kind string, data []byte)
	// Picture sends a picture that is a result of the node, unreduced. It may be lost; its file is kept.
	Picture(id, contentType string, data []byte)
}

// Executed describes the end of a node.
type Executed struct {
	Node   string
	Within *job.Expansion // set for a node to which another node expanded
	UI     map[string][]any
	Files  []job.OutputFile
	Took   time.Duration
	Cached bool // the server took the result from its own cache
}

// Run is one segment to run on one server.
type Run struct {
	Server    comfyui.Server
	Name      string // of the server; what was learned about the server is stored under this name
	Prompt    comfyui.PromptID
	NewPrompt bool // no earlier driver can have sent the prompt
	Segment   *graph.Segment
	Graph     json.RawMessage       // the submitted graph, for the metadata of saved files; nil = they keep the prompt that was sent
	Inputs    map[string]node.Value // by SegmentIn.From
	Classes   *node.Registry
	Offers    func(class string) bool // reports whether the server has a class; nil = it has ComfyUI's own classes and not the node pack
	Files     func(nodeID string) NodeFiles
	Extra     map[string]json.RawMessage // becomes extra_data of the prompt
	Recorder  Recorder
	Ended     func() // unless nil, called when the prompt has succeeded: its server can run another prompt
	Began     bool   // an earlier driver saw a node of the prompt run
}

// Result is the result of a segment.
type Result struct {
	Outputs []node.Value   // in the order of graph.Segment.Outputs
	Took    time.Duration  // run time of the prompt on the server; for a prompt that was found again, the time since then
	Made    []comfyui.File // files of the prompt on its server that are not needed after the result is recorded
	Ran     string         // after an error, the node of the segment that ran, or whose output was copied; "" = not known
}

// ErrHandedOver is the cause, or in the chain of the cause, of a context that ends because another driver takes over
// the prompt. Drive then returns after its server has closed this driver's socket, because the next driver uses the
// same name.
var ErrHandedOver = errors.New("another driver continues")

// NodeError is the failure of a node on a server.
type NodeError struct{ comfyui.ExecutionError }

// Error implements error.
func (e *NodeError) Error() string { return e.ExecutionError.Error() }

// Options configure a Driver. The zero value works.
type Options struct {
	MaxOutput    int64         // bytes of one file of a server; default 4 GiB
	MaxPixels    int64         // pixels of one value
	Sounds       *ffmpeg.Tool  // reads sounds of servers; nil = sounds are passed on as files
	LostAfter    time.Duration // how long a server may give no answer after its connection broke; default 2 s
	Poll         time.Duration // between two polls of a prompt without messages; default 2 s
	SilenceLimit time.Duration // how long a running prompt may send no message before the socket is opened again; default 10 s
	NodeTimeout  time.Duration // how long a running prompt may send no message before it has failed; 0 = no limit
}

func (o *Options) setDefaults() {
	o.MaxOutput = cmp.Or(o.MaxOutput, 4<<30)
	o.MaxPixels = cmp.Or(o.MaxPixels, raster.DefaultMaxPixels)
	o.LostAfter = cmp.Or(o.LostAfter, 2*time.Second)
	o.Poll = cmp.Or(o.Poll, 2*time.Second)
	o.SilenceLimit = cmp.Or(o.SilenceLimit, 10*time.Second)
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

// resends bounds how often a prompt that did not arrive is sent again.
const resends = 3

// cancelWithin bounds the time for cancelling a prompt on its server.
const cancelWithin = 2 * time.Second

// Drive runs a segment and returns its result. The error is a *NodeError if a node failed and a *comfyui.Refusal if
// the server refused the prompt. It has CodeGivenUp if the server is lost, or has lost the prompt, and CodeNodeTimeout if a node
// sent no sign of progress. If ctx ended, the error is the cause of ctx; the prompt then continues, until the next driver finds
// it or Cancel cancels it.
func (d *Driver) Drive(ctx context.Context, r Run) (Result, error) {
	c, err := d.compile(&r)
	if err != nil {
		return Result{}, serverLost(ctx, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := newFollower(d, &r, c)
	outcome, err := f.run(ctx)
	if err != nil {
		return Result{Ran: f.ran(), Made: f.made()}, serverLost(ctx, err)
	}
	res := Result{Took: time.Since(f.began)}
	if res.Outputs, err = f.outputs(ctx, outcome); err != nil {
		return Result{Ran: f.ran(), Made: f.made()}, serverLost(ctx, err)
	}
	res.Made = append(f.made(), f.exported(outcome)...)
	return res, nil
}

// Cancel removes a waiting prompt, or interrupts a running one. It reports whether the prompt may still be running, because an interrupt
// takes effect only between nodes or steps.
func (d *Driver) Cancel(ctx context.Context, s comfyui.Server, id comfyui.PromptID) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	runs, err := s.Cancel(ctx, id)
	return runs || err != nil
}

// serverLost converts errors that mean the loss of a server to CodeGivenUp.
func serverLost(ctx context.Context, err error) error {
	if ctx.Err() != nil && context.Cause(ctx) != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	switch fault.CodeOf(err) {
	case fault.CodeServerUnreachable, fault.CodeServerLost, fault.CodeServerSilent, fault.CodeServerError, fault.CodeServerGarbage,
		fault.CodeServerCertificate, fault.CodeServerRedirect, fault.CodeServerDenied, fault.CodeNotComfyUI, fault.CodeServerTooOld:
		return givenUp(err, "the server is lost")
	}
	return err
}

// givenUp wraps an error. Its message, which clients read, has that of the error without what names the address of the server: its cause,
// the target of a redirect, and the names of a certificate.
func givenUp(err error, why string) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Code != fault.CodeServerRedirect && f.Code != fault.CodeServerCertificate {
		why += ": " + f.Message
	}
	return fault.Wrap(err, fault.Unavailable, fault.CodeServerGivenUp, "%s", why)
}
