package router

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/model/catalog"
)

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
			return offer, call.RefuseWith(fault.Invalid, fault.CodeContents, call.InvalidInput, "the body cannot be translated into a request of %s", a.Server)
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
