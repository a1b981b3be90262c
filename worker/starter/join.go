package starter

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
)

// Bounds of the uploads that one workflow looks into: reading and hashing them takes a fraction of a second.
const (
	joinedSize  = 1 << 20  // bytes of one file
	joinedBytes = 16 << 20 // bytes of all
)

var _ outbox.Joiner = (*Starter)(nil)

// Join implements outbox.Joiner: it makes one start of the ingestions of an account's small uploads. The intents that it
// replaces stay in the outbox until that start is delivered.
func (c *Starter) Join(intents []outbox.Intent) []outbox.Intent {
	if !c.JoinIngests || len(intents) < 2 {
		return intents
	}
	var out []outbox.Intent
	open := map[string]*joined{} // by account
	var order []*joined
	for _, in := range intents {
		ref, small := smallIngest(in)
		if !small {
			out = append(out, in)
			continue
		}
		j := open[ref.Account]
		if j == nil || !j.accepts(ref) {
			j = &joined{}
			open[ref.Account], order = j, append(order, j)
		}
		j.add(in, ref)
	}
	for _, j := range order {
		out = append(out, j.intent())
	}
	return out
}

// smallIngest returns the asset of an intent to look into a small file.
func smallIngest(in outbox.Intent) (ref asset.IngestRef, small bool) {
	if in.Kind != outbox.StartIngest || json.Unmarshal(in.Payload, &ref) != nil {
		return ref, false // its own delivery reports the error
	}
	return ref, ref.Size <= joinedSize
}

// joined is intents of one account that are delivered as one.
type joined struct {
	intents []outbox.Intent
	refs    []asset.IngestRef
	bytes   int64
}

func (j *joined) accepts(ref asset.IngestRef) bool {
	return len(j.refs) < asset.MaxBatch && j.bytes+ref.Size <= joinedBytes
}

func (j *joined) add(in outbox.Intent, ref asset.IngestRef) {
	j.intents, j.refs, j.bytes = append(j.intents, in), append(j.refs, ref), j.bytes+ref.Size
}

// intent returns the intent to deliver. A single intent stays as it is.
func (j *joined) intent() outbox.Intent {
	one := j.intents[0]
	if len(j.intents) == 1 {
		return one
	}
	all := outbox.New(outbox.StartIngests, asset.BatchWorkflowID(uuid.NewString()), j.refs)
	all.ID, all.Attempts, all.With = one.ID, one.Attempts, one.With
	for _, in := range j.intents[1:] {
		all.With = append(all.With, in.ID)
	}
	return all
}
