//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"time"
)

// slowRecovery is the time after which the run logs why a recovery takes long.
const slowRecovery = 10 * time.Second

// explain logs the program's report about a job with a slow recovery, and the jobs that have the slots.
func (d *deployment) explain(ctx context.Context, id string) {
	for _, args := range [][]string{
		{"jobs", "list", "--status", "running"},
		{"jobs", "list", "--status", "queued"},
		{"jobs", "timeline", id},
		{"jobs", "events", id},
	} {
		out, err := d.command(ctx, args...)
		d.run.log.Warn("slow recovery", "command", args, "says", "\n"+string(out), "error", err)
	}
}

// command runs the program against the deployment.
func (d *deployment) command(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.run.binary, args...)
	cmd.Env = append(os.Environ(), d.env...)
	out, err := cmd.CombinedOutput()
	return bytes.TrimSpace(out), err
}
