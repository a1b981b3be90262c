package operators

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/webhooks"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// deliveriesShown is the number of deliveries on a page.
const deliveriesShown = 50

// deliveries lists deliveries of webhooks, dead letters at first: GET /console/deliveries.
func (r *Section) deliveries(c *gin.Context, _ page.Visitor) (console.Page, error) {
	q := webhook.Query{State: webhook.State(c.DefaultQuery("status", string(webhook.Dead))), Limit: deliveriesShown}
	if !slices.Contains(webhook.States(), q.State) {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%.32q is not a state of a delivery.", q.State)
	}
	if text := c.Query("before"); text != "" {
		var err error
		if q.Before, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest, "before must be a number.")
		}
	}
	found, err := r.Webhooks.Deliveries(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	names, err := r.page.Names(c.Request.Context())
	if err != nil {
		return nil, err
	}
	shown := &DeliveriesPage{Frame: console.Frame{Title: "Deliveries"}, Status: q.State, States: webhook.States()}
	for _, d := range found.Deliveries {
		line := console.ShownDelivery{Delivery: d, Name: names[d.Account]}
		if len(d.Tries) > 0 {
			line.Last = &d.Tries[len(d.Tries)-1]
		}
		if d.State != webhook.Pending {
			line.Acts = Buttons(webhooks.Replay, map[string]string{
				"webhook": string(d.Webhook), "delivery": d.ID.String(), "status": string(q.State),
			})
		}
		shown.Deliveries = append(shown.Deliveries, line)
	}
	if found.Next != 0 {
		shown.Next = console.Query(url.Values{"status": {string(q.State)}, "before": {strconv.FormatInt(found.Next, 10)}})
	}
	return shown, nil
}
