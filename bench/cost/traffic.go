package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	trafficRate    = 50 // calls a second
	trafficChanges = 100
	trafficPause   = 500 * time.Millisecond // between changes
	sharePercent   = 10
	shareCalls     = 2500 // three standard deviations of the share are 1.8 percent of this many calls
)

// answer is the answer to a call of the deployment: its status, and the version that answered.
type answer struct {
	began, ended time.Time
	status       int
	version      string
	body         string
}

// state contains the versions that answer between two changes. They may answer from the beginning of the earlier change to the end of the
// later one.
type state struct {
	from, to time.Time
	versions []string
}

// changes are repeated: each is a command, and the versions that answer afterwards.
var changes = []struct {
	command, parameters string
	versions            []string
}{
	{"shown@2/promote", "", []string{"shown@2"}},
	{"shown@3/promote", `,"percent":50`, []string{"shown@2", "shown@3"}},
	{"shown/rollback", "", []string{"shown@2"}},
	{"shown/rollback", "", []string{"shown@1"}},
}

// traffic calls a deployment at a constant rate. First, versions are promoted, shared and rolled back in turn; then one has a share. It
// fails if a call fails, if a version answers that was neither live nor shared at that time, or if the share is wrong.
func (b *bench) traffic(ctx context.Context) error {
	for n := 2; n <= 3; n++ {
		if err := b.post(ctx, "/admin/accounts/local/deployments", fmt.Sprintf(`{"actor":"bench","reason":"a benchmark","name":"shown",`+
			`"document":`+shown+`,"inputs":["text=1.value"],"outputs":["shown=3"]}`, strings.Repeat("b", n))); err != nil {
			return err
		}
	}
	changing, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var failed error
	states := []state{{from: time.Now(), versions: []string{"shown@1"}}}
	group.Go(func() {
		defer stop()
		for n := range trafficChanges {
			<-time.After(trafficPause)
			change, began := changes[n%len(changes)], time.Now()
			failed = errors.Join(failed, b.post(ctx, "/admin/accounts/local/deployments/"+change.command,
				`{"actor":"bench","reason":"a benchmark"`+change.parameters+`}`))
			states[len(states)-1].to = time.Now()
			states = append(states, state{from: began, versions: change.versions})
		}
	})
	answers := b.atRate(changing, ctx, 0)
	group.Wait()
	states[len(states)-1].to = time.Now()
	if failed != nil {
		return failed
	}
	if err := judge(fmt.Sprintf("%d promotions, shares and rollbacks", trafficChanges), answers, states); err != nil {
		return err
	}
	if err := b.post(ctx, "/admin/accounts/local/deployments/shown@3/promote",
		fmt.Sprintf(`{"actor":"bench","reason":"a benchmark","percent":%d}`, sharePercent)); err != nil {
		return err
	}
	shared := state{from: time.Now(), versions: []string{"shown@1", "shown@3"}}
	answers = b.atRate(ctx, ctx, shareCalls)
	shared.to = time.Now()
	if err := judge("a share", answers, []state{shared}); err != nil {
		return err
	}
	third := 0
	for _, a := range answers {
		if a.version == "shown@3" {
			third++
		}
	}
	share := 100 * float64(third) / float64(len(answers))
	fmt.Printf("a share of %d %% got %.2f %% of %d calls\n", sharePercent, share, len(answers))
	if share < sharePercent-2 || share > sharePercent+2 {
		return fmt.Errorf("the share is not %d %% ± 2", sharePercent)
	}
	return nil
}

// atRate starts calls until ctx ends or the given number is reached; the context calls ends the calls themselves.
func (b *bench) atRate(ctx, calls context.Context, most int) (all []answer) {
	var mu sync.Mutex
	var group sync.WaitGroup
	tick := time.NewTicker(time.Second / trafficRate)
	defer tick.Stop()
	for n := 0; most == 0 || n < most; n++ {
		select {
		case <-ctx.Done():
			group.Wait()
			return all
		case <-tick.C:
		}
		group.Go(func() {
			a := b.ask(calls)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, a)
		})
	}
	group.Wait()
	return all
}

func (b *bench) ask(ctx context.Context) (a answer) {
	a.began = time.Now()
	defer func() { a.ended = time.Now() }()
	body := fmt.Sprintf(`{"inputs":{"text":"mill %d"}}`, b.next.Add(1))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+"/deployment/shown/api/v2/jobs", strings.NewReader(body))
	if err != nil {
		a.body = err.Error()
		return a
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := b.http.Do(req)
	if err != nil {
		a.body = err.Error()
		return a
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body) // a truncated body is not a job
	a.status, a.version, a.body = res.StatusCode, res.Header.Get("X-Millrace-Deployment"), string(raw)
	var made struct{ ID string }
	if json.Unmarshal(raw, &made) != nil || made.ID == "" {
		a.status = 0
	}
	return a
}

// judge prints which versions answered, and returns an error if a call failed or a version answered that was neither live nor shared.
func judge(what string, answers []answer, states []state) error {
	by, wrong := map[string]int{}, 0
	for _, a := range answers {
		if a.status != http.StatusCreated {
			return fmt.Errorf("%s: a call got %d: %s", what, a.status, a.body)
		}
		by[a.version]++
		if !slices.ContainsFunc(states, func(s state) bool {
			return slices.Contains(s.versions, a.version) && !a.ended.Before(s.from) && !s.to.Before(a.began)
		}) {
			wrong++
		}
	}
	fmt.Printf("%s: %d calls in %.0f s, none failed, by version %v, %d by another version\n", what, len(answers),
		states[len(states)-1].to.Sub(states[0].from).Seconds(), by, wrong)
	if wrong > 0 {
		return fmt.Errorf("%s: %d calls were answered by a version that was neither live nor shared", what, wrong)
	}
	return nil
}
