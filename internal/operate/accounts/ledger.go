package accounts

import (
	"context"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Entry is one event of a ledger and the credit available after it.
type Entry struct {
	Version   int64     `json:"version"`
	At        time.Time `json:"at"`
	Event     string    `json:"fact"`
	Hold      string    `json:"hold,omitempty"`
	Micros    int64     `json:"micros"`
	Available int64     `json:"available"`
	Actor     string    `json:"actor,omitempty"`
	Reason    string    `json:"reason,omitempty"`
}

// ledgerEntries folds a ledger and returns each entry and the final balance.
func ledgerEntries(ctx context.Context, events *eventstore.Store, id string) ([]Entry, credit.Balance, error) {
	entries := []Entry{}
	recorded := eventlog.Read(ctx, events, credit.Stream(id), 0)
	l, err := eventlog.Fold(events.Types(), recorded, credit.Ledger{}, func(l credit.Ledger, rec eventlog.Recorded, data any) credit.Ledger {
		l.Apply(rec, data)
		entries = append(entries, newEntry(rec, data, l.Balance.Available))
		return l
	})
	if err != nil {
		return nil, credit.Balance{}, err
	}
	return entries, l.Balance, nil
}

func newEntry(rec eventlog.Recorded, data any, available int64) Entry {
	e := Entry{
		Version: rec.Version, At: rec.RecordedAt, Event: rec.Type, Available: available, Actor: rec.Meta.Actor, Reason: rec.Meta.Reason,
	}
	switch d := data.(type) {
	case credit.GrantedV1:
		e.Event, e.Micros = "granted", d.Micros
	case credit.HeldV1:
		e.Event, e.Micros, e.Hold = "held", d.Micros, d.Hold
	case credit.SettledV1:
		e.Event, e.Micros, e.Hold = "settled", d.Micros, d.Hold
	case credit.ReleasedV1:
		e.Event, e.Micros, e.Hold = "released", d.Micros, d.Hold
	}
	return e
}
