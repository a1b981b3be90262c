//go:build linux

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/blake3"
	"golang.org/x/sync/errgroup"
)

// Verdict is the outcome of an entry.
type Verdict string

// The verdicts.
const (
	Right   Verdict = "right"
	Lost    Verdict = "lost"
	Doubled Verdict = "doubled"
	Failed  Verdict = "failed" // through a fault of the service
	// Uncertain is a request whose sender was killed after it was sent and before its answer was recorded. It is not
	// sent again, and its answer says so, because nobody can know whether it was carried out.
	Uncertain Verdict = "uncertain"
	Refused   Verdict = "refused" // the request was never accepted, and no part of its work was done twice
)

// Entry is one request to the service.
type Entry struct {
	Kind     string // jobs, uploads, calls, deployments or classes
	Name     string
	ID       string
	Accepted bool // the service has accepted the request
	Cut      bool // the load ended while the client waited for the answer
	content  []byte
	once     bool // the only answer to its key was given

	Verdict Verdict
	Why     string
}

// Ledger records, outside of the service, all requests and whether they were accepted.
type Ledger struct {
	Mode string // mode of the deployment, the prefix of every name

	mu      sync.Mutex // guards Entries
	Entries []*Entry
}

// Add records an entry.
func (l *Ledger) Add(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Entries = append(l.Entries, e)
}

// Len returns the number of entries.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.Entries)
}

// Settle waits, until ctx ends, for the end of all accepted work, and judges each entry.
func (l *Ledger) Settle(ctx context.Context, c *Client, p *Provider) {
	var group errgroup.Group
	group.SetLimit(judges)
	for _, e := range l.Entries {
		group.Go(func() error {
			e.Verdict, e.Why = e.await(ctx, c, p)
			return nil
		})
	}
	_ = group.Wait() // the goroutines return no errors
}

// judges is the number of entries that are judged concurrently.
const judges = 8

// await judges an entry when it has ended. An entry that does not end is lost.
func (e *Entry) await(ctx context.Context, c *Client, p *Provider) (Verdict, string) {
	for {
		verdict, why := e.judge(ctx, c, p)
		if verdict != "" {
			return verdict, why
		}
		if !Pause(ctx, 200*time.Millisecond) {
			return Lost, "it did not end: " + why
		}
	}
}

// judge compares an entry with the records of the service and the provider; "" = it has not ended yet.
func (e *Entry) judge(ctx context.Context, c *Client, p *Provider) (Verdict, string) {
	if n := p.Ordered(e.Name); n > 1 {
		return Doubled, fmt.Sprintf("the provider was asked %d times", n)
	}
	switch {
	case e.Kind == "jobs":
		return e.judgeJob(ctx, c)
	case e.Kind == "deployments":
		return e.judgeDeployment(ctx, c)
	case e.Kind == "classes":
		return e.judgeOnce(ctx, c)
	case !e.Accepted:
		return Refused, ""
	case e.Kind == "uploads":
		return e.judgeUpload(ctx, c)
	default:
		return e.judgeCall(ctx, c, p)
	}
}

func (e *Entry) judgeJob(ctx context.Context, c *Client) (Verdict, string) {
	again, err := c.hasFile(ctx, e.Name+"_00002_.png")
	if err != nil {
		return "", err.Error()
	}
	if again {
		return Doubled, "it saved its picture twice"
	}
	if !e.Accepted {
		return Refused, ""
	}
	state := c.State(ctx, e.ID)
	switch state {
	case "unknown":
		return Lost, "the service does not know it"
	case "completed", "failed", "cancelled":
	default:
		return "", "state " + state
	}
	names, failure, err := c.outputs(ctx, e.ID)
	switch {
	case err != nil:
		return "", err.Error()
	case state == "failed" && strings.Contains(failure, "retry the job to send a new request"):
		return Uncertain, ""
	case state != "completed":
		return Failed, state + " " + failure
	case len(names) != 1 || names[0] != e.Name+"_00001_.png":
		return Failed, fmt.Sprintf("its outputs are %v", names)
	}
	there, err := c.hasFile(ctx, names[0])
	switch {
	case err != nil:
		return "", err.Error()
	case !there:
		return Lost, "its file is not there"
	}
	return Right, ""
}

func (e *Entry) judgeUpload(ctx context.Context, c *Client) (Verdict, string) {
	status, body := c.Send(ctx, http.MethodGet, "/api/v2/assets/"+e.ID, nil)
	switch {
	case status == http.StatusNotFound:
		return Lost, "the service does not know it"
	case status != http.StatusOK:
		return "", fmt.Sprintf("status %d: %s", status, body)
	}
	sum := blake3.Sum256(e.content)
	if !bytes.Contains(body, fmt.Appendf(nil, "%x", sum)) {
		return Lost, "its hash is another: " + string(body)
	}
	var asset struct{ URL string }
	if err := json.Unmarshal(body, &asset); err != nil {
		return Failed, err.Error()
	}
	status, content := c.Send(ctx, http.MethodGet, c.ours(asset.URL), nil)
	switch {
	case status == http.StatusNotFound:
		return Lost, "its bytes are not there"
	case status != http.StatusOK:
		return "", fmt.Sprintf("status %d: %s", status, content)
	case !bytes.Equal(content, e.content):
		return Lost, "its bytes are others"
	}
	return Right, ""
}

func (e *Entry) judgeCall(ctx context.Context, c *Client, p *Provider) (Verdict, string) {
	status, body := c.Result(ctx, e.ID)
	switch {
	case status == http.StatusNotFound:
		return Lost, "the service does not know it"
	case status == http.StatusOK && p.Ordered(e.Name) == 1:
		return Right, ""
	case status == http.StatusOK:
		return Lost, "it is answered, and the provider was not asked"
	case status == 0, status == http.StatusAccepted, status == http.StatusServiceUnavailable:
		return "", fmt.Sprintf("status %d: %s", status, body)
	case bytes.Contains(body, []byte("does not send it again")), bytes.Contains(body, []byte("is not sent again")):
		return Uncertain, ""
	}
	return Failed, fmt.Sprintf("status %d: %s", status, body)
}

// Counts returns the number of entries of a kind, by verdict.
func (l *Ledger) Counts(kind string) (all, accepted int, by map[Verdict]int) {
	by = map[Verdict]int{}
	for _, e := range l.Entries {
		if e.Kind != kind {
			continue
		}
		all++
		by[e.Verdict]++
		if e.Accepted {
			accepted++
		}
	}
	return all, accepted, by
}
