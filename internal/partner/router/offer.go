// Package router connects calls (package call) with the catalog and the providers: it checks and prices the
// body of a call, exchanges requests with the provider, and copies the assets of the result. It keeps no state.
package router

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// Offers checks and prices requests for calls against the catalog. It implements call.Models.
type Offers struct {
	Catalog *catalog.Catalog
	Lookup  func(string) (string, bool) // the environment; a model without its credential is not enabled

	// Ceilings are the amounts to reserve for calls whose price the catalog does not know, in millionths of a US
	// dollar, by model ("kling/kling-v3-text2video"), by provider ("kling/*") or for all ("*"). Without a ceiling,
	// such a call is refused.
	Ceilings map[string]int64
}

var _ call.Models = Offers{}

// Offer implements call.Models. It refuses an unknown model with 404, a model to which the account is not entitled
// with 403, a model without a credential with 404, and then a bad body with 400 or 422.
func (o Offers) Offer(_ context.Context, inv call.Invocation) (call.Offer, error) {
	snapshot := o.Catalog.At(inv.Catalog)
	m, err := o.find(snapshot, inv.Model, inv.Access)
	if err != nil {
		return call.Offer{}, err
	}
	other, err := alternate(m, inv.Options)
	if err != nil {
		return call.Offer{}, err
	}
	server := m
	if other != nil {
		server = other.Model
	}
	if !server.Enabled(o.Lookup) {
		return call.Offer{}, notServed(server.ID)
	}
	offer := call.Offer{Model: m.ID, Provider: server.Provider, Catalog: snapshot.Hash()}
	if inv, err = readable(m, other, inv); err != nil {
		return offer, err
	}
	if other != nil {
		return o.viaAlternate(offer, m, other, inv)
	}
	if err := acceptable(m, inv); err != nil {
		return call.Offer{}, err
	}
	if err := o.price(&offer, m, inv.Body); err != nil {
		return call.Offer{}, err
	}
	return o.withFallback(offer, m, inv), nil
}

// price sets the amount to reserve for a call with this body: the highest possible price. If the catalog does not
// know this price, the amount is the operator's ceiling for the model; without a ceiling the body is refused, because
// the call would be free.
func (o Offers) price(offer *call.Offer, m *catalog.Model, body []byte) error {
	offer.Reserve = m.Price(body).Max
	unpriced := m.Unpriced(body)
	if len(unpriced) == 0 {
		return nil
	}
	ceiling := o.ceiling(m)
	if ceiling == 0 {
		return refused(unpriced)
	}
	offer.Reserve, offer.Unpriced = max(offer.Reserve, ceiling), true
	return nil
}

// ceiling returns the amount that the operator allows to be reserved for calls of the model whose price is not known;
// 0 means that there is no ceiling.
func (o Offers) ceiling(m *catalog.Model) int64 {
	for _, pattern := range []string{m.ID, m.Provider + "/*", "*"} {
		if amount, ok := o.Ceilings[pattern]; ok {
			return amount
		}
	}
	return 0
}

// Snapshot returns the current snapshot of the catalog.
func (o Offers) Snapshot() *catalog.Snapshot { return o.Catalog.Snapshot() }

// Runnable reports whether the operator has set the model's credential.
func (o Offers) Runnable(m *catalog.Model) bool { return m.Enabled(o.Lookup) }

// Missing returns the names of the variables that the operator must set to enable the model.
func (o Offers) Missing(m *catalog.Model) []string { return m.Missing(o.Lookup) }

// Find returns a model that the caller may run. It returns 404 for a model that is not in the catalog, 403 for one to
// which the account is not entitled, and 404 for one without a credential of the operator.
func (o Offers) Find(id string, access account.Access) (*catalog.Model, error) {
	m, err := o.FindAny(id, access)
	if err == nil && !o.Runnable(m) {
		return nil, notServed(id)
	}
	return m, err
}

// FindAny returns a model under the rules of Find, except that the model may lack its credential.
func (o Offers) FindAny(id string, access account.Access) (*catalog.Model, error) {
	return o.find(o.Catalog.Snapshot(), id, access)
}

func (o Offers) find(s *catalog.Snapshot, id string, access account.Access) (*catalog.Model, error) {
	m, ok := s.Find(id)
	switch {
	case !ok:
		return nil, o.notFound(s, id, access)
	case !access.Allows(m.ID):
		return nil, call.Refuse(fault.Denied, call.Forbidden, "this account is not entitled to the model %s", m.ID)
	}
	return m, nil
}

// notServed refuses a model of the catalog for which the operator has set no credential.
func notServed(id string) *call.Refusal {
	return call.Refuse(fault.NotFound, call.ModelNotFound, "the model %s is not available: the operator has not configured it", shorten(id))
}

// notFound refuses an unknown model. It suggests similar ids of models that the caller may run.
func (o Offers) notFound(s *catalog.Snapshot, id string, access account.Access) *call.Refusal {
	detail := "model " + shorten(id) + " does not exist"
	for i, other := range s.Suggest(id, func(m *catalog.Model) bool { return access.Allows(m.ID) && o.Runnable(m) }) {
		if i == 0 {
			detail += "; did you mean "
		} else {
			detail += ", "
		}
		detail += other
	}
	return call.Refuse(fault.NotFound, call.ModelNotFound, "%s", detail)
}

