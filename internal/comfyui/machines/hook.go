package machines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/outbound"
)

// hook is a provider whose calls are requests to addresses of the operator.
type hook struct {
	pool.Provider
	pool  string
	wire  webhook.Wire
	allow []string
}

// message is the body of a request.
type message map[string]string

func (h hook) start(ctx context.Context, machine, token string) ([]string, error) {
	var answer struct {
		Machine string `json:"machine"`
	}
	err := h.post(ctx, h.Start, message{"pool": h.pool, "machine": machine, "token": token}, &answer)
	return []string{answer.Machine}, err
}

func (h hook) stop(ctx context.Context, handle string) error {
	return h.post(ctx, h.Stop, message{"pool": h.pool, "machine": handle}, nil)
}

func (h hook) list(ctx context.Context) (places, error) {
	var ids []string
	err := h.post(ctx, h.List, message{"pool": h.pool}, &ids)
	if err == nil && ids == nil { // null is no list of no machines
		err = failure("gave no list")
	}
	return somewhere(ids), err
}

func (h hook) post(ctx context.Context, address string, m message, into any) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return failure("has an address that is none")
	}
	req.Header.Set("Content-Type", "application/json")
	if h.Secret != "" {
		key := os.Getenv(h.Secret)
		if err := webhook.Sign(req.Header, uuid.NewString(), time.Now(), body, key); err != nil || key == "" || isSetting(h.Secret) {
			return failure("cannot be signed: the workers need a key such as whsec_… in the variable " + h.Secret)
		}
	}
	res, err := h.wire.RoundTrip(req, h.allow)
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return failure("was not sent: only public https addresses are reached, and those of MILLRACE_WEBHOOK_ALLOW")
	case err != nil:
		return failure("got no answer")
	}
	return read(res, maxAnswer, into)
}
