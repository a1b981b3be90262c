package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/gate"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// queues reports queues that are paused, draining or stopped, because an operator may have forgotten them.
func (d databaseDoctor) queues(ctx context.Context) (Finding, error) {
	states, err := accountstore.NewGates(d.pool, nil).States(ctx, MaxQueues)
	if err != nil {
		return Finding{}, err
	}
	names, err := operate.AccountNames(ctx, d.pool)
	if err != nil {
		return Finding{}, err
	}
	var waiting int64
	var closed []string
	remedy := ""
	for _, st := range states {
		if st.Account != gate.All {
			waiting += st.Queued
		}
		if st.Mode == gate.Open {
			continue
		}
		closed = append(closed, closedQueue(st, names))
		if remedy == "" {
			remedy = resumeOf(st, names)
		}
	}
	if len(closed) == 0 {
		return Finding{Status: Healthy, Detail: fmt.Sprintf("all are open, %d jobs wait", waiting)}, nil
	}
	return Finding{
		Status: Warning, Remedy: remedy,
		Detail: fmt.Sprintf("%d not open, %d jobs wait in all: %s", len(closed), waiting,
			strings.Join(closed[:min(len(closed), shownSlots)], "; ")),
	}, nil
}

func closedQueue(st gate.State, names map[string]string) string {
	text := fmt.Sprintf("%s %s", ownerName(st.Account, names), st.Mode)
	if st.Since != nil {
		text += " since " + st.Since.UTC().Format(time.DateTime)
	}
	if st.Reason != "" {
		text += " (" + terminal.Clean(st.Reason) + ")"
	}
	return text
}

func resumeOf(st gate.State, names map[string]string) string {
	if st.Account == gate.All {
		return "to open it again: millrace queue resume --reason WHY"
	}
	return fmt.Sprintf("to open it again: millrace queue resume --account %s --reason WHY", ownerName(st.Account, names))
}

func ownerName(account string, names map[string]string) string {
	if account == gate.All {
		return "all accounts"
	}
	if name := names[account]; name != "" {
		return terminal.Clean(name)
	}
	return terminal.Clean(account)
}

// silentAfter is the time for which a running job may record no event. The longest native nodes take minutes, and the
// deadline of a model call is far shorter.
const silentAfter = 30 * time.Minute

// silentJobs finds running jobs that have recorded no event for silentAfter. A node's heartbeats go to Temporal; when they
// stop, Temporal runs the node on another worker, which records an event.
func (d databaseDoctor) silentJobs(ctx context.Context) (Finding, error) {
	found, err := operatestore.New(d.pool).SilentJobs(ctx, silentAfter, MaxQueues)
	if err != nil {
		return Finding{}, err
	}
	if len(found) == 0 {
		return Finding{Status: Healthy, Detail: "every running job has recorded an event within " + inspect.Span(silentAfter)}, nil
	}
	first := found[0]
	last := "no event"
	if first.Last != "" {
		last = "last " + first.Last
	}
	return Finding{
		Status: Warning,
		Detail: fmt.Sprintf("%d running jobs record no events; %s for %s, %s", len(found), first.Job, inspect.Span(first.For), last),
		Remedy: fmt.Sprintf("see its progress: millrace jobs show %s --workflow; if its workflow no longer exists: millrace jobs requeue %s; "+
			"to stop it: millrace jobs cancel %s",
			first.Job, first.Job, first.Job),
	}, nil
}

const (
	// maxWalked bounds the number of blobs that the doctor checks. The sweep of the workers checks all.
	maxWalked = 20_000
	// orphanAge is the age from which the sweep should have removed a blob without a reference: twice its grace
	// period and its interval.
	orphanAge = 4 * time.Hour
	// orphanBatch is the number of blobs in one query.
	orphanBatch = 500
	// orphanWarn is the number of unreferenced blobs from which the check warns.
	orphanWarn = 1
)

// errStopWalk ends a walk.
var errStopWalk = errors.New("enough")

// orphans counts unreferenced blobs.
type orphans struct {
	refs     asset.References
	cutoff   time.Time
	batch    []blob.Entry
	seen     int
	orphaned int
	bytes    int64
}

func (o *orphans) examine(ctx context.Context, e blob.Entry) error {
	if o.seen == maxWalked || ctx.Err() != nil {
		return errStopWalk
	}
	o.seen++
	if e.Touched.After(o.cutoff) {
		return nil
	}
	if o.batch = append(o.batch, e); len(o.batch) < orphanBatch {
		return nil
	}
	return o.checkBatch(ctx)
}

func (o *orphans) checkBatch(ctx context.Context) error {
	refs := make([]blob.Ref, len(o.batch))
	for i, e := range o.batch {
		refs[i] = e.Ref
	}
	needed, err := o.refs.Referenced(ctx, refs)
	if err != nil {
		return err
	}
	for _, e := range o.batch {
		if !needed[e.Ref] {
			o.orphaned++
			o.bytes += e.Size
		}
	}
	o.batch = o.batch[:0]
	return nil
}

// orphans counts unreferenced blobs that should have been collected, in a bounded walk.
func (d blobDoctor) orphans(ctx context.Context) (Finding, error) {
	store, err := d.store(ctx)
	if errors.Is(err, operate.ErrNoDataDir) {
		return Finding{Status: Healthy, Detail: "not checked: the data directory is not on this machine"}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	o := orphans{
		refs:   asset.AnyOf{assetstore.New(d.pool, nil), callstore.New(d.pool, nil, nil)},
		cutoff: time.Now().Add(-orphanAge),
	}
	walk, stop := context.WithTimeout(ctx, doctorTimeout/2)
	defer stop()
	err = store.Walk(walk, func(e blob.Entry) error { return o.examine(ctx, e) })
	if err != nil && !errors.Is(err, errStopWalk) && (walk.Err() == nil || o.seen == 0) {
		return Finding{}, err
	}
	if len(o.batch) > 0 {
		if err := o.checkBatch(ctx); err != nil {
			return Finding{}, err
		}
	}
	return o.finding(err != nil), nil
}

func (o *orphans) finding(cut bool) Finding {
	walked := fmt.Sprintf("%d blobs", o.seen)
	if cut {
		walked = fmt.Sprintf("the first %d blobs", o.seen)
	}
	f := Finding{
		Status: grade(o.orphaned, orphanWarn, maxWalked+1),
		Detail: fmt.Sprintf("%d of %s, %.1f MiB, have been unreferenced for over %s", o.orphaned, walked, float64(o.bytes)/(1<<20),
			inspect.Span(orphanAge)),
	}
	return f.with("workers collect them every hour: check that a worker runs, and its log for errors of the sweep")
}

// MaxQueues bounds a listing of queues.
const MaxQueues = 1000
