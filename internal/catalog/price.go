package catalog

import "math"

// pricing is the price part of an entry, in US dollars.
type pricing struct {
	exact, low, high, settled Expr
	asOf                      string
	unknown                   string // why there is no price
}

const microsPerDollar = 1_000_000

// maxMicros bounds a price: an expression that gives more is a mistake, not a price.
const maxMicros = 10_000 * microsPerDollar

// Price estimates what a call with this body costs, in millionths of a US dollar. The body is
// the caller's, as sent.
func (m *Model) Price(body []byte) Estimate {
	p := m.price
	scope := Scope{Input: decodeBounded(body)}
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
	scope := Scope{Status: 200, Input: decodeBounded(body), Body: document}
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
