package deployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

const (
	driftChecked = 2 * time.Second  // how often a process asks whether classes have changed
	driftAnew    = 10 * time.Minute // how often versions are compared although no class has changed in this process
	driftAgain   = time.Minute      // how soon they are compared again after a failure
	driftPage    = 100              // deployments that are read at once
)

// WatchDrift records the versions in use whose classes get other definitions, until ctx ends. It runs in several processes at once.
func (s *Service) WatchDrift(ctx context.Context, log *slog.Logger) error {
	var seen uint64
	var last time.Time
	for range pause.Every(ctx, driftChecked) {
		now := s.Validator.Classes.Generation()
		if now == seen && time.Since(last) < driftAnew {
			continue
		}
		seen, last = now, time.Now()
		if err := s.NoteDrift(ctx); err != nil && ctx.Err() == nil {
			log.Warn("definitions of the classes of deployments not compared; this is repeated", "error", err)
			last = last.Add(driftAgain - driftAnew)
		}
	}
	return nil
}

// NoteDrift compares the classes of all versions that answer calls, or that are marked as drifted, with their definitions now, and
// records what has changed since the last comparison. It passes over a deployment that cannot be read; the error counts those.
func (s *Service) NoteDrift(ctx context.Context) error {
	var first error
	failed := 0
	for after := ID(""); ; {
		page, err := s.Store.After(ctx, after, driftPage)
		if err != nil {
			return errors.Join(first, err)
		}
		for _, d := range page {
			err := s.noteDrift(ctx, d)
			if err != nil && fault.CodeOf(err) != fault.CodeDeploymentNotFound { // it may have been deleted meanwhile
				first, failed = cmp.Or(first, fmt.Errorf("deployment %s: %w", d.ID, err)), failed+1
			}
		}
		if len(page) < driftPage || ctx.Err() != nil {
			break
		}
		after = page[len(page)-1].ID
	}
	if failed > 1 {
		return fmt.Errorf("%d deployments; the first is %w", failed, first)
	}
	return first
}

func (s *Service) noteDrift(ctx context.Context, of Deployment) error {
	_, err := s.change(ctx, of.Account, string(of.ID), eventlog.By{Actor: "millrace"}, func(d Deployment) (events []eventlog.Event, _ error) {
		for _, v := range d.Versions {
			if v.Number != d.Live && v.Number != d.Share.Version && len(v.Drifted) == 0 {
				continue
			}
			changed, err := s.drifted(ctx, v)
			if err != nil {
				return nil, err
			}
			if !slices.Equal(v.Drifted, changed) {
				events = append(events, eventlog.NewEvent(TypeDrifted, DriftedV1{Version: v.Number, Classes: changed}))
			}
		}
		return events, nil
	})
	return err
}

// drifted returns the classes of a version whose definitions have changed, in alphabetical order.
func (s *Service) drifted(ctx context.Context, v Version) ([]string, error) {
	version, err := s.contents.callee(ctx, v.Digest)
	if err != nil {
		return nil, err
	}
	changed, err := version.Changed(s.Validator.Classes)
	for _, name := range v.Drifted { // a class whose servers are away now has the definition that it had
		if _, known := s.Validator.Classes.Lookup(name); !known {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, err
}
