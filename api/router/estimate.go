package router

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// estimate is the estimated cost of a call in US dollars.
type estimate struct {
	Source    catalog.Source `json:"source"`
	Currency  string         `json:"currency"`
	Amount    json.Number    `json:"amount,omitempty"`
	MinAmount json.Number    `json:"min_amount,omitempty"`
	MaxAmount json.Number    `json:"max_amount,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	AsOf      string         `json:"pricing_as_of,omitempty"`
}

// postEstimate prices a call without running it: POST /v2/models/{provider}/{model}/estimate. The body is checked as
// for a run. Nothing is charged, and the price is not guaranteed.
func (s *Surface) postEstimate(c *gin.Context) error {
	memory := s.bodies.Reserve(edge.Caller(c).Account)
	defer memory.Release()
	inv, err := s.invocation(c, memory)
	if err != nil {
		return err
	}
	offer, err := s.Models.Offer(c.Request.Context(), inv)
	if err != nil {
		return err
	}
	if offer.Unpriced {
		c.Header("Cache-Control", "no-store")
		c.PureJSON(http.StatusOK, estimateOf(catalog.Estimate{
			Source: catalog.PriceUnknown,
			Reason: "the price list does not cover this body; at most $" + amount.Dollars(offer.Reserve) + " is reserved for the call",
		}))
		return nil
	}
	m, err := s.Models.FindAny(inv.Model, inv.Access)
	if err != nil {
		return err
	}
	body := inv.Body
	if catalog.IsForm(inv.ContentType) {
		if body, err = m.FormInput(inv.ContentType, body); err != nil {
			return err
		}
	}
	c.Header("Cache-Control", "no-store")
	c.PureJSON(http.StatusOK, estimateOf(m.PriceAt(inv.Options.ModelProvider, inv.Options.Strict, body)))
	return nil
}

func estimateOf(e catalog.Estimate) estimate {
	out := estimate{Source: e.Source, Currency: "USD", AsOf: e.AsOf}
	switch e.Source {
	case catalog.PriceExact:
		out.Amount = json.Number(amount.Dollars(e.Min))
	case catalog.PriceEstimated:
		out.MinAmount, out.MaxAmount = json.Number(amount.Dollars(e.Min)), json.Number(amount.Dollars(e.Max))
	case catalog.PriceUnknown:
		out.Reason = e.Reason
	}
	return out
}
