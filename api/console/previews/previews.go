// Package previews shows in the console the newest preview of a running job, a picture that a ComfyUI server or a
// slow node sends while it works. It promises that an account sees only previews of its own jobs, and that no preview
// is stored or cached. Other packages serve the outputs of jobs.
package previews

import (
	"context"
	"errors"
	"hash/crc32"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/limit"
	"github.com/millrace-dev/millrace/api/live"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
)

// Preview is the newest picture that a running node has sent.
type Preview struct {
	Node string // id of the node in the graph of the job
	Seen string // differs between pictures
}

const (
	// responseTimeout is how long a request waits for a picture: it may reach another process than the one that served the
	// page, and that process receives messages about the account only from now on.
	responseTimeout = 2 * time.Second
	// maxWaiting bounds the waiting requests of an account.
	maxWaiting = 8
)

// Deps are the dependencies of the previews.
type Deps struct {
	Page *page.Server
	Live live.Source                                       // nil = there are no previews
	Find func(*gin.Context, page.Visitor) (job.Job, error) // the job of a visitor that the path names
}

// Previews serves the newest preview of each running job.
type Previews struct {
	Deps
	waiting *limit.Connections
}

// New returns the previews.
func New(deps Deps) *Previews {
	return &Previews{Deps: deps, waiting: limit.NewConnections(maxWaiting)}
}

// Routes returns the route of the newest preview of a job.
func (p *Previews) Routes() []edge.Route {
	return []edge.Route{p.Page.File("/jobs/:id/preview", page.ReadOne, p.serve)}
}

// Of returns the current preview of a job, or nil if there is none. It does not wait.
func (p *Previews) Of(ctx context.Context, j job.Job) (*Preview, error) {
	f, err := p.newest(ctx, j, 0)
	if f == nil || err != nil {
		return nil, err
	}
	_, node, _ := f.Within.Places(f.Node)
	return &Preview{Node: node, Seen: strconv.FormatUint(uint64(crc32.ChecksumIEEE(f.Data)), 36)}, nil
}

// serve answers with the newest preview of a job: GET /console/jobs/{id}/preview.
func (p *Previews) serve(c *gin.Context, v page.Visitor) error {
	j, err := p.Find(c, v)
	if err != nil {
		return err
	}
	wait := time.Duration(0)
	if p.waiting.Acquire(v.Account) {
		defer p.waiting.Release(v.Account)
		wait = responseTimeout
	}
	f, err := p.newest(c.Request.Context(), j, wait)
	if err != nil {
		return err
	}
	if f == nil {
		return fault.New(fault.NotFound, fault.CodeNotFound, "This job has no preview now.")
	}
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Data(http.StatusOK, f.ContentType, f.Data)
	return nil
}

// newest returns the newest preview of a job, or the first one that arrives within wait, or nil.
func (p *Previews) newest(ctx context.Context, j job.Job, wait time.Duration) (*stream.Frame, error) {
	if j.State != job.Running {
		return nil, nil
	}
	sub, snap, err := p.Live.Subscribe(ctx, j.Account)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	at := slices.IndexFunc(snap.Jobs, func(l stream.Live) bool { return l.Job.ID == j.ID })
	if at < 0 {
		return nil, nil // the job has ended
	}
	if m := snap.Jobs[at].Preview; m != nil {
		return m.Frame, nil
	}
	if wait == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return next(ctx, sub, j.ID)
}

// next waits for a preview of a job. It returns nil when the job ends or ctx does.
func next(ctx context.Context, sub *stream.Subscription, of job.ID) (*stream.Frame, error) {
	for {
		messages, err := sub.Next(ctx)
		var closed *stream.Closed
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &closed) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch {
			case m.Job != of:
			case m.Frame != nil && m.Frame.Kind == stream.FramePreview:
				return m.Frame, nil
			case m.State != nil && m.State.State.Final():
				return nil, nil
			}
		}
	}
}
