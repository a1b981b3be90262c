package job

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/credit"
)

// Price is what a run costs a metered account, in micros (package credit); the zero value is free. It is
// fixed when the job is submitted: a later change of prices does not concern it.
type Price struct {
	Run        int64    `json:"run,omitempty"`         // of a run that succeeds
	NodeSecond int64    `json:"node_second,omitempty"` // of each second in which a node ran, however the run ends
	Reserve    int64    `json:"reserve,omitempty"`     // set aside beside Run until the seconds are known
	Partners   []string `json:"partners,omitempty"`    // nodes that are paid for by their calls, and not by their seconds
}

// Free reports whether nothing is charged.
func (p Price) Free() bool { return p.Run == 0 && p.NodeSecond == 0 }

// Hold is what the account must have left for the job to be accepted, and what is set aside until it ends.
func (p Price) Hold() int64 {
	if p.Free() {
		return 0
	}
	return min(p.Run+p.Reserve, credit.MaxAmount)
}

// HoldID is the id of the job's hold in its account's ledger.
func (id ID) HoldID() string { return id.Stream() }

// Bill adds up what a run costs.
type Bill struct {
	Price  Price
	Millis int64 // in which its nodes ran
}

// Add takes an event of the job into account. Nodes that the cache answered, and those of other runs, cost nothing.
func (b *Bill) Add(run int, data any) {
	switch e := data.(type) {
	case SubmittedV1:
		if e.Price != nil {
			b.Price = *e.Price
		}
	case NodeExecutedV1:
		if e.Run == run && !e.Cached && !slices.Contains(b.Price.Partners, e.Node) {
			b.Millis += max(e.Millis, 0)
		}
	}
}

// Total is what a run costs that ended by an event of that type; begun seconds count by their milliseconds.
func (b *Bill) Total(eventType string) int64 {
	if float64(b.Millis)*float64(b.Price.NodeSecond) >= 1000*float64(credit.MaxAmount) { // no overflow below
		return credit.MaxAmount
	}
	total := b.Millis * b.Price.NodeSecond / 1000
	if eventType == TypeSucceeded {
		total += b.Price.Run
	}
	return min(total, credit.MaxAmount)
}
