package catalog

import (
	"math"
	"strings"

	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// pricing is the price part of an entry, in US dollars.
type pricing struct {
	Exact, Low, High Expr
	Quoted, Settled  Expr
	Unknown          string // the reason why the entry has no price
	AsOf             string `yaml:"as_of"`
}

// decode returns the caller's body for the price expressions. Long strings are cut, unless an expression counts the
// characters of a text or searches for a word in a text.
func (p pricing) decode(body []byte) any {
	for _, e := range []Expr{p.Exact, p.Low, p.High, p.Quoted, p.Settled} {
		if strings.Contains(e.source, "len(") || strings.Contains(e.source, " contains ") {
			if whole, err := jsondoc.Whole(body); err == nil {
				return whole
			}
			return nil
		}
	}
	return decodeBounded(body)
}

// Priced reports whether the entry has a price. A body from which this price cannot be computed must be refused,
// because the call would be free.
func (m *Model) Priced() bool {
	return m.price.Unknown == "" && (m.price.Exact.Set() || m.price.High.Set())
}

const microsPerDollar = 1_000_000

// maxMicros bounds a price. An expression with a larger value is a mistake.
const maxMicros = 10_000 * microsPerDollar

// Price estimates the cost of a call with the caller's body, in millionths of a US dollar.
func (m *Model) Price(body []byte) Estimate {
	p := m.price
	scope := Scope{Input: p.decode(body)}
	if exact, ok := micros(p.Exact.Eval(scope)); ok {
		return Estimate{Source: PriceExact, Min: exact, Max: exact, AsOf: p.AsOf}
	}
	low, okLow := micros(p.Low.Eval(scope))
	high, okHigh := micros(p.High.Eval(scope))
	switch {
	case okLow && okHigh && low <= high:
		return Estimate{Source: PriceEstimated, Min: low, Max: high, AsOf: p.AsOf}
	case p.Unknown != "":
		return Estimate{Source: PriceUnknown, AsOf: p.AsOf, Reason: p.Unknown}
	default:
		return Estimate{Source: PriceUnknown, AsOf: p.AsOf, Reason: "the price of this input is known only after the call"}
	}
}

// Quoted returns the price that the provider states when it accepts a submission, in millionths of a US dollar, or 0.
// document is Outcome.Document of the submission.
func (m *Model) Quoted(body []byte, document any) int64 {
	amount, _ := micros(m.price.Quoted.Eval(Scope{Status: 200, Input: m.price.decode(body), Body: document}))
	return amount
}

// Answer holds the values from which the final price of a call is computed.
type Answer struct {
	Body     []byte            // the body that was sent to the provider
	Document any               // Outcome.Document of the answer; nil for bytes
	Headers  map[string]string // headers of the answer, names in lower case
	Quoted   int64             // the result of Quoted for the submission
}

// Settled returns the price of a finished call, in millionths of a US dollar. It is computed from the answer if the
// entry has an expression for this (tokens used, pictures made, credits reported); otherwise it is the quoted price,
// or else the upper end of the estimate.
func (m *Model) Settled(a Answer) int64 {
	if amount, ok := m.Stated(a); ok {
		return amount
	}
	if a.Quoted > 0 {
		return a.Quoted
	}
	return m.Price(a.Body).Max
}

// Stated returns the price that the answer itself states, and false if it states no price.
func (m *Model) Stated(a Answer) (int64, bool) {
	return micros(m.price.Settled.Eval(Scope{Status: 200, Headers: a.Headers, Input: m.price.decode(a.Body), Body: a.Document}))
}

// micros converts dollars to millionths. It rounds up so that no price is understated.
func micros(value any) (int64, bool) {
	var dollars float64
	switch v := value.(type) {
	case float64:
		dollars = v
	case int:
		dollars = float64(v)
	default:
		return 0, false
	}
	amount := math.Ceil(dollars*microsPerDollar - 1e-6) // do not round up a floating-point error above a whole number
	if math.IsNaN(amount) || amount < 0 || amount > maxMicros {
		return 0, false
	}
	return int64(amount), true
}
