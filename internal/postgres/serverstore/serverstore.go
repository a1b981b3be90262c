// Package serverstore stores ComfyUI servers in PostgreSQL: their registrations, the result of their last probe, the
// segments that wait for a server, and the leases of those that run. It promises that a segment has one lease at a
// time, that the former holder of a lease cannot renew it, and that operators' commands are recorded as events.
// Package server decides which server a segment gets.
package serverstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/server"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
)

// Store keeps servers, waits and leases.
type Store struct {
	pool   *pgxpool.Pool
	events *eventstore.Store
}

// New returns the store in pool's database that is changed through events.
func New(pool *pgxpool.Pool, events *eventstore.Store) *Store {
	return &Store{pool: pool, events: events}
}

const columns = `id::text, url, labels, slots, fixed, drained, expires_at, registered_at, sealed, health, problem, version, system,
	running, pending, others, digest, models, seen_at, looked_at, coalesce(token::text, ''), price, models_folder,
	(select min(made_at) from comfyui_orphans o where o.server = comfyui_servers.id)`

// system is the part of a probe's result that describes a server's machine, and what became of jobs there.
type system struct {
	OS       string          `json:"os,omitempty"`
	Python   string          `json:"python,omitempty"`
	PyTorch  string          `json:"torch,omitempty"`
	RAMTotal int64           `json:"ram_total,omitempty"`
	RAMFree  int64           `json:"ram_free,omitempty"`
	Devices  []server.Device `json:"devices,omitempty"`
	Failing  *server.Failing `json:"failing,omitempty"` // which probes do not change, as the next one
	Process  *server.Process `json:"process,omitempty"`
}

func scan(row pgx.CollectableRow) (*server.Server, error) {
	s, sys := &server.Server{}, system{}
	err := row.Scan(&s.ID, &s.URL, &s.Labels, &s.Slots, &s.Fixed, &s.Drained, &s.ExpiresAt, &s.RegisteredAt, &s.Sealed, &s.Health, &s.Problem,
		&s.Version,
		&sys, &s.Running, &s.Pending, &s.Foreign, &s.Digest, &s.Models, &s.SeenAt, &s.LookedAt, &s.Token, &s.Price, &s.ModelsFolder,
		&s.CanceledAt)
	s.OS, s.RAMTotal, s.RAMFree, s.Devices, s.Failing = sys.OS, sys.RAMTotal, sys.RAMFree, sys.Devices, sys.Failing
	s.Process, s.Python, s.PyTorch = sys.Process, sys.Python, sys.PyTorch
	return s, err
}

// Servers returns all registered servers, oldest registration first, with their current leases.
func (st *Store) Servers(ctx context.Context) ([]*server.Server, error) {
	const what = "read the servers"
	all, err := postgres.Collect(ctx, st.pool, what, scan, selectServers)
	if err != nil {
		return nil, err
	}
	if err := st.addCopies(ctx, what, all); err != nil {
		return nil, err
	}
	counted, err := st.leases(ctx, what, countedLeases)
	return withLeases(all, counted), err
}

// withLeases adds leases to their servers.
func withLeases(all []*server.Server, counted []server.Lease) []*server.Server {
	byID := make(map[server.ID]*server.Server, len(all))
	for _, s := range all {
		byID[s.ID] = s
	}
	for _, l := range counted {
		if s := byID[l.Server]; s != nil {
			s.Leases = append(s.Leases, l)
		}
	}
	return all
}

const (
	selectServers = `select ` + columns + ` from comfyui_servers order by registered_at, id`
	leaseColumns  = `job, run, unit, account, server::text, attempt, fence, holder, until, since, reason, models, copying, result`
	selectLeases  = `select ` + leaseColumns + ` from comfyui_leases `
	countedLeases = `where until > now() and result is null`
	leaseOrder    = ` order by since, fence`
)

func (st *Store) leases(ctx context.Context, what, where string, args ...any) ([]server.Lease, error) {
	return postgres.Collect(ctx, st.pool, what, scanLease, selectLeases+where+leaseOrder, args...)
}

func scanLease(row pgx.CollectableRow) (server.Lease, error) {
	var l server.Lease
	err := row.Scan(&l.Job, &l.Run, &l.Unit, &l.Account, &l.Server, &l.Attempt, &l.Fence, &l.Holder, &l.Until, &l.Since, &l.Reason, &l.Models,
		&l.Copying, &l.Result)
	return l, err
}

