// Package credit is the ledger of the credit of accounts: the events of an account's ledger, the fold from events to
// a balance, and the format of amounts. It promises that the granted amount always equals the sum of the available,
// reserved and settled amounts. The store runs the transactions and keeps concurrent reservations from overdrawing an
// account.
// keeps concurrent reservations from overdrawing an account.
//
// Amounts are millionths of a US dollar ("micros"). An account without a ledger, which was never granted credit, is
// not metered: it may spend without limit, and no event is recorded.
package credit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
)

// PerDollar is the number of credits for one US dollar.
const PerDollar = 211

// Dollar is one US dollar in micros.
const Dollar int64 = 1_000_000

// MaxAmount bounds one amount: a hundred million dollars. Sums of many amounts do not overflow an int64.
const MaxAmount = 100_000_000 * Dollar

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

// Dollars formats an amount in US dollars with all its digits, at least two after the point: "12.50".
func Dollars(micros int64) string {
	sign, rest := "", uint64(micros)
	if micros < 0 {
		sign, rest = "-", uint64(-micros)
	}
	frac := strings.TrimRight(fmt.Sprintf("%06d", rest%uint64(Dollar)), "0")
	for len(frac) < 2 {
		frac += "0"
	}
	return sign + strconv.FormatUint(rest/uint64(Dollar), 10) + "." + frac
}

// Credits formats an amount in credits with two decimals, rounded to the nearest, as clients see it.
func Credits(micros int64) string {
	sign := ""
	if micros < 0 {
		sign, micros = "-", -micros
	}
	hundredths := (micros/Dollar)*PerDollar*100 + (micros%Dollar*PerDollar*100+Dollar/2)/Dollar
	return fmt.Sprintf("%s%d.%02d", sign, hundredths/100, hundredths%100)
}

var errAmount = errors.New("an amount must be in US dollars with at most six decimals, such as 25 or 0.05, up to 100000000")

// ParseDollars parses an amount in US dollars, with or without a sign.
func ParseDollars(text string) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	if whole == "" || len(whole) > 9 || len(frac) > 6 || strings.HasSuffix(digits, ".") {
		return 0, errAmount
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 63)
	if err != nil || int64(n) > MaxAmount { // 63 bits
		return 0, errAmount
	}
	if negative {
		return -int64(n), nil // 63 bits
	}
	return int64(n), nil // 63 bits
}
