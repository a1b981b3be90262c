package own

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// WebhooksPage lists the endpoints of an account.
type WebhooksPage struct {
	console.Frame
	Endpoints []webhook.EndpointWithURL
	Kinds     []webhook.Kind // of messages
	CanChange bool
}

// WebhookPage shows an endpoint and deliveries to it.
type WebhookPage struct {
	console.Frame
	Of         webhook.EndpointWithURL
	Status     webhook.State // "" = all
	States     []webhook.State
	Deliveries []console.ShownDelivery
	Next       template.URL // query of the next page, "" = this is the last
	CanChange  bool
	Notice     string // result of an action
}

const (
	deliveriesShown = 50
	refreshEvery    = 2 * time.Second // how often an open page of deliveries is rebuilt
)

func webhookActor(c *gin.Context, v page.Visitor) eventlog.By {
	return eventlog.By{Actor: v.Actor(), RequestID: edge.RequestID(c)}
}

// webhooks lists the account's endpoints: GET /console/webhooks.
func (r *Section) webhooks(c *gin.Context, v page.Visitor) (console.Page, error) {
	all, err := r.Endpoints.Endpoints(c.Request.Context(), v.Account)
	if err != nil {
		return nil, err
	}
	return &WebhooksPage{Frame: console.Frame{Title: "Webhooks"}, Endpoints: all, Kinds: webhook.Kinds(), CanChange: keeps(v)}, nil
}

// register registers an endpoint and shows its secret, once: POST /console/webhooks.
func (r *Section) register(c *gin.Context, v page.Visitor) (console.Page, error) {
	if err := lasting(v); err != nil {
		return nil, err
	}
	address, description := strings.TrimSpace(c.PostForm("url")), strings.TrimSpace(c.PostForm("description"))
	made, secret, err := r.Endpoints.Register(c.Request.Context(), v.Account, webhook.Request{
		URL: &address, Description: &description, Events: c.PostFormArray("event"),
	}, webhookActor(c, v))
	if err != nil {
		return nil, err
	}
	return &SecretPage{
		Frame: console.Frame{Title: "New webhook"}, What: "The secret that signs the messages to " + made.URL, Secret: secret,
		Back: "/webhooks/" + string(made.ID), BackWords: "the webhook",
	}, nil
}

// endpoint returns the endpoint of the visitor's account that the path names.
func (r *Section) endpoint(c *gin.Context, v page.Visitor) (webhook.EndpointWithURL, error) {
	id, err := webhook.ParseID(c.Param("id"))
	if err != nil {
		return webhook.EndpointWithURL{}, fault.Wrap(err, fault.NotFound, fault.CodeNotFound, "This webhook does not exist.")
	}
	return r.Endpoints.Endpoint(c.Request.Context(), v.Account, id)
}

// webhook shows an endpoint and the deliveries to it: GET /console/webhooks/{id}?status=.
func (r *Section) webhook(c *gin.Context, v page.Visitor, e webhook.EndpointWithURL) (console.Page, error) {
	shown := &WebhookPage{
		Frame: console.Frame{Title: "Webhook", Live: true, Every: refreshEvery}, Of: e, Status: webhook.State(c.Query("status")),
		States: webhook.States(), CanChange: keeps(v), Notice: describeReplay(c.Query("replayed")),
	}
	if shown.Status != "" && !slices.Contains(shown.States, shown.Status) {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "%.32q is not a state of a delivery.", string(shown.Status))
	}
	q := webhook.Query{Account: v.Account, Webhook: e.ID, State: shown.Status, Limit: deliveriesShown}
	var err error
	if q.Before, err = page.Before(c); err != nil {
		return nil, err
	}
	found, err := r.Deliveries.Deliveries(c.Request.Context(), q)
	if err != nil {
		return nil, err
	}
	for _, d := range found.Deliveries {
		line := console.ShownDelivery{Delivery: d}
		if len(d.Tries) > 0 {
			line.Last = &d.Tries[len(d.Tries)-1]
		}
		shown.Deliveries = append(shown.Deliveries, line)
	}
	if found.Next != 0 {
		next := url.Values{"before": {strconv.FormatInt(found.Next, 10)}}
		if shown.Status != "" {
			next.Set("status", string(shown.Status))
		}
		shown.Next = v.Query(next)
	}
	return shown, nil
}

// describeReplay returns the result of a replay that the redirect names. Other values in the query are ignored.
func describeReplay(text string) string {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < 0:
		return ""
	case n == webhook.MostReplayed:
		return fmt.Sprintf("%d deliveries are attempted again; there may be more.", n)
	}
	return fmt.Sprintf("%d deliveries are attempted again.", n)
}

// changeWebhook applies the command of the path to an endpoint: POST /console/webhooks/{id}/{change}.
func (r *Section) changeWebhook(c *gin.Context, v page.Visitor) (string, error) {
	if err := lasting(v); err != nil {
		return "", err
	}
	e, err := r.endpoint(c, v)
	if err != nil {
		return "", err
	}
	ctx, at := c.Request.Context(), "/webhooks/"+string(e.ID)
	switch change := c.Param("change"); change {
	case "enable", "disable":
		on := change == "enable"
		_, err = r.Endpoints.Change(ctx, v.Account, e.ID, webhook.Request{Enabled: &on}, webhookActor(c, v))
	case "test":
		_, err = r.Endpoints.Test(ctx, v.Account, e.ID, webhookActor(c, v))
	case "remove":
		at, err = "/webhooks", r.Endpoints.Remove(ctx, v.Account, e.ID, webhookActor(c, v))
	case "replay":
		var only *uuid.UUID
		if text := c.PostForm("delivery"); text != "" {
			one, err := uuid.Parse(text)
			if err != nil {
				return "", fault.Wrap(err, fault.NotFound, fault.CodeNotFound, "This delivery does not exist.")
			}
			only = &one
		}
		var n int
		n, err = r.Endpoints.Replay(ctx, v.Account, e.ID, only, webhookActor(c, v))
		at += "?replayed=" + strconv.Itoa(n)
	default:
		err = fault.New(fault.NotFound, fault.CodeNotFound, "%.32q is not a command for a webhook.", change)
	}
	return at, err
}