// Server returns a server by its id or address, or NotFound.
func (st *Store) Server(ctx context.Context, ref string) (*server.Server, error) {
	all, err := st.Servers(ctx)
	if err != nil {
		return nil, err
	}
	address, err := server.ParseURL(ref)
	for _, s := range all {
		if string(s.ID) == ref || err == nil && s.URL == address {
			return s, nil
		}
	}
	return nil, fault.New(fault.NotFound, fault.CodeServerNotFound, "there is no server %q; `millrace servers list` lists them", ref)
}

// Register registers a server, or renews a registration that expires or is fixed. A server with any other
// registration is Conflict. A token cannot renew the registration of an operator: that is Conflict too.
func (st *Store) Register(ctx context.Context, r server.Registration, sealed []byte) (*server.Server, error) {
	s, err := st.register(ctx, r, sealed)
	if isKnown(err) { // another process registered it at the same time
		s, err = st.register(ctx, r, sealed)
	}
	if isKnown(err) {
		err = errKnown(r.URL)
	}
	return s, err
}

// isKnown reports whether err means that a server of the address was registered meanwhile.
func isKnown(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.ConstraintName == "comfyui_servers_url_key"
}

func (st *Store) register(ctx context.Context, r server.Registration, sealed []byte) (*server.Server, error) {
	var id server.ID
	var seen registering
	_, err := st.events.Write(ctx, eventstore.Decision{
		What: "register the server " + r.URL,
		Read: func(q *pgx.Batch) { seen.queue(q, r) },
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if !seen.admitted {
				return server.UnknownToken()
			}
			if len(seen.known) > 0 {
				id = seen.known[0].ID
				return renew(c, seen.known[0], r, sealed)
			}
			if seen.other != "" {
				return fault.New(fault.Conflict, fault.CodeServerExists, "the machine %s has registered the server %s already", r.Token.Name,
					seen.other)
			}
			if r.Token != nil && seen.byTokens >= server.MaxByTokens {
				return fault.New(fault.Exhausted, fault.CodeTooManyServers, "tokens have registered %d servers, the limit", seen.byTokens)
			}
			id = server.NewID() // of this decision: the transaction of an earlier one may have been repeated
			return insert(c, id, r, sealed)
		},
	})
	if err != nil {
		return nil, err
	}
	return st.Server(ctx, string(id))
}

// registering is what a registration depends on.
type registering struct {
	admitted bool             // its token, if any, is valid
	known    []*server.Server // the server of its address, if any
	byTokens int              // servers that tokens have registered
	other    string           // the server that the machine of a pool has registered, if any
}

// queue reads it. The token is locked, so that no registration follows its revocation, and of two at the same time one sees the other.
func (g *registering) queue(q *pgx.Batch, r server.Registration) {
	if g.admitted = r.Token == nil; !g.admitted {
		postgres.ScanInto(q.Queue(`select revoked_at is null from comfyui_tokens where id = $1 for no key update`, r.Token.ID), &g.admitted)
		postgres.ScanInto(q.Queue(`select count(*), coalesce(max(url) filter (where token = $1 and $2), '')
			from comfyui_servers where token is not null`, r.Token.ID, r.Token.Pool != ""), &g.byTokens, &g.other)
	}
	postgres.CollectInto(q.Queue(`select `+columns+` from comfyui_servers where url = $1 for update`, r.URL), &g.known, scan)
}

// insert adds a server that is not registered.
func insert(c *eventstore.Changes, id server.ID, r server.Registration, sealed []byte) error {
	expires := expiry(r)
	c.Queue(`insert into comfyui_servers (id, url, labels, slots, fixed, expires_at, registered_at, sealed, token, price, models_folder)
		values ($1, $2, $3, $4, $5, $6, now(), $7, $8, $9, $10)`,
		string(id), r.URL, r.Labels, r.Slots, r.Fixed, expires, sealed, tokenID(r.Token), r.Price, r.ModelsFolder)
	return record(c, id, r.By, server.TypeRegistered, registered(id, r, sealed, expires))
}

// registered returns the event of a registration.
func registered(id server.ID, r server.Registration, sealed []byte, expires *time.Time) server.RegisteredV1 {
	e := server.RegisteredV1{
		Server: id, URL: r.URL, Labels: r.Labels, Slots: r.Slots, Fixed: r.Fixed, Price: r.Price,
		Headers: len(sealed) > 0, ExpiresAt: expires, Models: r.ModelsFolder,
	}
	if r.Token != nil {
		e.Token = r.Token.ID
	}
	return e
}

func errKnown(address string) error {
	return fault.New(fault.Conflict, fault.CodeServerExists, "the server %s is registered already", address)
}

func expiry(r server.Registration) *time.Time {
	if r.ExpiresIn == 0 {
		return nil
	}
	at := time.Now().Add(r.ExpiresIn).UTC().Truncate(time.Microsecond)
	return &at
}

