package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
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

type ledgerParams struct {
	named
	Rebuild bool `name:"rebuild" help:"first compute the stored balance again from the events"`
}

// ledgerView is the ledger of an account, the balance that results from its entries and the stored one.
type ledgerView struct {
	Account string         `json:"account"`
	Name    string         `json:"name"`
	Balance credit.Balance `json:"balance"` // the stored one
	Entries []Entry        `json:"entries"`

	folded  credit.Balance
	changed bool // the stored balance has changed since
}

var ledger = action.Of[Service, ledgerParams, ledgerView]{
	Spec: action.Spec{Commands: []action.Command{{
		Use: "ledger ACCOUNT", Short: "Show an account's credit, event by event",
		Long: `Show the credit that was granted to an account, reserved, spent and released, and check that the
stored balance equals the sum of the events. With --rebuild, the balance is first computed again from them.`,
	}}},
	Do: func(ctx context.Context, o Service, p ledgerParams, _ operate.Attribution) (v ledgerView, err error) {
		a, err := o.Account(ctx, p.Account)
		if err == nil && p.Rebuild {
			_, _, err = o.credits.Rebuild(ctx, a.ID)
		}
		if err != nil {
			return v, err
		}
		v.Account, v.Name = a.ID, a.Name
		if v.Balance, err = o.credits.Balance(ctx, a.ID); err != nil {
			return v, err
		}
		if v.Entries, v.folded, err = ledgerEntries(ctx, o.events, a.ID); err != nil {
			return v, err
		}
		now, err := o.credits.Balance(ctx, a.ID)
		v.changed = now != v.Balance
		return v, err
	},
	Show: func(out *terminal.Printer, _ ledgerParams, v ledgerView) {
		out.Columns([]string{"TIME", "EVENT", "USD", "AVAILABLE", "HOLD", "BY", "REASON"}, func(row func(...any)) {
			for _, e := range v.Entries {
				row(e.At.UTC().Format(time.DateTime), e.Event, amount.Dollars(e.Micros), amount.Dollars(e.Available), e.Hold, e.Actor, e.Reason)
			}
		})
		out.Printf("%s\n", balanceLine(v.Name, v.Balance))
	},
	Fail: func(_ ledgerParams, v ledgerView) error {
		if v.changed || v.Balance == v.folded {
			return nil
		}
		return fmt.Errorf("the stored balance differs from the sum of the events (%s USD available): run `millrace accounts ledger %s --rebuild`",
			amount.Dollars(v.folded.Available), v.Name)
	},
}.Untyped()
