// Package previews shows in the console what a running node has made so far: the newest of the pictures that ComfyUI
// servers and slow nodes send while they work. It promises that an account sees those of its own jobs only, and that
// nothing of them is stored or stays in a cache. What a job has made in the end is served by others.
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
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/internal/web/console"
)

const (
	// patience is how long a request waits for a picture: the process that sent the page may be another than this one,
	// which hears of the account's jobs only from now on.
	patience = 2 * time.Second
	// maxWaiting is how many requests of an account may wait so.
	maxWaiting = 8
)

// Deps are the parts behind the previews.
type Deps struct {
	Page *page.Server
	Live page.Source                                       // nil = there are no previews
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

// Of returns what a job shows now, nil if that is nothing. It does not wait for a preview.
func (p *Previews) Of(ctx context.Context, j job.Job) (*console.Preview, error) {
	f, err := p.newest(ctx, j, 0)
	if f == nil || err != nil {
		return nil, err
	}
	_, node, _ := f.Within.Places(f.Node)
	return &console.Preview{Node: node, Seen: strconv.FormatUint(uint64(crc32.ChecksumIEEE(f.Data)), 36)}, nil
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
		wait = patience
	}
	f, err := p.newest(c.Request.Context(), j, wait)
	if err != nil {
		return err
	}
	if f == nil {
		return fault.New(fault.NotFound, fault.CodeNotFound, "This job shows no picture now.")
	}
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.Data(http.StatusOK, f.ContentType, f.Data)
	return nil
}

// newest returns the newest preview of a job, or the next one that comes within some time; nil if there is none.
func (p *Previews) newest(ctx context.Context, j job.Job, wait time.Duration) (*stream.Frame, error) {
	if p.Live == nil || j.State != job.Running {
		return nil, nil
	}
	sub, snap, err := p.Live.Subscribe(ctx, j.Account)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	at := slices.IndexFunc(snap.Jobs, func(l stream.Live) bool { return l.Job.ID == j.ID })
	if at < 0 {
		return nil, nil // it has ended meanwhile
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

// next waits for a preview of a job. There is none when the job or the time ends.
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