// renew renews an expiring registration, or updates a fixed one to the configuration of a process. It records changes
// other than the expiry.
func renew(c *eventstore.Changes, found *server.Server, r server.Registration, sealed []byte) error {
	expires := expiry(r)
	if !r.Fixed && (found.ExpiresAt == nil || expires == nil) || r.Token != nil && found.Token == "" {
		return errKnown(r.URL)
	}
	if r.Fixed {
		c.Queue(`update comfyui_servers set labels = $2, price = $3, fixed = true, expires_at = null, models_folder = $4,
			system = system - 'process' where id = $1`,
			string(found.ID), r.Labels, r.Price, r.ModelsFolder)
		return nil
	}
	c.Queue(`update comfyui_servers set labels = $2, slots = $3, expires_at = $4, sealed = coalesce($5, sealed),
		token = coalesce($6, token), price = $7, models_folder = $8 where id = $1`,
		string(found.ID), r.Labels, r.Slots, expires, sealed, tokenID(r.Token), r.Price, r.ModelsFolder)
	if slices.Equal(found.Labels, r.Labels) && found.Slots == r.Slots && found.Price == r.Price && found.ModelsFolder == r.ModelsFolder &&
		len(sealed) == 0 {
		return nil
	}
	return record(c, found.ID, r.By, server.TypeRegistered, registered(found.ID, r, sealed, expires))
}

func record(c *eventstore.Changes, of interface{ Stream() string }, by server.By, eventType string, data any) error {
	return c.Append(eventlog.AppendTo(of.Stream(), server.Account, by.Meta(), eventlog.NewEvent(eventType, data)))
}

// Drain stops or resumes the placement of new segments on a server. A change without effect records nothing.
func (st *Store) Drain(ctx context.Context, id server.ID, drained bool, by server.By) error {
	if err := server.CheckBy(by); err != nil {
		return err
	}
	eventType, data := server.TypeResumed, any(server.ResumedV1{Server: id})
	if drained {
		eventType, data = server.TypeDrained, server.DrainedV1{Server: id}
	}
	return st.change(ctx, id, by, eventType, data, `update comfyui_servers set drained = $2, system = system - 'failing'
		where id = $1 and (drained <> $2 or not $2 and system ? 'failing')`, drained)
}

// Remove removes a server. Its segments run on another server.
func (st *Store) Remove(ctx context.Context, id server.ID, by server.By) error {
	if err := server.CheckBy(by); err != nil {
		return err
	}
	return st.change(ctx, id, by, server.TypeRemoved, server.RemovedV1{Server: id}, `delete from comfyui_servers where id = $1`)
}

// hadClasses records until when a server had its class definitions.
const hadClasses = `update comfyui_classes c set made_at = now() from comfyui_servers s where s.id = $1 and s.digest = c.digest`

// change runs a statement that changes the row of a server, and records the event if a row changed.
func (st *Store) change(ctx context.Context, id server.ID, by server.By, eventType string, data any, statement string, args ...any) error {
	var changed int64
	_, err := st.events.Write(ctx, eventstore.Decision{
		What: "change the server " + string(id),
		Read: func(q *pgx.Batch) {
			q.Queue(hadClasses, string(id))
			postgres.CountInto(q.Queue(statement, append([]any{string(id)}, args...)...), &changed)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if changed == 0 {
				return eventstore.ErrNothing
			}
			return record(c, id, by, eventType, data)
		},
	})
	return err
}

// Expire removes the servers whose registration was not renewed in time.
func (st *Store) Expire(ctx context.Context) error {
	all, err := st.Servers(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.ExpiresAt == nil || time.Now().Before(*s.ExpiresAt) {
			continue
		}
		by := server.By{Actor: "registry", Reason: "the registration was not renewed in time"}
		if err := st.change(ctx, s.ID, by, server.TypeExpired, server.ExpiredV1{Server: s.ID},
			`delete from comfyui_servers where id = $1 and expires_at <= now()`); err != nil {
			return err
		}
	}
	return nil
}

// Claim returns the servers that are due for a probe by the caller.
func (st *Store) Claim(ctx context.Context, every time.Duration) ([]server.ID, error) {
	return postgres.Collect(ctx, st.pool, "claim servers to probe", pgx.RowTo[server.ID], `update comfyui_servers set looked_at = now()
		where looked_at is null or looked_at <= now() - $1::interval returning id::text`, every)
}