// shorten cuts a text of the caller for use in an answer.
func shorten(s string) string { return fault.Shorten(s, 200) }

// acceptable checks the body, which must be one JSON object that matches the model's schema.
func acceptable(m *catalog.Model, inv call.Invocation) error {
	if err := object(inv.Body); err != nil {
		return err
	}
	violations := m.Validate(inv.Body)
	if inv.Options.RejectUnknown {
		violations = append(violations, m.UnknownFields(inv.Body)...)
	}
	return refused(violations)
}

// refused returns the refusal of a body with violations, or nil if there are no violations.
func refused(violations []catalog.Violation) error {
	if len(violations) == 0 {
		return nil
	}
	raw, err := json.Marshal(violations)
	if err != nil {
		return err
	}
	r := call.RefuseWith(fault.Invalid, fault.CodeContents, call.InvalidInput, "the model's schema does not accept the body")
	r.Validation = raw
	return r
}

// readable returns the request with a form replaced by the equivalent JSON object. Only models whose providers take
// forms accept a form, and only at their own server.
func readable(m *catalog.Model, other *catalog.Alternate, inv call.Invocation) (call.Invocation, error) {
	if !catalog.IsForm(inv.ContentType) {
		return inv, nil
	}
	if other != nil || !m.TakesForms() {
		return inv, call.Refuse(fault.Invalid, call.InvalidInput, "the model %s takes a JSON object, not a form", m.ID)
	}
	body, err := m.FormInput(inv.ContentType, inv.Body)
	if err != nil {
		return inv, call.Refuse(fault.Invalid, call.InvalidInput, "%s", err.Error())
	}
	inv.Body = body
	return inv, nil
}

// object refuses a body that is not one JSON object, or contains an object with two members of the same name: the
// provider could read the member that was not checked and priced.
func object(body []byte) error {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(body) {
		return call.Refuse(fault.Invalid, call.InvalidInput, "the body is not a JSON object")
	}
	if !jsondoc.Readable(body) {
		return call.Refuse(fault.Invalid, call.InvalidInput, "the body is nested deeper than %d levels", jsondoc.MaxDepth)
	}
	if !jsondoc.Unambiguous(body) {
		return call.Refuse(fault.Invalid, call.InvalidInput, "an object in the body has two members of the same name")
	}
	return nil
}

// natives are the values of model_provider that mean the model's own server.
var natives = []string{"", "default", "comfy", "comfyui"}

// alternate returns the server that a request names, or nil for the model's own server. It refuses an unknown server,
// and one that does not serve the model.
func alternate(m *catalog.Model, o call.Options) (*catalog.Alternate, error) {
	if slices.Contains(natives, o.ModelProvider) {
		return nil, nil // "its own" is an answer
	}
	if a, ok := m.Alternate(o.ModelProvider); ok {
		return a, nil
	}
	if slices.Contains(catalog.Servers(), o.ModelProvider) {
		return nil, call.Refuse(fault.NotFound, call.ModelNotFound, "%s does not serve the model %s", o.ModelProvider, m.ID)
	}
	return nil, call.Refuse(fault.Invalid, call.InvalidInput, "model_provider must be one of default, fal, wavespeed, runware, higgsfield")
}

// viaAlternate completes the offer of a call that is sent to an alternate.
func (o Offers) viaAlternate(offer call.Offer, m *catalog.Model, a *catalog.Alternate, inv call.Invocation) (call.Offer, error) {
	body := inv.Body
	if inv.Options.Strict {
		if err := object(body); err != nil {
			return offer, err
		}
		if err := refused(a.Model.TaskConflicts(body)); err != nil {
			return offer, err
		}
	} else {
		if err := acceptable(m, inv); err != nil {
			return offer, err
		}
		translated, _, err := a.Request(body)
		if err != nil {
			return offer, call.RefuseWith(fault.Invalid, fault.CodeContents, call.InvalidInput, "the body cannot be translated into a request of %s",
				a.Server)
		}
		body = translated
	}
	offer.Server = a.Server
	return offer, o.price(&offer, a.Model, body)
}

// withFallback adds to the offer the first alternate that may serve the call while the model's own server is
// unavailable. The higher of the two prices is reserved.
func (o Offers) withFallback(offer call.Offer, m *catalog.Model, inv call.Invocation) call.Offer {
	if !inv.Options.Fallback || m.TakesForms() {
		return offer
	}
	for _, a := range m.Alternates {
		if !a.Model.Enabled(o.Lookup) || !a.CanReplace(inv.Body) {
			continue
		}
		translated, _, err := a.Request(inv.Body)
		if err != nil {
			continue
		}
		other := call.Offer{}
		if err := o.price(&other, a.Model, translated); err != nil {
			continue
		}
		offer.Fallback, offer.Reserve, offer.Unpriced = a.Server, max(offer.Reserve, other.Reserve), offer.Unpriced || other.Unpriced
		break
	}
	return offer
}
