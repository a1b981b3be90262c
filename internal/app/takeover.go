package app

import (
	"context"
	"strings"

	"github.com/millrace-dev/millrace/worker/sweep"
)

// privateMark is the suffix of the names of workers that use the private servers of a data directory. One process at
// a time has the lock of the directory, so all other workers with such names have ended.
func privateMark(dir string) string {
	if dir == "" {
		return ""
	}
	return "@" + dir
}

// takeOver lets work of earlier processes on the private servers continue before their heartbeats expire.
func (in *Instance) takeOver(ctx context.Context) {
	mark := privateMark(in.cfg.PrivateServers)
	if mark == "" {
		return
	}
	if err := in.calls.ForgetWorkers(ctx, mark, in.worker); err != nil && ctx.Err() == nil {
		in.log.Warn("model calls of the previous process wait until its heartbeat expires", "error", err)
	}
	releaser := sweep.ActivityReleaser{
		Client: in.client, Namespace: in.cfg.TemporalNamespace, Identity: in.worker,
		Ended: func(identity string) bool { return strings.HasSuffix(identity, mark) && identity != in.worker },
	}
	released, err := releaser.Release(ctx)
	if err != nil && ctx.Err() == nil {
		in.log.Warn("activities of the previous process wait for their heartbeat timeout", "error", err)
	}
	if released > 0 {
		in.log.Info("activities of the previous process restarted", "count", released)
	}
}
