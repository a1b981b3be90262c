package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"github.com/millrace-dev/millrace/activities"
	"github.com/millrace-dev/millrace/activities/modelcall"
	"github.com/millrace-dev/millrace/activities/nodevalue"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/comfyui/placement"
	"github.com/millrace-dev/millrace/internal/comfyui/processes"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/eventtypes"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/domain/load"
	"github.com/millrace-dev/millrace/internal/domain/outbox"
	"github.com/millrace-dev/millrace/internal/domain/webhook"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/standard"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/callstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/jobstore"
	"github.com/millrace-dev/millrace/internal/postgres/outboxstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/bucket"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
	"github.com/millrace-dev/millrace/internal/storage/secret"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
	"github.com/millrace-dev/millrace/internal/stream"
	"github.com/millrace-dev/millrace/internal/telemetry"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/namespace"
	"github.com/millrace-dev/millrace/worker/starter"
)

// Instance is one process: the parts that its roles share.
type Instance struct {
	cfg      config.Config
	settings settings
	log      *slog.Logger
	roles    []Role
	name     string // name of this process in events
	worker   string // name of this process among all workers
	pool     *postgres.Pool
	types    *eventlog.Registry
	wake     *eventstore.Wake
	tail     *eventstore.Tailer
	events   *eventstore.Store
	jobs     *jobstore.Store
	key      *secret.Key
	sealer   *secret.Sealer
	sealers  secret.Sealers    // encrypt data that outlives a key: webhooks and downloads
	signer   *signedurl.Signer // makes links to content; all replicas accept each other's links
	blobs    blob.Store
	values   blob.Store
	assets   *assetstore.Store
	files    *files.Service
	classes  *node.Registry
	ffmpeg   *ffmpeg.Tool // nil = it is not installed
	client   client.Client
	relay    *outbox.Relay
	hub      *stream.Hub // fan-out to the watching clients of this process
	bus      stream.Bus
	tiers    Tiers
	traces   *telemetry.Provider // nil: no traces are exported
	catalog  *catalog.Catalog
	auth     edge.Authenticator // checks the credentials of clients
	keys     edge.Authenticator // checks the keys of accounts; nil = there are no accounts
	people   *edge.People       // who sign in with OpenID Connect; nil = nobody does
	tokens   edge.Authenticator // checks JSON Web Tokens; nil = none are accepted
	credits  *accountstore.Credits
	callEnds *call.Watch
	calls    *callstore.Store
	models   *modelcall.Activities // nil in a process without the role worker
	service  *call.Service         // nil in a process that has neither the role api nor worker
	sent     webhook.Counts
	storage  *accountstore.Storage
	graphs   *job.Handover // nil unless this process both accepts and runs jobs
	servers  *placement.Pool
	own      *processes.Keeper // of ComfyUI processes; nil = none are started

	submissions, uploads *load.Gate // requests under way
	starts, ingestions   *load.Gate // before the relay: they give way to these requests

	statements atomic.Int64            // statements that the pool has sent
	late       atomic.Int64            // jobs whose workflow task is late
	payloads   converter.DataConverter // converts the payloads that Temporal stores
	attributes namespace.Attributes    // whether workflows have search attributes
}

// Open connects the parts. It starts nothing.
func Open(ctx context.Context, cfg config.Config, log *slog.Logger, roles []Role) (*Instance, error) {
	in := &Instance{cfg: cfg, log: log, roles: roles, hub: stream.NewHub(stream.HubOptions{})}
	var err error
	if in.tiers, err = NewTiers(cfg); err != nil {
		return nil, err
	}
	in.settings = in.tiers.settings
	for _, step := range []func(context.Context) error{
		in.openLog, in.openStores, in.openAuth, in.openServers, in.openProcesses, in.openTemporal, in.openModels, in.openSender,
	} {
		if err := step(ctx); err != nil {
			in.Close()
			return nil, err
		}
	}
	return in, nil
}

func (in *Instance) has(r Role) bool { return slices.Contains(in.roles, r) }

func (in *Instance) openLog(ctx context.Context) (err error) {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	in.name = fmt.Sprintf("%s/%d", host, os.Getpid())
	in.worker = in.name + "/" + uuid.NewString() + privateMark(in.cfg.PrivateServers)
	if in.types, err = eventtypes.Registry(); err != nil {
		return err
	}
	within := databaseWithin
	if len(in.roles) == 0 { // a command
		within = 0
	}
	if in.pool, err = postgres.OpenWithin(ctx, in.cfg.DatabaseURL, postgres.PoolOptions{
		MaxConns: poolSize, Silence: statementTimeout, Statements: &in.statements, Direct: in.cfg.DirectURL,
	}, within, in.log); err != nil {
		return err
	}
	in.wake = eventstore.NewWake(in.cfg.SessionURL(), in.log)
	if len(in.roles) == 0 {
		in.wake = eventstore.NewCommandWake(in.pool)
	}
	if err := in.openTail(ctx, findEndWithin); err != nil {
		return err
	}
	in.events = eventstore.New(in.pool, in.types, in.wake)
	in.jobs = jobstore.New(in.pool, in.events)
	in.storage = accountstore.NewStorage(in.pool, in.cfg.AccountLimit)
	if in.has(API) && in.has(Worker) {
		in.graphs = graph.NewHandover[job.Fresh]()
	}
	accounts := accountstore.New(in.pool)
	in.tiers.Accounts, in.tiers.Payers = accounts.Account, accounts.Payer
	return nil
}