// RecordProbe records the result of a probe of a server.
func (st *Store) RecordProbe(ctx context.Context, s *server.Server) error {
	sys, err := json.Marshal(system{
		OS: s.OS, Python: s.Python, PyTorch: s.PyTorch, RAMTotal: s.RAMTotal, RAMFree: s.RAMFree, Devices: s.Devices,
	})
	if err != nil {
		return err
	}
	_, err = st.pool.Exec(ctx, `update comfyui_servers set health = $2, problem = $3, version = $4,
		system = $5::jsonb || jsonb_strip_nulls(jsonb_build_object('failing', system -> 'failing', 'process', system -> 'process')),
		running = $6, pending = $7,
		others = $8,
		digest = $9, seen_at = $10, looked_at = now() where id = $1`,
		string(s.ID), string(s.Health), s.Problem, s.Version, sys, s.Running, s.Pending, s.Foreign, s.Digest, s.SeenAt)
	return postgres.Classify(err, "record a probe of server "+s.URL)
}

// MarkAway records that a server did not answer its driver. The next probe may find it healthy again.
func (st *Store) MarkAway(ctx context.Context, id server.ID, problem string) error {
	_, err := st.pool.Exec(ctx, `update comfyui_servers set health = $2, problem = $3 where id = $1 and health = $4`,
		string(id), string(server.Absent), problem, string(server.Answers))
	return postgres.Classify(err, "mark away server "+string(id))
}

// RecordOutcome counts the outcome of an attempt on a server, and records when a server begins to rest and when it has recovered.
func (st *Store) RecordOutcome(ctx context.Context, id server.ID, o server.Outcome) error {
	var found []*server.Server
	_, err := st.events.Write(ctx, eventstore.Decision{
		What: "record an outcome on the server " + string(id),
		Read: func(q *pgx.Batch) {
			postgres.CollectInto(q.Queue(`select `+columns+` from comfyui_servers where id = $1 for update`, string(id)), &found, scan)
		},
		Decide: func(_ context.Context, _ postgres.Tx, c *eventstore.Changes) error {
			if len(found) == 0 {
				return eventstore.ErrNothing
			}
			failing, eventType, data := found[0].After(o, time.Now())
			c.Queue(`update comfyui_servers set system = jsonb_strip_nulls(system || jsonb_build_object('failing', $2::jsonb)) where id = $1`,
				string(id), failing)
			if data == nil {
				return nil
			}
			return record(c, id, server.By{Actor: "registry", Reason: "outcomes of jobs"}, eventType, data)
		},
	})
	return err
}

// KeepClasses stores class definitions under their digest. ForgetClasses spares them for 30 days, so that a server or a pool can name them.
func (st *Store) KeepClasses(ctx context.Context, digest string, body []byte) error {
	_, err := st.pool.Exec(ctx, `insert into comfyui_classes (digest, body, made_at) values ($1, $2, now())
		on conflict (digest) do update set body = excluded.body, made_at = excluded.made_at`, digest, body)
	return postgres.Classify(err, "keep the classes of a server")
}

// Classes returns the definitions under a digest, or NotFound.
func (st *Store) Classes(ctx context.Context, digest string) (body []byte, err error) {
	err = st.pool.QueryRow(ctx, `select body from comfyui_classes where digest = $1`, digest).Scan(&body)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.Wrap(err, fault.NotFound, "", "no class definitions %s", digest)
	}
	return body, postgres.Classify(err, "read the classes of a server")
}

// RemovedClasses returns the class definitions that no server has any longer, the latest first.
func (st *Store) RemovedClasses(ctx context.Context) (map[string][]byte, []string, error) {
	bodies := map[string][]byte{}
	var order []string
	err := postgres.Each(ctx, st.pool, "read the classes of removed servers", func(row pgx.CollectableRow) error {
		var digest string
		var body []byte
		err := row.Scan(&digest, &body)
		bodies[digest], order = body, append(order, digest)
		return err
	}, `select digest, body from comfyui_classes c where not exists (select from comfyui_servers s where s.digest = c.digest)
		order by made_at desc limit $1`, maxRemoved)
	return bodies, order, err
}

// maxRemoved bounds the definitions of removed servers that are read: a machine that comes and goes leaves one each
// time its files change.
const maxRemoved = 20

// ForgetClasses deletes definitions that no server has had for 30 days. Until then, jobs that were accepted while a
// server had them are planned with them.
func (st *Store) ForgetClasses(ctx context.Context) error {
	_, err := st.pool.Exec(ctx, `delete from comfyui_classes c where made_at < now() - interval '30 days'
		and not exists (select from comfyui_servers s where s.digest = c.digest)
		and not exists (select from pools p where p.state ->> 'classes' = c.digest)`)
	return postgres.Classify(err, "forget classes of servers")
}
