package catalog

import (
	"math"
	"strings"

	"github.com/millrace-dev/millrace/internal/jsondoc"
)

// pricing is the price part of an entry, in US dollars.
type pricing struct {
	exact, low, high, settled Expr
	asOf                      string
	unknown                   string // why there is no price
}

// decode returns the caller's body as the expressions see it. Long strings are cut, since none needs a picture;
// those that count the characters of a text see all of them.
func (p pricing) decode(body []byte) any {
	for _, e := range []Expr{p.exact, p.low, p.high, p.settled} {
		if strings.Contains(e.source, "len(") {
			if whole, err := jsondoc.Whole(body); err == nil {
				return whole
			}
			return nil
		}
	}
	return decodeBounded(body)
}

// Priced reports whether the entry says what a call costs. Then an input whose price cannot be told is none that a
// provider would take, and is not to be run for nothing.
func (m *Model) Priced() bool {
	return m.price.unknown == "" && (m.price.exact.Set() || m.price.high.Set())
}

const microsPerDollar = 1_000_000

// maxMicros bounds a price: an expression that gives more is a mistake, not a price.
const maxMicros = 10_000 * microsPerDollar

// Price estimates what a call with this body costs, in millionths of a US dollar. The body is
// the caller's, as sent.
func (m *Model) Price(body []byte) Estimate {
	p := m.price
	scope := Scope{Input: p.decode(body)}
	if exact, ok := micros(p.exact.Eval(scope)); ok {
		return Estimate{Source: PriceExact, Min: exact, Max: exact, AsOf: p.asOf}
	}
	low, okLow := micros(p.low.Eval(scope))
	high, okHigh := micros(p.high.Eval(scope))
	switch {
	case okLow && okHigh && low <= high:
		return Estimate{Source: PriceEstimated, Min: low, Max: high, AsOf: p.asOf}
	case p.unknown != "":
		return Estimate{Source: PriceUnknown, AsOf: p.asOf, Reason: p.unknown}
	default:
		return Estimate{Source: PriceUnknown, AsOf: p.asOf, Reason: "the price of this input cannot be told beforehand"}
	}
}

// Settled returns what a finished call costs, in millionths of a US dollar: from the result where
// the entry says how (tokens used, credits reported), otherwise the exact price or the upper end
// of the estimate. document is Outcome.Document of the result, nil for bytes.
func (m *Model) Settled(body []byte, document any) int64 {
	scope := Scope{Status: 200, Input: m.price.decode(body), Body: document}
	if amount, ok := micros(m.price.settled.Eval(scope)); ok {
		return amount
	}
	return m.Price(body).Max
}

// micros turns dollars into millionths, rounded up: a price is never understated.
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
	amount := math.Ceil(dollars*microsPerDollar - 1e-6) // what is whole but for rounding stays whole
	if math.IsNaN(amount) || amount < 0 || amount > maxMicros {
		return 0, false
	}
	return int64(amount), true
}
