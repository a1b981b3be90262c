package machines

import (
	"context"
	"net/netip"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// process is a provider whose machines are processes that package processes starts, in any worker. A token that is not revoked is the
// order to run a process for its machine, which the worker that registers its server carries out.
type process struct {
	servers Servers
	pool    string
}

func (p process) start(_ context.Context, machine, _ string) ([]string, error) {
	return []string{machine}, nil
}

// stop revokes the order, and waits until the process has ended. The server of a worker that has died expires.
func (p process) stop(ctx context.Context, handle string) error {
	_, err := p.servers.RevokeToken(ctx, handle, by("its machine is stopped"))
	if err != nil && fault.CodeOf(err) != fault.CodeTokenNotFound {
		return err
	}
	for {
		listed, err := p.list(ctx)
		if _, exists := listed[handle]; err != nil || !exists {
			return err
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// list returns the machines that wait for a worker, and those whose process has not ended for good.
func (p process) list(ctx context.Context) (places, error) {
	tokens, err := p.servers.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	all, err := p.servers.Servers(ctx)
	listed := places{}
	for _, t := range tokens {
		at := slices.IndexFunc(all, func(s *server.Server) bool { return s.Token == t.ID })
		exists := at < 0 && t.RevokedAt == nil || at >= 0 && !all[at].Process.Ended()
		if t.Pool == p.pool && exists {
			listed[t.Name] = netip.AddrPort{}
		}
	}
	return listed, err
}
