package activities

import (
	"context"
	"slices"

	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/nodecache"
	"github.com/millrace-dev/millrace/internal/eventlog"
)

// cacheResult caches the outputs of the segment for retries of this job, and returns the references of its values:
// cached values outlive the job. If it fails, this run continues.
func (s *segmentRun) cacheResult(ctx context.Context, a *segmentAttempt, refs []string) ([]string, error) {
	if s.g.Cache == nil || s.plan.keys[s.unit].IsZero() {
		return refs, nil
	}
	shown, err := s.shown(ctx, a)
	if err != nil {
		return nil, err
	}
	e := nodecache.Entry{Key: s.plan.keys[s.unit], Class: s.pn.ID, Job: string(s.params.Job), Nodes: shown}
	for _, n := range shown {
		e.Files = append(e.Files, n.Files...) // the entry is valid as long as its files
	}
	for _, ref := range refs {
		e.Bytes += s.g.Values.Size(ctx, ref)
		e.Values = append(e.Values, nodevalue.Cached(ref))
	}
	if err := s.g.Cache.Save(ctx, s.params.Account, []nodecache.Entry{e}); err != nil {
		s.g.Log.Warn("node cache save failed; a retry of this job runs the segment again", "job_id", s.params.Job, "error", err)
		return refs, nil
	}
	return e.Values, nil
}

// shown returns the UI outputs of the nodes of the segment. Those that earlier attempts recorded are read from the
// log.
func (s *segmentRun) shown(ctx context.Context, a *segmentAttempt) ([]nodecache.Shown, error) {
	nodes := nodesOf(s.plan, s.unit)
	if !slices.ContainsFunc(nodes, a.Recorded) {
		return a.shown, nil
	}
	if err := s.events.flush(ctx); err != nil {
		return nil, err
	}
	events := eventlog.Read(ctx, s.g.Events, s.params.Job.Stream(), 0)
	return eventlog.Fold(s.g.Types, events, nil, func(all []nodecache.Shown, _ eventlog.Recorded, data any) []nodecache.Shown {
		e, ok := data.(job.NodeExecutedV1)
		if !ok || e.Run != s.params.Run || len(e.UI) == 0 {
			return all
		}
		if _, _, root := e.Within.Places(e.Node); !slices.Contains(nodes, root) {
			return all
		}
		return append(all, nodecache.Shown{Node: e.Node, Class: e.Class, UI: e.UI, Files: e.Files, Within: e.Within})
	})
}
