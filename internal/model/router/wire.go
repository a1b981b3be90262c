package router

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/model/catalog"
)

// wire is the way to the server of one conversation.
type wire struct {
	model *catalog.Model     // that the caller asked for
	entry *catalog.Model     // how its server is spoken to
	other *catalog.Alternate // set when bodies and answers are translated
}

// wire finds the server of a conversation in the catalog that its call was accepted with.
func (p *Provider) wire(c call.Conversation) (wire, error) {
	return wireOf(p.Catalog, c.Catalog, c.Model, c.Server, c.Strict)
}

func wireOf(models *catalog.Catalog, state, model, server string, strict bool) (wire, error) {
	m, ok := models.Find(model, state)
	if !ok {
		return wire{}, fmt.Errorf("the catalog has no model %s any more", model)
	}
	if server == "" {
		return wire{model: m, entry: m}, nil
	}
	a, ok := m.Alternate(server)
	switch {
	case !ok:
		return wire{}, fmt.Errorf("the catalog has no server %s of the model %s any more", server, model)
	case strict:
		return wire{model: a.Model, entry: a.Model}, nil
	}
	return wire{model: m, entry: a.Model, other: a}, nil
}

// result is the entry whose output schema and hosting rule an answer follows as it is delivered.
func (w wire) result() *catalog.Model { return w.model }

// request returns the body as the server takes it, and the fields that are lost on the way.
func (w wire) request(c call.Conversation) (body io.ReadSeeker, size int64, dropped []string, err error) {
	if w.other == nil {
		return c.Body, c.Size, nil, nil
	}
	caller, err := input(c)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("read the body: %w", err)
	}
	translated, dropped, err := w.other.Request(caller)
	return bytes.NewReader(translated), int64(len(translated)), dropped, err
}

// sent returns the body as the server took it, for its price.
func (w wire) sent(c call.Conversation) ([]byte, error) {
	caller, err := input(c)
	if err == nil && catalog.IsForm(c.ContentType) {
		return w.model.FormInput(c.ContentType, caller)
	}
	if err != nil || w.other == nil {
		return caller, err
	}
	translated, _, err := w.other.Request(caller)
	return translated, err
}

// sink is where the server's answer goes: to the caller as it streams, or into memory to be translated.
func (w wire) sink(to io.Writer) io.Writer {
	if w.other == nil || !w.other.Translates() {
		return to
	}
	return &kept{}
}

// errUntranslatable reports an answer that is not what its translation needs.
var errUntranslatable = errors.New("the answer cannot be translated")

// deliver writes a translated answer to its sink; false when the answer went there by itself.
func (w wire) deliver(c call.Conversation, answer, sink io.Writer) (bool, error) {
	k, ok := answer.(*kept)
	if !ok {
		return false, nil
	}
	if k.over {
		return false, fmt.Errorf("%w: it is larger than %d bytes", errUntranslatable, maxRewritten)
	}
	caller, err := input(c)
	if err != nil {
		return false, fmt.Errorf("read the body: %w", err)
	}
	translated, err := w.other.Response(w.model, caller, k.bytes.Bytes(), c.Handle)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUntranslatable, err)
	}
	_, err = sink.Write(translated)
	return true, err
}

// kept is an answer in memory, bounded: what is beyond is counted out and not kept.
type kept struct {
	bytes bytes.Buffer
	over  bool
}

// Write implements io.Writer.
func (k *kept) Write(p []byte) (int, error) {
	if k.over = k.over || k.bytes.Len()+len(p) > maxRewritten; k.over {
		k.bytes.Reset()
		return len(p), nil
	}
	return k.bytes.Write(p)
}
