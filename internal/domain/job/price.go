package job

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/credit"
)

// Price is the price of a run for a metered account, in micros (package credit). The zero value is free. The price is
// fixed at submission; later price changes do not affect the job.
type Price struct {
	Run        int64    `json:"run,omitempty"`           // charged for a run that succeeds
	NodeSecond int64    `json:"node_second,omitempty"`   // charged for each second of a running node, for every outcome
	Reserve    int64    `json:"reserve,omitempty"`       // reserved in addition to Run until the seconds are known
	Server     int64    `json:"server_second,omitempty"` // maximum for each second on a ComfyUI server; 0 = servers are free
	Partners   []string `json:"partners,omitempty"`      // nodes charged by their model calls instead of their seconds
}

// serverReserve is the number of seconds on a server for which credit is reserved.
const serverReserve = 60

// Free reports whether the run is free.
func (p Price) Free() bool { return p.Run == 0 && p.NodeSecond == 0 && p.Server == 0 }

// Hold is the amount that is reserved from acceptance to the end of the job. The account must have it available.
func (p Price) Hold() int64 {
	if p.Free() {
		return 0
	}
	return min(p.Run+p.Reserve+serverReserve*p.Server, credit.MaxAmount)
}

// HoldID returns the id of the job's reservation in its account's ledger.
func (id ID) HoldID() string { return id.Stream() }

// Bill computes the cost of a run from its events.
type Bill struct {
	Price  Price
	Millis int64 // total run time of its nodes
	Server int64 // cost of its time on ComfyUI servers
}

// Add adds the cost of one event of the job. Cached nodes, and nodes of other runs, cost nothing.
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
	case SegmentEndedV1:
		if e.Run == run {
			b.Server = min(b.Server+e.Cost(b.Price.Server), credit.MaxAmount)
		}
	}
}

// Total returns the cost of a run that ended with an event of a type. Node time is charged by the millisecond.
func (b *Bill) Total(eventType string) int64 {
	if float64(b.Millis)*float64(b.Price.NodeSecond) >= 1000*float64(credit.MaxAmount) { // prevents an overflow below
		return credit.MaxAmount
	}
	total := b.Millis*b.Price.NodeSecond/1000 + b.Server
	if eventType == TypeSucceeded {
		total += b.Price.Run
	}
	return min(total, credit.MaxAmount)
}
