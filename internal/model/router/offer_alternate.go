package router

import (
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/model/catalog"
)

// natives are the names of a model's own server.
var natives = []string{"", "default", "comfy", "comfyui"}

// alternate returns the server that an invocation names, nil for the model's own: 404 for one that
// does not serve the model, 400 for an unknown one.
func alternate(m *catalog.Model, o call.Options) (*catalog.Alternate, error) {
	if slices.Contains(natives, o.ModelProvider) {
		return nil, nil //nolint:nilnil // "its own" is an answer
	}
	if a, ok := m.Alternate(o.ModelProvider); ok {
		return a, nil
	}
	if slices.Contains(catalog.Servers(), o.ModelProvider) {
		return nil, call.Refuse(404, call.ModelNotFound, "%s does not serve the model %s", o.ModelProvider, m.ID)
	}
	return nil, call.Refuse(400, call.InvalidInput, "model_provider is not one of default, fal, wavespeed, runware, higgsfield")
}

// through completes the offer of a call that goes to an alternate.
func (o Offers) through(offer call.Offer, m *catalog.Model, a *catalog.Alternate, inv call.Invocation) (call.Offer, error) {
	body := inv.Body
	if inv.Options.Strict {
		if err := object(body); err != nil {
			return offer, err
		}
		if err := refused(a.Model.Usurped(body)); err != nil {
			return offer, err
		}
	} else {
		if err := acceptable(m, inv); err != nil {
			return offer, err
		}
		translated, _, err := a.Request(body)
		if err != nil {
			return offer, call.Refuse(422, call.InvalidInput, "the body cannot be translated for %s", a.Server)
		}
		body = translated
	}
	var err error
	offer.Server = a.Server
	offer.Hold, err = hold(a.Model, body)
	return offer, err
}

// standIn completes the offer of a call to the model's own server with the first alternate that may take
// it over. The dearer of the two is held.
func (o Offers) standIn(offer call.Offer, m *catalog.Model, inv call.Invocation) call.Offer {
	if !inv.Options.Fallback || m.TakesForms() {
		return offer
	}
	for _, a := range m.Alternates {
		if !a.Model.Enabled(o.Lookup) || !a.StandsIn(inv.Body) {
			continue
		}
		translated, _, err := a.Request(inv.Body)
		if err != nil {
			continue
		}
		most, err := hold(a.Model, translated)
		if err != nil {
			continue
		}
		offer.Fallback, offer.Hold = a.Server, max(offer.Hold, most)
		break
	}
	return offer
}