// databaseWithin bounds how long a service process waits for a database that does not accept connections yet.
const databaseWithin = time.Minute

// findEndWithin bounds how long a process waits for the end of the log: transactions take milliseconds, and one that is stuck is
// ended by the database after its idle time.
const findEndWithin = 30 * time.Second

// openTail opens the tail of a process that has roles, within a time. A command reads none.
func (in *Instance) openTail(ctx context.Context, within time.Duration) (err error) {
	if len(in.roles) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within,
		errors.New("a transaction that has appended to the event log does not end; `millrace doctor` names its session"))
	defer cancel()
	in.tail, err = eventstore.OpenTailer(ctx, in.pool, in.cfg.SessionURL(), in.wake, eventstore.TailerOptions{Log: in.log})
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// poolSize serves the requests and activities of one process; more connections only queue inside PostgreSQL.
const poolSize = 24

// statementTimeout bounds how long a statement of the service waits for a byte of the server. No statement takes
// nearly as long; without the bound, a statement on a connection whose other end is gone would wait for ever.
const statementTimeout = time.Minute

// outboxPoll is the interval between two searches for intents that no process has delivered at once, while the
// service is busy.
const outboxPoll = time.Second

func (in *Instance) openStores(ctx context.Context) (err error) {
	if in.key, err = in.secretKey(); err != nil {
		return err
	}
	keys, err := in.secretKeys()
	if err != nil {
		return err
	}
	if in.sealers, err = secret.NewSealers(keys); err != nil {
		return err
	}
	if in.sealer, err = in.key.Sealer(); err != nil {
		return err
	}
	if in.signer, err = newSigner(keys); err != nil {
		return err
	}
	if in.blobs, err = in.openBlobs(ctx); err != nil {
		return err
	}
	if in.values, err = disk.Open(ctx, valueDir(in.cfg), disk.Options{Log: in.log}); err != nil {
		return err
	}
	in.assets = assetstore.New(in.pool, in.events).Within(in.storage)
	in.files = files.New(in.assets, in.blobs, files.Options{
		InputRetention: in.cfg.AssetRetention, OutputRetention: job.OutputRetention(in.cfg.JobRetention),
	})
	if in.ffmpeg, err = ffmpeg.Find(in.cfg.FFmpeg); err != nil {
		return fmt.Errorf("MILLRACE_FFMPEG: %w", err)
	}
	if in.ffmpeg == nil {
		in.log.Info("ffmpeg not found: classes of sound and video are not offered")
	}
	in.classes, err = standard.Registry(in.ffmpeg)
	return err
}

