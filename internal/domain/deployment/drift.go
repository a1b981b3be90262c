package deployment

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/eventlog"
)

const (
	driftChecked = 2 * time.Second  // how often a process asks whether classes have changed
	driftAnew    = 10 * time.Minute // how often versions are compared although no class has changed in this process
	driftPage    = 100              // deployments that are read at once
)

// WatchDrift records the versions in use whose classes get other definitions, until ctx ends. It runs in several processes at once.
func (s *Service) WatchDrift(ctx context.Context, log *slog.Logger) error {
	var seen uint64
	var last time.Time
	tick := time.NewTicker(driftChecked)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := s.Validator.Classes.Generation()
		if now == seen && time.Since(last) < driftAnew {
			continue
		}
		seen, last = now, time.Now()
		if err := s.NoteDrift(ctx); err != nil && ctx.Err() == nil {
			log.Warn("definitions of the classes of deployments not compared; this is repeated", "error", err)
			seen = 0
		}
	}
}

// NoteDrift compares the classes of all versions that answer calls with their definitions now, and records what has changed since
// the last comparison.
func (s *Service) NoteDrift(ctx context.Context) error {
	for after := ID(""); ; {
		page, err := s.Store.After(ctx, after, driftPage)
		if err != nil {
			return err
		}
		for _, d := range page {
			if err := s.noteDrift(ctx, d); err != nil {
				return err
			}
		}
		if len(page) < driftPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

func (s *Service) noteDrift(ctx context.Context, d Deployment) error {
	now := map[int][]string{}
	for _, number := range []int{d.Live, d.Share.Version} {
		v, ok := d.Version(number)
		if !ok {
			continue
		}
		version, err := s.contents.callee(ctx, v.Digest)
		if err != nil {
			return err
		}
		changed, err := version.Changed(s.Validator.Classes)
		if err != nil {
			return err
		}
		for _, name := range v.Drifted { // a class whose servers are away now has the definition that it had
			if _, known := s.Validator.Classes.Lookup(name); !known {
				changed = append(changed, name)
			}
		}
		slices.Sort(changed)
		now[number] = changed
	}
	_, err := s.change(ctx, d.Account, string(d.ID), By{Actor: "millrace"}, func(d Deployment) (events []eventlog.Event, _ error) {
		for number, classes := range now {
			if v, ok := d.Version(number); ok && !slices.Equal(v.Drifted, classes) {
				events = append(events, eventlog.NewEvent(TypeDrifted, DriftedV1{Version: number, Classes: classes}))
			}
		}
		return events, nil
	})
	return err
}
