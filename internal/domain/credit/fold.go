package credit

import "github.com/millrace-dev/millrace/internal/eventlog"

// HoldState is the state of a reservation.
type HoldState string

// The states of a reservation.
const (
	Held     HoldState = "held"
	Settled  HoldState = "settled"
	Released HoldState = "released"
)

// Hold is a reserved amount. Micros is the amount reserved, even after the end of the reservation.
type Hold struct {
	Micros int64
	State  HoldState
}

// Ledger is the folded state of an account's ledger.
type Ledger struct {
	Version int64
	Balance Balance
	Holds   map[string]Hold // by id, including ended ones
}

// Apply folds one recorded event of the ledger's stream into l. It never fails on a decoded event. An event at or
// below the folded version changes nothing.
func (l *Ledger) Apply(rec eventlog.Recorded, data any) {
	if rec.Version <= l.Version {
		return
	}
	l.Version = rec.Version
	if l.Holds == nil {
		l.Holds = map[string]Hold{}
	}
	b := &l.Balance
	switch e := data.(type) {
	case GrantedV1:
		b.Metered = true
		b.Granted += e.Micros
		b.Available += e.Micros
	case HeldV1:
		l.Holds[e.Hold] = Hold{e.Micros, Held}
		b.Available -= e.Micros
		b.Held += e.Micros
	case SettledV1:
		l.Holds[e.Hold] = Hold{e.Held, Settled}
		b.Held -= e.Held
		b.Settled += e.Micros
		b.Available += e.Held - e.Micros
	case ReleasedV1:
		l.Holds[e.Hold] = Hold{e.Micros, Released}
		b.Held -= e.Micros
		b.Available += e.Micros
	}
}
