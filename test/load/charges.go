//go:build linux

package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// RunPrice is the price of a run that succeeds, in US dollars, as MILLRACE_PRICE_RUN, and runMicros is that in millionths.
const (
	RunPrice  = "0.01"
	runMicros = 10_000
)

// Booking is an event of the account's credit.
type Booking struct {
	Event  string `json:"fact"` // held, settled or released
	Hold   string // for what
	Micros int64
}

// One in everyOther calls is repeated under another key.
const everyOther = 10

// JudgeCharges checks, when every entry has been judged, that each key of a deployment has one job, which was paid once, and that equal
// inputs under another key give the same picture. It returns what it compared.
func (l *Ledger) JudgeCharges(ctx context.Context, c *Client, bookings []Booking) (compared string, err error) {
	jobs, err := c.jobsByFile(ctx)
	if err != nil {
		return "", err
	}
	held, ended, paid := map[string]int{}, map[string]int{}, map[string]int64{}
	for _, b := range bookings {
		switch b.Event {
		case "held":
			held[b.Hold]++
		case "settled":
			paid[b.Hold] += b.Micros
			ended[b.Hold]++
		case "released":
			ended[b.Hold]++
		}
	}
	var wrong []error
	for hold, n := range held {
		if strings.HasPrefix(hold, "job-") && (n != 1 || ended[hold] > 1) { // a job without an entry may still run
			wrong = append(wrong, fmt.Errorf("%s was reserved %d times, and the reservation ended %d times", hold, n, ended[hold]))
		}
	}
	keys, charges, calls, pictures := 0, 0, 0, 0
	for _, e := range l.Entries {
		if e.Verdict != Right || e.Kind != "deployments" && e.Kind != "classes" {
			continue
		}
		made := jobs[e.Name+"_00001_.png"]
		if len(made) != 1 {
			wrong = append(wrong, fmt.Errorf("%s has %d jobs", e.Name, len(made)))
			continue
		}
		if micros := paid["job-"+made[0]]; micros != runMicros {
			wrong = append(wrong, fmt.Errorf("%s: job %s was charged %d micros", e.Name, made[0], micros))
		}
		keys, charges = keys+1, charges+ended["job-"+made[0]]
		if e.Kind != "deployments" {
			continue
		}
		if calls++; calls%everyOther == 1 {
			status, picture := byOpenAI(ctx, c, e.Name+"-other", e.Name)
			if status != http.StatusOK || e.content != nil && string(picture) != string(e.content) {
				wrong = append(wrong, fmt.Errorf("%s: under another key the picture is another one: status %d", e.Name, status))
			}
			pictures++
		}
	}
	if keys == 0 {
		wrong = append(wrong, errors.New("no key was used"))
	}
	return fmt.Sprintf("%d keys, each with one job, %d charges, %d reservations, none ended twice, %d pictures made again",
		keys, charges, len(held), pictures), errors.Join(wrong...)
}

// jobsByFile returns the ids of all jobs by the name of each file that they saved.
func (c *Client) jobsByFile(ctx context.Context) (map[string][]string, error) {
	by := map[string][]string{}
	for path := "/api/v2/jobs?limit=100"; path != ""; {
		status, raw := c.Send(ctx, http.MethodGet, path, nil)
		var page struct {
			Jobs []struct {
				ID      string
				Outputs []struct{ Name string }
			}
			Next *string `json:"next_cursor"`
		}
		if status != http.StatusOK {
			return nil, fmt.Errorf("list of jobs: status %d: %s", status, raw)
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		for _, j := range page.Jobs {
			for _, o := range j.Outputs {
				by[o.Name] = append(by[o.Name], j.ID)
			}
		}
		if path = ""; page.Next != nil && *page.Next != "" {
			path = "/api/v2/jobs?limit=100&cursor=" + *page.Next
		}
	}
	return by, nil
}
