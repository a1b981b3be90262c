//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"time"
)

// slowRecovery is how long a recovery may take before the run notes what it waits for.
const slowRecovery = 10 * time.Second

// explain logs what the program says about a job whose recovery is slow, and which jobs have the slots meanwhile.
func (d *deployment) explain(ctx context.Context, id string) {
	for _, args := range [][]string{{"jobs", "list", "--status", "running"}, {"jobs", "list", "--status", "queued"}, {"jobs", "timeline", id}, {"jobs", "events", id}} {
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