func (in *Instance) secretKey() (*secret.Key, error) {
	if in.cfg.SecretKey != "" {
		return secret.Parse(in.cfg.SecretKey)
	}
	if err := os.MkdirAll(in.cfg.DataDir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return secret.LoadOrCreate(secretFile(in.cfg))
}

// openTemporal makes the client. The client connects when it is first used, so that the API serves while Temporal is down.
func (in *Instance) openTemporal(ctx context.Context) (err error) {
	traced, err := in.openTraces(ctx)
	if err != nil {
		return err
	}
	options, err := TemporalOptions(in.cfg, in.log)
	if err != nil {
		return err
	}
	options.Identity, options.Interceptors, in.payloads = in.worker, traced, options.DataConverter
	in.client, err = client.NewLazyClient(options)
	if err != nil {
		return fmt.Errorf("Temporal client: %w", err)
	}
	deliver := &starter.Starter{
		Client: in.client, Queue: in.cfg.TaskQueue, Attributes: &in.attributes,
		Eager: in.has(API) && in.has(Worker) && in.cfg.Temporal.BuildID == "", JoinIngests: in.cfg.ScanCommand == "",
	}
	deliver.Ended = in.callEnded
	if in.traces != nil {
		deliver.Traced = in.traced
	}
	in.relay = outbox.NewRelay(outboxstore.New(in.pool), deliver, in.log, outboxPoll)
	in.uploads, in.ingestions = asset.NewGates(in.relay.Notify)
	in.submissions, in.starts = job.NewGates(in.ingestions.Notify)
	in.events.DeliverBy(in.starts.Notify)
	return nil
}

// Close releases everything that Open has opened.
func (in *Instance) Close() {
	in.traces.Close(in.log)
	if in.client != nil {
		in.client.Close()
	}
	if in.pool != nil {
		in.pool.Close()
	}
}

func (in *Instance) limits() graph.Limits { return graph.Limits{MaxNodes: in.cfg.MaxNodes} }

func (in *Instance) sources() job.Sources {
	return job.Sources{Events: in.events, Registry: in.types, Blobs: in.blobs}
}

// start starts the parts that every role needs, and then the roles.
func (in *Instance) start(ctx context.Context, group *errgroup.Group) {
	group.Go(func() error { return in.wake.Run(ctx) })
	group.Go(func() error { return in.tail.Run(ctx) })
	group.Go(func() error { return in.relay.Run(ctx) })
	group.Go(func() error { return in.starts.Run(ctx) })
	group.Go(func() error { return in.ingestions.Run(ctx) })
	group.Go(func() error { return in.follow(ctx, func([]eventlog.Recorded) { in.relay.Wake() }) })
	group.Go(func() error { return in.watchCatalog(ctx) })
	group.Go(func() error { in.attributes.Await(ctx, in.namespace()); return nil })
	if in.has(API) || in.has(Worker) {
		in.startServers(ctx, group)
		in.service = in.callService(ctx, group)
	}
	if in.has(Worker) {
		in.startWorker(ctx, group)
		in.startWebhooks(ctx, group)
	}
	if in.has(Projector) {
		in.startProjector(ctx, group)
	}
}

// graphActivities returns the activities of graph runs, with their dependencies.
func (in *Instance) graphActivities(stops *activities.Stops) *activities.Graph {
	return activities.NewGraph(activities.Deps{
		Events: in.events, Types: in.types, Sources: in.sources(), Assets: in.files, Jobs: in.jobs, Tiers: in.tiers,
		Classes: in.classes, Partners: in.partners(), Segments: in.segments(), Limits: in.limits(), Graphs: in.graphs,
		Values: nodevalue.New(in.values, valueMemory, maxValue, valueRecency),
		Files:  func(run job.RunRef, id string) activities.NodeFiles { return in.files.ForNode(run, id) },
		Cache:  in.nodeCache(), Bus: in.bus, Stops: stops, Marks: jobstore.NewNodeMarks(in.pool, in.worker),
		MaxPixels: in.cfg.MaxPixels, NodeTimeout: in.cfg.NodeTimeout, Worker: in.name, Log: in.log,
		Waiting: worker.ActivitiesWait(in.client, in.cfg.TemporalNamespace),
	})
}

const (
	valueMemory  = 256 << 20       // bytes of recent values that are also kept in memory,
	valueRecency = 2 * time.Minute // and for how long, so that a service at rest is small
	maxValue     = 16 << 30        // bytes of one stored value: far above the pixel cap times 16
)

// openBlobs opens the store of files: the bucket, if one is configured, otherwise the data directory.
func (in *Instance) openBlobs(ctx context.Context) (blob.Store, error) {
	b := in.cfg.Bucket
	if b.Name == "" {
		return disk.Open(ctx, blobDir(in.cfg), disk.Options{Log: in.log})
	}
	return bucket.Open(ctx, bucket.Options{
		Endpoint: b.Endpoint, Region: b.Region, Bucket: b.Name, Prefix: b.Prefix, AccessKey: b.AccessKey, SecretKey: b.SecretKey,
		Insecure: b.Insecure, Encrypt: bucket.Encryption(b.Encrypt), KMSKey: b.KMSKey, Spool: filepath.Join(in.cfg.DataDir, "spool"),
		Locks: assetstore.NewBlobLocks(in.pool), Log: in.log,
	})
}

// newSigner returns the signer of links to content, with keys that are derived from the secret keys. The present one
// signs links; links signed with former keys are still accepted.
func newSigner(roots []*secret.Key) (*signedurl.Signer, error) {
	keys := make([]signedurl.Key, len(roots))
	for i, root := range roots {
		derived, err := root.Derive("links")
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(derived) // identifies the key without revealing it
		keys[i] = signedurl.Key{ID: hex.EncodeToString(sum[:4]), Secret: derived}
	}
	return signedurl.New(keys, signedurl.Options{})
}

// secretKeys returns the secret keys, the present one first.
func (in *Instance) secretKeys() ([]*secret.Key, error) {
	roots := []*secret.Key{in.key}
	for text := range strings.SplitSeq(in.cfg.FormerKeys, ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		former, err := secret.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("a former secret key: %w", err)
		}
		roots = append(roots, former)
	}
	return roots, nil
}

// ExistingBlobs opens the blob store if it exists, and never creates one.
func ExistingBlobs(ctx context.Context, cfg config.Config, pool *postgres.Pool) (blob.Store, error) {
	if _, err := os.Stat(blobDir(cfg)); cfg.Bucket.Name == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, operate.ErrNoDataDir
	}
	return (&Instance{cfg: cfg, pool: pool, log: slog.New(slog.DiscardHandler)}).openBlobs(ctx)
}
