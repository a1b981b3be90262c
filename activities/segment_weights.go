package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/task"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// WeightSources fetches weights from where workflows say that they are.
type WeightSources interface {
	// Models returns the model files that the workflow of a submission names and that may be fetched.
	Models(extraData map[string]json.RawMessage) []uiworkflow.Model
	// Fetch makes a weight of a model file and returns when it is stored. Meanwhile it reports how far the download is. Several calls for
	// the same file share one download, which continues when ctx ends. A file that cannot be had is Invalid or Conflict.
	Fetch(ctx context.Context, m uiworkflow.Model, report func(task.Progress)) error
}

// absentWeight is a model file that a node needs, no server has, and is no weight yet.
type absentWeight struct {
	uiworkflow.Model
	node string
}

// from names the host of the file.
func (w absentWeight) from() string {
	if u, err := url.Parse(w.URL); err == nil {
		return u.Host
	}
	return "its source"
}

// status describes how far the file is, for people.
func (w absentWeight) status(p task.Progress) string {
	return "the model file " + w.Name + " is being fetched from " + w.from() + p.Status()
}

// absentWeights returns the model files to fetch before a server can run the segment.
func (s *segmentRun) absentWeights(ctx context.Context) (absent []absentWeight) {
	if s.Sources == nil {
		return nil
	}
	models := s.Sources.Models(s.plan.source.ExtraData)
	if len(models) == 0 {
		return nil
	}
	stored, err := s.g.Files(s.params.RunRef, "").List(ctx, node.FolderModels, 0)
	if err != nil { // what is stored is not fetched again
		s.g.Log.Warn("weights not listed; those that the workflow names are looked up one by one", "job_id", s.params.Job, "error", err)
	}
	for i := range s.pn.Segment.Nodes {
		n := &s.pn.Segment.Nodes[i]
		class, _ := s.plan.classes.Lookup(n.Class)
		if class == nil {
			continue
		}
		for _, in := range class.Inputs {
			choice, _ := n.Constants[in.Name].(string)
			if !in.MayBeWeight(choice) || slices.Contains(in.Options, choice) {
				continue
			}
			at := slices.IndexFunc(models, func(m uiworkflow.Model) bool {
				return m.Name == choice && (in.Weights == m.Folder || in.Weights == node.AnyFolder)
			})
			if at >= 0 && !slices.Contains(stored, models[at].Folder+"/"+choice) {
				absent = append(absent, absentWeight{models[at], n.ID})
			}
		}
	}
	return absent
}

// fetchAgain is the time between two attempts to have a weight fetched, after an error that may pass.
const fetchAgain = 5 * time.Second

// fetchWeights has absent weights fetched while the segment waits. It ends the wait with the failure of the node whose file cannot be had.
func (s *segmentRun) fetchWeights(ctx context.Context, absent []absentWeight, failed context.CancelCauseFunc) {
	for _, w := range absent {
		report := func(p task.Progress) { s.Pool.Fetching(s.key, w.status(p)) }
		for {
			err := s.Sources.Fetch(ctx, w.Model, report)
			if err == nil || ctx.Err() != nil {
				break
			}
			if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Denied) {
				failed(s.failureOf(w.node, "ModelDownloadError",
					fmt.Sprintf("the model file %s could not be fetched from %s: %s", w.Name, w.from(), publicMessage(err)), err))
				return
			}
			s.g.Log.Warn("weight not fetched; it will be retried", "job_id", s.params.Job, "name", w.Name, "error", err)
			if pause.For(ctx, fetchAgain) != nil {
				return
			}
		}
	}
}
