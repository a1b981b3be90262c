package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/bench/harness"
)

// tenant is an account with a key.
type tenant struct {
	name, base, key string
	http            *http.Client
}

// newTenant makes an account with the service's own commands.
func (b *bench) newTenant(ctx context.Context, name, tier string) (*tenant, error) {
	if _, err := b.command(ctx, "accounts", "create", name, "--tier", tier); err != nil {
		return nil, err
	}
	key, err := b.command(ctx, "keys", "create", "--account", name)
	return &tenant{name, b.Base, key, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}, err
}

// command runs bin/millrace and returns its last line.
func (b *bench) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "bin/millrace", args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+b.DatabaseURL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("millrace %s: %w: %s", strings.Join(args, " "), err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}

func (t *tenant) submit(ctx context.Context, graph string) (string, error) {
	var answer struct {
		PromptID string `json:"prompt_id"`
	}
	err := t.call(ctx, http.MethodPost, "/api/prompt", `{"prompt":`+graph+`}`, &answer)
	return answer.PromptID, err
}

// finish submits a graph, polls until its end, and returns the duration.
func (t *tenant) finish(ctx context.Context, graph string) (time.Duration, error) {
	began := time.Now()
	id, err := t.submit(ctx, graph)
	if err != nil {
		return 0, err
	}
	for {
		word, err := t.status(ctx, id)
		switch {
		case err != nil:
			return 0, err
		case word == "completed":
			return time.Since(began), nil
		case word != "pending" && word != "in_progress":
			return 0, fmt.Errorf("job %s is %s", id, word)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (t *tenant) status(ctx context.Context, id string) (string, error) {
	var answer struct{ Status string }
	err := t.call(ctx, http.MethodGet, "/api/job/"+id+"/status", "", &answer)
	return answer.Status, err
}

// completed returns the number of the account's completed jobs.
func (t *tenant) completed(ctx context.Context) (int, error) {
	var answer struct {
		Pagination struct{ Total int }
	}
	err := t.call(ctx, http.MethodGet, "/api/jobs?status=completed&limit=1", "", &answer)
	return answer.Pagination.Total, err
}

func (t *tenant) call(ctx context.Context, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, t.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", t.key)
	return harness.Do(t.http, req, into)
}
