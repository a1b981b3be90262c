package router

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
)

// Page sizes of the list of models.
const (
	defaultModelPage = 20
	maxModelPage     = 100
)

// maxSchemaURL bounds input_schema_url.
const maxSchemaURL = 2048

// modelEntry is a model in lists.
type modelEntry struct {
	ID       string       `json:"id"`
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
	Billing  modelBilling `json:"billing"`
	Enabled  *bool        `json:"enabled,omitempty"` // whether the operator has set a credential for the model; only with ?all=true
}

type modelBilling struct {
	ChargesOnPolicyRejection catalog.Charges `json:"charges_on_policy_rejection"`
}

type modelDetail struct {
	modelEntry
	InputSchemaURL string   `json:"input_schema_url,omitempty"`
	Alternates     []string `json:"alternates,omitempty"` // the values of model_provider that select another server of the model
}

type modelList struct {
	Data    []modelEntry `json:"data"`
	HasMore bool         `json:"has_more"`
	Next    string       `json:"next_cursor,omitempty"`
	Limit   int          `json:"limit"`
}

func (s *Surface) entry(m *catalog.Model, all bool) modelEntry {
	e := modelEntry{ID: m.ID, Provider: m.Provider, Model: m.Name, Billing: modelBilling{m.Billing.ChargesOnPolicyRejection}}
	if all {
		enabled := s.Models.Runnable(m)
		e.Enabled = &enabled
	}
	return e
}

// getModels lists the models that the caller may run: GET /v2/models?cursor=&limit=&all=. With all, it also lists
// models for which the operator has set no credential.
func (s *Surface) getModels(c *gin.Context) error {
	all, err := boolean(c, "all")
	if err != nil {
		return err
	}
	limit, err := modelLimit(c)
	if err != nil {
		return err
	}
	after, err := s.modelBefore(c)
	if err != nil {
		return err
	}
	access := edge.Caller(c).Access
	page, more := s.Models.Snapshot().After(after, limit, func(m *catalog.Model) bool {
		return access.Allows(m.ID) && (all || s.Models.Runnable(m))
	})
	list := modelList{Data: make([]modelEntry, len(page)), Limit: limit}
	for i, m := range page {
		list.Data[i] = s.entry(m, all)
	}
	if list.Data, list.HasMore, err = s.withOwn(c, list.Data, after, limit, all); err != nil {
		return err
	}
	list.HasMore = list.HasMore || more
	tag, err := listTag(list, time.Now())
	if err != nil {
		return err
	}
	c.Header("ETag", "W/"+tag)
	c.Header("Cache-Control", "private, max-age=0, must-revalidate")
	c.Header("Vary", "Authorization, X-API-Key")
	if edge.Unchanged(c, tag) {
		return nil
	}
	if list.HasMore {
		list.Next = s.Cursors.Make(list.Data[len(list.Data)-1].ID)
	}
	return edge.OK(c, list, nil)
}

// modelLimit parses the page size. An absent or non-positive size is the default; a size above the maximum is the
// maximum.
func modelLimit(c *gin.Context) (int, error) {
	text, given := c.GetQuery("limit")
	if !given {
		return defaultModelPage, nil
	}
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) { // a whole number out of range: n is the largest or smallest int
		err = nil
	}
	switch {
	case err != nil:
		return 0, call.Refuse(fault.Invalid, call.InvalidInput, "limit is not a whole number")
	case n <= 0:
		return defaultModelPage, nil
	}
	return min(n, maxModelPage), nil
}

// modelBefore returns the id of the model before the page, from the cursor.
func (s *Surface) modelBefore(c *gin.Context) (string, error) {
	cursor, given := c.GetQuery("cursor")
	if !given {
		return "", nil
	}
	id, err := s.Cursors.Read(cursor)
	if err != nil {
		return "", call.Refuse(fault.Invalid, call.InvalidInput, "the cursor is malformed or expired; repeat the request without a cursor")
	}
	return id, nil
}

// listTag returns the ETag of a page. Cursors differ between answers and are left out of the tag. The tag changes
// twice in the lifetime of a cursor, so that a cached page never contains an expired cursor.
func listTag(list modelList, now time.Time) (string, error) {
	raw, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	raw = strconv.AppendInt(raw, now.Unix()/int64(catalog.CursorLifetime/time.Second/2), 10)
	sum := sha256.Sum256(raw)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`, nil
}

// getModel reads one model: GET /v2/models/{provider}/{model}?all=.
func (s *Surface) getModel(c *gin.Context) error {
	all, find := c.Query("all") == "true", s.Models.Find // the contract has no 400 for this route
	if all {
		find = s.Models.FindAny
	}
	m, err := find(modelID(c), edge.Caller(c).Access)
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "private, max-age=0, must-revalidate")
	return edge.OK(c, modelDetail{s.entry(m, all), s.schemaURL(c, m), s.alternates(m)}, nil)
}

// alternates returns the other servers of a model that have a credential, the preferred ones first.
func (s *Surface) alternates(m *catalog.Model) []string {
	var servers []string
	for _, a := range m.Alternates {
		if s.Models.Runnable(a.Model) {
			servers = append(servers, a.Server)
		}
	}
	return servers
}

// schemaURL returns the address of a model's document, or "" if it is not https, which the contract requires.
func (s *Surface) schemaURL(c *gin.Context, m *catalog.Model) string {
	address := s.Edge.BaseURL(c.Request) + "/" + string(versionOf(c.Request.URL.Path)) + "/models/" + m.ID + "/openapi.json"
	if !m.InputAuthored() || !strings.HasPrefix(address, "https://") || len(address) > maxSchemaURL {
		return ""
	}
	return address
}

// getSchema reads a model's schemas: GET /v2/models/{provider}/{model}/openapi.json.
func (s *Surface) getSchema(c *gin.Context) error {
	m, err := s.Models.Find(modelID(c), edge.Caller(c).Access)
	if err != nil {
		return err
	}
	doc, err := m.Document(catalog.Version(versionOf(c.Request.URL.Path)), s.Edge.BaseURL(c.Request))
	if err != nil {
		return err
	}
	c.Header("ETag", doc.ETag)
	c.Header("Cache-Control", "private, max-age=300, must-revalidate")
	if edge.Unchanged(c, doc.ETag) {
		return nil
	}
	c.Data(http.StatusOK, "application/json", doc.Content)
	return nil
}

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
		return edge.OK(c, estimateOf(catalog.Estimate{
			Source: catalog.PriceUnknown,
			Reason: "the price list does not cover this body; at most $" + amount.Dollars(offer.Reserve) + " is reserved for the call",
		}), nil)
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
	return edge.OK(c, estimateOf(m.PriceAt(inv.Options.ModelProvider, inv.Options.Strict, body)), nil)
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
