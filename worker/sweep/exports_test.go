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

	"github.com/millrace-dev/millrace/internal/domain/export"
	"github.com/millrace-dev/millrace/worker/sweep"
)

// archives are exports that are not done, and those that were begun again.
type archives struct {
	waiting []export.Ref
	again   []export.ID
}

func (a *archives) Unfinished(_ context.Context, after export.ID, _ time.Duration, limit int) ([]export.Ref, error) {
	left := slices.DeleteFunc(slices.Clone(a.waiting), func(r export.Ref) bool { return r.Export <= after })
	slices.SortFunc(left, func(a, b export.Ref) int { return strings.Compare(string(a.Export), string(b.Export)) })
	return left[:min(limit, len(left))], nil
}

func (a *archives) Restart(_ context.Context, ref export.Ref, actor, reason string) (bool, error) {
	if actor == "" || reason == "" {
		return false, errors.New("who, and why?")
	}
	a.again = append(a.again, ref.Export)
	return true, nil
}

func TestExportsWithoutAWorkflowAreRestarted(t *testing.T) {
	t.Parallel()
	goesOn, held, ended, absent, broken := export.NewID(), export.NewID(), export.NewID(), export.NewID(), export.NewID()
	a := &archives{}
	for _, id := range []export.ID{goesOn, held, ended, absent, broken} {
		a.waiting = append(a.waiting, export.Ref{Export: id, Account: "a"})
	}
	known := all(running, goesOn)
	known.broken, known.status[ended], known.status[held] = broken, terminated, paused
	s := sweep.NewExportReviver(known, a, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, s.Sweep(t.Context()), string(broken), "one that cannot be looked after keeps no other waiting")
	require.ElementsMatch(t, []export.ID{ended, absent}, a.again)
}
