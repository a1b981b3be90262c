package machines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/pool"
)

// provider starts, stops and lists machines. Each call ends with its context. The keeper checks what is answered before it uses it, and
// errors are failures. Stopping a machine that does not exist may fail.
type provider interface {
	start(ctx context.Context, machine, token string) (ids []string, err error) // ids should be the one of the machine
	stop(ctx context.Context, handle string) error
	list(ctx context.Context) (places, error)
}

// places are the machines that exist, with the addresses of their servers; the zero value = the machine registers its server itself.
type places map[string]netip.AddrPort

// failure says how a call of a provider failed, in words that follow its name, and without anything that was answered.
type failure string

// Error implements error.
func (f failure) Error() string { return string(f) }

// Bounds of a call.
const (
	startWithin = 5 * time.Minute
	stopWithin  = 2 * time.Minute
	listWithin  = 30 * time.Second
	maxAnswer   = 256 << 10 // bytes
)

// provider returns the provider of a pool, and the name of its calls.
func (k *Keeper) provider(p pool.Pool) (by provider, calls string, err error) {
	if kind := p.Of(); kind != pool.Webhook && kind != pool.Process && !k.Allowed {
		return nil, "", failure("pools of the kind " + string(kind) + " are switched off: set MILLRACE_POOL_COMMANDS=true")
	}
	switch p.Of() {
	case pool.Webhook:
		return hook{p.Provider, p.Name, k.Wire, k.Allow}, "request", nil
	case pool.Kubernetes:
		c, err := openCluster(p)
		return c, "request", err
	case pool.Process:
		return process{k.Servers, p.Name}, "order", nil
	case pool.Command:
	}
	return command{p.Provider}, "command", nil
}

// call makes a call of a pool's provider within its time.
func (k *Keeper) call(ctx context.Context, p pool.Pool, what string, do func(context.Context, provider) error) error {
	by, calls, err := k.provider(p)
	if err != nil {
		return err
	}
	within := cmp.Or(k.Within, map[string]time.Duration{"start": startWithin, "stop": stopWithin, "list": listWithin}[what])
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = do(ctx, by)
	name := "its " + what + " " + calls
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failure(fmt.Sprintf("%s took longer than %s", name, within))
	case ctx.Err() != nil:
		return failure(name + " was interrupted")
	}
	return failure(name + " " + err.Error())
}

// start starts a machine and returns the id that its provider knows it by.
func (k *Keeper) start(ctx context.Context, p pool.Pool, machine, token string) (handle string, err error) {
	err = k.call(ctx, p, "start", func(ctx context.Context, by provider) error {
		ids, err := by.start(ctx, machine, token)
		switch {
		case err != nil:
			return err
		case len(ids) != 1:
			return failure(fmt.Sprintf("gave %d ids of machines, not one", len(ids)))
		case !pool.IsMachine(ids[0]) || strings.Contains(ids[0], token):
			return failure("gave a text that is no id of a machine")
		}
		handle = ids[0]
		return nil
	})
	return handle, err
}

// list returns the machines of a pool that exist.
func (k *Keeper) list(ctx context.Context, p pool.Pool) (listed places, err error) {
	err = k.call(ctx, p, "list", func(ctx context.Context, by provider) (err error) {
		listed, err = by.list(ctx)
		for id := range listed {
			if !pool.IsMachine(id) {
				return failure("gave a text that is no id of a machine")
			}
		}
		return err
	})
	return listed, err
}

// somewhere returns the places of machines that register their servers themselves.
func somewhere(ids []string) places {
	all := places{}
	for _, id := range ids {
		all[id] = netip.AddrPort{}
	}
	return all
}

// refusal is the status of an answer that is no success.
type refusal int

// Error implements error.
func (r refusal) Error() string { return fmt.Sprintf("failed: status %d", int(r)) }

// read decodes the answer to a request; into may be nil.
func read(res *http.Response, most int64, into any) error {
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	switch {
	case res.StatusCode < 200 || res.StatusCode > 299:
		return refusal(res.StatusCode)
	case err != nil:
		return failure("was answered in part")
	case int64(len(raw)) > most:
		return failure(fmt.Sprintf("gave more than %d bytes", most))
	case into != nil && json.Unmarshal(raw, into) != nil:
		return failure("gave no JSON of the form that is needed")
	}
	return nil
}
