package catalog

import (
	"math"
	"strings"

	"github.com/millrace-dev/millrace/internal/model/jsondoc"
)

// pricing is the price part of an entry, in US dollars.
type pricing struct {
	exact, low, high Expr
	quoted, settled  Expr
	asOf             string
	unknown          string // why there is no price
}

// decode returns the caller's body as the expressions see it. Long strings are cut, since none needs a picture;
// those that count the characters of a text, or look for a word in it, see all of it.
func (p pricing) decode(body []byte) any {
	for _, e := range []Expr{p.exact, p.low, p.high, p.quoted, p.settled} {
		if strings.Contains(e.source, "len(") || strings.Contains(e.source, " contains ") {
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

// Quoted returns the price that the provider names as it takes a submission, in millionths of a US dollar; 0 when it
// names none. document is Outcome.Document of the submission.
func (m *Model) Quoted(body []byte, document any) int64 {
	amount, _ := micros(m.price.quoted.Eval(Scope{Status: 200, Input: m.price.decode(body), Body: document}))
	return amount
}

// Answer is what a call is settled by.
type Answer struct {
	Body     []byte            // the caller's, as the provider took it
	Document any               // Outcome.Document of the answer, nil for bytes
	Headers  map[string]string // of the answer, names in lower case
	Quoted   int64             // what Quoted gave when the provider took the submission
}

// Settled returns what a finished call costs, in millionths of a US dollar: from the answer where the entry says how
// (tokens used, pictures made, credits reported), otherwise what the provider named as it took the submission, and
// without either the exact price or the upper end of the estimate.
func (m *Model) Settled(a Answer) int64 {
	if amount, ok := m.Told(a); ok {
		return amount
	}
	if a.Quoted > 0 {
		return a.Quoted
	}
	return m.Price(a.Body).Max
}

// Told returns what an answer itself says that it costs; false when it says nothing.
func (m *Model) Told(a Answer) (int64, bool) {
	return micros(m.price.settled.Eval(Scope{Status: 200, Headers: a.Headers, Input: m.price.decode(a.Body), Body: a.Document}))
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
