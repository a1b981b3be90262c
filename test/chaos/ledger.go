//go:build linux

package main

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

// verdict is what became of an entry.
type verdict string

const (
	kept    verdict = "right"
	lost    verdict = "lost"
	doubled verdict = "doubled"
	failed  verdict = "failed" // for a reason of ours
	// uncertain is a request whose sender was killed after it was sent and before its answer was kept. It is not sent
	// again, and says so: nobody can know whether it was carried out.
	uncertain verdict = "uncertain"
	refused   verdict = "refused" // it was never accepted, and nothing of it was done twice
)

// entry is one thing that was asked of the service.
type entry struct {
	kind     string // jobs, uploads or calls
	name     string
	id       string
	accepted bool // the service said that it keeps it
	content  []byte

	verdict verdict
	why     string
}

// ledger notes, outside of the service, what was asked of it and what it accepted.
type ledger struct {
	mode string

	mu      sync.Mutex // guards entries
	entries []*entry
}

func (l *ledger) add(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// settle waits until everything that was accepted has ended, as long as ctx lasts, and judges each entry.
func (l *ledger) settle(ctx context.Context, c *client, p *provider) {
	var group errgroup.Group
	group.SetLimit(judges)
	for _, e := range l.entries {
		group.Go(func() error {
			e.verdict, e.why = e.await(ctx, c, p)
			return nil
		})
	}
	group.Wait() // it returns none
}

// judges is how many entries are judged at once.
const judges = 8

// await judges an entry once it has ended; one that does not end is lost.
func (e *entry) await(ctx context.Context, c *client, p *provider) (verdict, string) {
	for {
		verdict, why := e.judge(ctx, c, p)
		if verdict != "" {
			return verdict, why
		}
		if !pause(ctx, 200*time.Millisecond) {
			return lost, "it did not end: " + why
		}
	}
}

// judge holds an entry against what the service and the provider say; "" = it has not ended yet.
func (e *entry) judge(ctx context.Context, c *client, p *provider) (verdict, string) {
	if n := p.ordered(e.name); n > 1 {
		return doubled, fmt.Sprintf("the provider was asked %d times", n)
	}
	switch {
	case e.kind == "jobs":
		return e.judgeJob(ctx, c)
	case !e.accepted:
		return refused, ""
	case e.kind == "uploads":
		return e.judgeUpload(ctx, c)
	default:
		return e.judgeCall(ctx, c, p)
	}
}

func (e *entry) judgeJob(ctx context.Context, c *client) (verdict, string) {
	again, err := c.hasFile(ctx, e.name+"_00002_.png")
	if err != nil {
		return "", err.Error()
	}
	if again {
		return doubled, "it saved its picture twice"
	}
	if !e.accepted {
		return refused, ""
	}
	state := c.state(ctx, e.id)
	switch state {
	case "unknown":
		return lost, "the service does not know it"
	case "completed", "failed", "cancelled":
	default:
		return "", "state " + state
	}
	names, failure, err := c.outputs(ctx, e.id)
	switch {
	case err != nil:
		return "", err.Error()
	case state == "failed" && strings.Contains(failure, "retry the job to order it anew"):
		return uncertain, ""
	case state != "completed":
		return failed, state + " " + failure
	case len(names) != 1 || names[0] != e.name+"_00001_.png":
		return failed, fmt.Sprintf("its outputs are %v", names)
	}
	there, err := c.hasFile(ctx, names[0])
	switch {
	case err != nil:
		return "", err.Error()
	case !there:
		return lost, "its file is not there"
	}
	return kept, ""
}

func (e *entry) judgeUpload(ctx context.Context, c *client) (verdict, string) {
	status, body := c.send(ctx, http.MethodGet, "/api/v2/assets/"+e.id, nil)
	switch {
	case status == http.StatusNotFound:
		return lost, "the service does not know it"
	case status != http.StatusOK:
		return "", fmt.Sprintf("status %d: %s", status, body)
	}
	sum := blake3.Sum256(e.content)
	if !bytes.Contains(body, fmt.Appendf(nil, "%x", sum)) {
		return lost, "its hash is another: " + string(body)
	}
	var asset struct{ URL string }
	if err := json.Unmarshal(body, &asset); err != nil {
		return failed, err.Error()
	}
	status, content := c.send(ctx, http.MethodGet, strings.TrimPrefix(asset.URL, c.base), nil)
	switch {
	case status == http.StatusNotFound:
		return lost, "its bytes are not there"
	case status != http.StatusOK:
		return "", fmt.Sprintf("status %d: %s", status, content)
	case !bytes.Equal(content, e.content):
		return lost, "its bytes are others"
	}
	return kept, ""
}

func (e *entry) judgeCall(ctx context.Context, c *client, p *provider) (verdict, string) {
	status, body := c.result(ctx, e.id)
	switch {
	case status == http.StatusNotFound:
		return lost, "the service does not know it"
	case status == http.StatusOK && p.ordered(e.name) == 1:
		return kept, ""
	case status == http.StatusOK:
		return lost, "it is answered, and the provider was not asked"
	case status == 0, status == http.StatusAccepted, status == http.StatusServiceUnavailable:
		return "", fmt.Sprintf("status %d: %s", status, body)
	case bytes.Contains(body, []byte("it is not sent again")):
		return uncertain, ""
	}
	return failed, fmt.Sprintf("status %d: %s", status, body)
}
