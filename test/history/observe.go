//go:build linux

package history

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/blake3"

	"github.com/millrace-dev/millrace/test/load"
)

const (
	// pause bounds the time between two requests of a client.
	pause = 60 * time.Millisecond
	// patience bounds the time for which clients send requests about a subject.
	patience = 15 * time.Second
	// searchedLabel is the metadata label of every job.
	searchedLabel = "observed"
)

// Observe submits jobs and calls and uploads files, one after the other, and lets one client for each of the bases ask about it
// concurrently, until ctx ends. The bases are addresses of processes of one service; an address may be given more than once.
func (h *History) Observe(ctx context.Context, seed uint64, name string, bases ...string) {
	for n := 0; ctx.Err() == nil; n++ {
		o := observed{history: h, name: fmt.Sprintf("%s-observed-job-%d", name, n)}
		act := o.askJob
		switch n % 4 {
		case 2:
			o.name = fmt.Sprintf("%s-observed-file-%d", name, n)
			act = o.askFile
		case 3:
			o.name = fmt.Sprintf("%s-observed-call-%d", name, n)
			act = o.askCall
		}
		within, cancel := context.WithTimeout(ctx, patience)
		var group sync.WaitGroup
		for i, base := range bases {
			random := rand.New(rand.NewPCG(seed, uint64(1000*n+i))) // need not be secret
			client := load.NewClient(base)
			group.Go(func() {
				for final := 0; final < 3 && load.Pause(within, time.Duration(random.Int64N(int64(pause)))); {
					if act(within, i, client, random) {
						final++
					}
				}
			})
		}
		group.Wait()
		cancel()
	}
}

// observed is a job, call or file, with the id that an answer has named.
type observed struct {
	history *History
	name    string
	id      atomic.Pointer[string] // nil = no answer has named it
}

// askJob sends one request about a job and reports whether the job had ended.
func (o *observed) askJob(ctx context.Context, client int, c *load.Client, random *rand.Rand) (final bool) {
	id := o.id.Load()
	v := search
	switch n := random.IntN(40); {
	case id == nil && n < 20, n == 0:
		v = submit
	case id != nil && n == 1:
		v = cancel
	case id != nil && n < 20:
		v = read
	}
	a := o.history.do(client, request{o.name, v}, func() answer {
		switch v {
		case submit:
			return o.submit(ctx, c)
		case cancel:
			return job(c.Send(ctx, http.MethodPost, "/api/v2/jobs/"+*id+"/cancel", nil))
		case read:
			return job(c.Send(ctx, http.MethodGet, "/api/v2/jobs/"+*id, nil))
		default:
			return o.search(ctx, c)
		}
	})
	if a.ID != "" {
		o.id.Store(&a.ID)
	}
	return a.State == "succeeded" || a.State == "failed" || a.State == "canceled"
}

func (o *observed) submit(ctx context.Context, c *load.Client) answer {
	var sent struct {
		Prompt json.RawMessage `json:"prompt"`
	}
	if err := json.Unmarshal([]byte(load.Cheap(o.name)), &sent); err != nil {
		panic(err) // the graph is ours
	}
	body, err := json.Marshal(map[string]any{"workflow": sent.Prompt, "metadata": map[string]string{searchedLabel: o.name}})
	if err != nil {
		panic(err)
	}
	status, raw := c.Send(ctx, http.MethodPost, "/api/v2/jobs", body, "Idempotency-Key", o.name)
	if status == http.StatusUnprocessableEntity {
		return answer{Known: true, State: refuse}
	}
	a := job(status, raw)
	a.State = "" // the answer was made when the job was accepted
	return a
}

// search lists the jobs with the label of this one.
func (o *observed) search(ctx context.Context, c *load.Client) answer {
	status, raw := c.Send(ctx, http.MethodGet, "/api/v2/jobs?"+url.Values{"metadata[" + searchedLabel + "]": {o.name}}.Encode(), nil)
	var page struct {
		Jobs []struct{ ID, Status string }
	}
	if status != http.StatusOK || json.Unmarshal(raw, &page) != nil {
		return answer{}
	}
	a := answer{Known: true, Jobs: len(page.Jobs)}
	if len(page.Jobs) > 0 {
		a.ID, a.State = page.Jobs[0].ID, page.Jobs[0].Status
	}
	return a
}

// job reads an answer that is one job. A job that is not found has no state.
func job(status int, raw []byte) answer {
	var body struct{ ID, Status string }
	switch {
	case status == http.StatusNotFound:
		return answer{Known: true}
	case status/100 != 2 || json.Unmarshal(raw, &body) != nil || body.ID == "":
		return answer{}
	}
	return answer{Known: true, Jobs: 1, State: body.Status, ID: body.ID}
}

// askCall sends one request about a model call and reports whether its result was read.
func (o *observed) askCall(ctx context.Context, client int, c *load.Client, _ *rand.Rand) (final bool) {
	id := o.id.Load()
	if id == nil {
		a := o.history.do(client, request{o.name, order}, func() answer {
			named, _ := c.Order(ctx, o.name)
			return answer{Known: named != "", ID: named}
		})
		if a.Known {
			o.id.Store(&a.ID)
		}
		return false
	}
	a := o.history.do(client, request{o.name, result}, func() answer {
		status, body := c.Result(ctx, *id)
		switch {
		case status == 0, status == http.StatusAccepted, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
			return answer{}
		case status == http.StatusNotFound: // the call is lost
			return answer{Known: true}
		}
		return answer{Known: true, State: fmt.Sprintf("%d %x", status, blake3.Sum256(body))}
	})
	return a.Known
}

// askFile sends one request about a file and reports whether it was read. Its content is its name.
func (o *observed) askFile(ctx context.Context, client int, c *load.Client, random *rand.Rand) (final bool) {
	id := o.id.Load()
	if id == nil || random.IntN(8) == 0 {
		a := o.history.do(client, request{o.name, upload}, func() answer {
			switch status, named := c.Upload(ctx, o.name+".bin", []byte(o.name), "Idempotency-Key", o.name); {
			case named != "":
				return answer{Known: true, ID: named}
			case status == http.StatusConflict, status == http.StatusUnprocessableEntity:
				return answer{Known: true, State: refuse}
			}
			return answer{}
		})
		if a.ID != "" {
			o.id.Store(&a.ID)
		}
		return false
	}
	a := o.history.do(client, request{o.name, fetch}, func() answer {
		status, body := c.Send(ctx, http.MethodGet, "/api/v2/assets/"+*id, nil)
		hash := fmt.Sprintf("%x", blake3.Sum256([]byte(o.name)))
		switch {
		case status == http.StatusNotFound: // the file is lost
			return answer{Known: true}
		case status != http.StatusOK:
			return answer{}
		case !strings.Contains(string(body), hash):
			return answer{Known: true, State: "another hash: " + string(body), ID: *id}
		}
		return answer{Known: true, State: hash, ID: *id}
	})
	return a.Known
}
