// Package credit is the ledger of the credit of accounts: the events of an account's ledger, the fold from events to
// a balance, and amounts in credits. It promises that the granted amount always equals the sum of the available,
// reserved and settled amounts. The store runs the transactions and keeps concurrent reservations from overdrawing an
// account.
//
// Amounts are millionths of a US dollar ("micros"). An account without a ledger, which was never granted credit, is
// not metered: it may spend without limit, and no event is recorded.
package credit

import (
	"fmt"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/fault"
)

// PerDollar is the number of credits for one US dollar.
const PerDollar = 211

// MaxAmount bounds one amount.
const MaxAmount = amount.MaxDollars

// MaxHoldID bounds the id of a reservation, in bytes.
const MaxHoldID = 200

// Balance is the state of an account's ledger. Granted = Available + Held + Settled, always.
type Balance struct {
	Metered   bool  `json:"metered"`   // false = there is no ledger, and the other fields are 0
	Available int64 `json:"available"` // micros; negative if more was settled than reserved
	Held      int64 `json:"held"`      // reserved and not ended
	Settled   int64 `json:"settled"`   // spent
	Granted   int64 `json:"granted"`
}

// Insufficient is the refusal of an account that has too little credit.
func Insufficient() *fault.Error {
	return fault.New(fault.Exhausted, fault.CodeInsufficientCredits, "the account does not have enough credits; add credits and try again")
}

// Stream returns the name of the account's ledger stream.
func Stream(account string) string { return "ledger-" + account }

// Credits formats an amount in credits with two decimals, rounded to the nearest, as clients see it.
func Credits(micros int64) string {
	sign := ""
	if micros < 0 {
		sign, micros = "-", -micros
	}
	hundredths := (micros/amount.Dollar)*PerDollar*100 + (micros%amount.Dollar*PerDollar*100+amount.Dollar/2)/amount.Dollar
	return fmt.Sprintf("%s%d.%02d", sign, hundredths/100, hundredths%100)
}
