package sweep_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// archives are exports that are not done, and those that were begun again.
type archives struct {
	waiting []task.Ref
	again   []task.ID
}

func (a *archives) Unfinished(_ context.Context, after task.ID, _ time.Duration, limit int) ([]task.Ref, error) {
	left := slices.DeleteFunc(slices.Clone(a.waiting), func(r task.Ref) bool { return r.Task <= after })
	slices.SortFunc(left, func(a, b task.Ref) int { return strings.Compare(string(a.Task), string(b.Task)) })
	return left[:min(limit, len(left))], nil
}

func (a *archives) Restart(_ context.Context, ref task.Ref, actor, reason string) (bool, error) {
	if actor == "" || reason == "" {
		return false, errors.New("who, and why?")
	}
	a.again = append(a.again, ref.Task)
	return true, nil
}

func TestExportsWithoutAWorkflowAreRestarted(t *testing.T) {
	t.Parallel()
	goesOn, held, ended, absent, broken := task.NewID(), task.NewID(), task.NewID(), task.NewID(), task.NewID()
	a := &archives{}
	for _, id := range []task.ID{goesOn, held, ended, absent, broken} {
		a.waiting = append(a.waiting, task.Ref{Task: id, Account: "a"})
	}
	known := all(running, goesOn)
	known.broken, known.status[ended], known.status[held] = broken, terminated, paused
	s := sweep.NewTaskReviver(known, task.Export, a, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, s.Sweep(t.Context()), string(broken), "one that cannot be looked after keeps no other waiting")
	require.ElementsMatch(t, []task.ID{ended, absent}, a.again)
}
