// Package config is the typed configuration of every role. It is read from the environment, overridden by flags, and
// checked as a whole: all problems are reported at once. Only internal/app reads it; other packages get their own
// options.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
)

// Config holds all settings of a process.
type Config struct {
	Roles string // MILLRACE_ROLES, roles of a `serve` process, comma list
	Addr  string // MILLRACE_ADDR, listen address
	// MILLRACE_EDITOR, directory of an unpacked web editor that is served beside the API; EditorAuto fetches one; "" = none
	Editor            string
	EditorIndex       string // MILLRACE_EDITOR_INDEX, address of the simple package index that EditorAuto asks; "" = PyPI
	PublicURL         string // MILLRACE_PUBLIC_URL, base of absolute URLs; "" = from the request
	Auth              string // MILLRACE_AUTH: AuthNone, AuthToken or AuthKeys
	Token             string // MILLRACE_TOKEN
	AllowWide         bool   // MILLRACE_ALLOW_UNAUTHENTICATED, allow mode none on an address that is not loopback
	Proxies           []netip.Prefix
	Origins           []string // MILLRACE_ALLOWED_ORIGINS, origins of web pages that may call the API
	InternalAddr      string   // MILLRACE_INTERNAL_ADDR, health checks and peers; "" = none
	AdvertiseURL      string   // MILLRACE_ADVERTISE_URL, where peers reach it; "" = from the host name
	DataDir           string   // MILLRACE_DATA
	DatabaseURL       string
	DirectURL         string // DATABASE_DIRECT_URL, PostgreSQL itself where DatabaseURL leads through a pooler; "" = it does not
	TemporalAddress   string
	TemporalNamespace string
	Temporal          Temporal
	TaskQueue         string // MILLRACE_TASK_QUEUE
	AdminToken        string // MILLRACE_ADMIN_TOKEN, bearer token of the admin API; "" = there is none
	AdminAddr         string // MILLRACE_ADMIN_ADDR, listen address of the admin API; "" = that of the API
	MetricsAddr       string // MILLRACE_METRICS_ADDR, listen address of /metrics without a credential; "" = none
	Collector         Collector
	SecretKey         string // MILLRACE_SECRET_KEY, 32 bytes in hex; "" = a generated file in the data dir

	Slots       int           // MILLRACE_SLOTS, jobs of the local account that run at the same time
	TierSlots   string        // MILLRACE_TIER_SLOTS, jobs that run at the same time, by tier, as package account parses them
	QueueDepth  int           // MILLRACE_QUEUE_DEPTH, waiting jobs of one account
	MaxNodes    int           // MILLRACE_MAX_NODES, nodes of one graph
	NodeCache   int64         // MILLRACE_NODE_CACHE, bytes of results of nodes for later jobs; 0 = no cache
	CacheAge    time.Duration // MILLRACE_NODE_CACHE_AGE, age at which a result is no longer used
	CacheFrom   time.Duration // MILLRACE_NODE_CACHE_FROM, run time from which the outputs of a node are cached, not only its UI output
	MaxPixels   int64         // MILLRACE_MAX_PIXELS, pixels of one value: width × height × batch
	NodeTimeout time.Duration // MILLRACE_NODE_TIMEOUT, time limit of one node; 0 = no limit
	MaxBody     int64         // MILLRACE_MAX_BODY, bytes of a JSON request body
	MaxUpload   int64         // MILLRACE_MAX_UPLOAD, bytes of an uploaded file

	Bucket         Bucket        // the bucket for blobs; without a name, blobs are files in the data directory
	Router         Router        // the model router
	Tokens         Tokens        // JSON Web Tokens
	OpenID         OpenID        // the sign-in of people
	Webhooks       Webhooks      // messages to accounts
	Servers        Servers       // ComfyUI servers
	AssetRetention time.Duration // MILLRACE_ASSET_RETENTION, retention of uploads without one of their own; 0 = for ever
	FormerKeys     string        // MILLRACE_FORMER_SECRET_KEYS, comma list; links signed with them stay valid

	Prices Prices // prices of runs of metered accounts

	JobRetention     time.Duration // MILLRACE_JOB_RETENTION, from submission to a job's expires_at
	EraseJobs        bool          // MILLRACE_JOB_EVENTS=erase, erase the events of a job past its retention instead of archiving them
	ArchiveRetention time.Duration // MILLRACE_JOB_ARCHIVE_RETENTION, retention of the archived events of retired jobs; 0 = for ever
	Exports          Exports       // archives of an account's files
	AccountLimit     int64         // MILLRACE_ACCOUNT_STORAGE, bytes that an account may store, unless it has a limit of its own; 0 = no limit
	DiskReserve      int64         // MILLRACE_DISK_RESERVE, free bytes on the disk of DataDir below which new work is refused
	UploadIdle       time.Duration // MILLRACE_UPLOAD_IDLE, how long a client may send nothing in the middle of an upload
	ScanCommand      string        // MILLRACE_SCANNER, program and arguments that judge uploaded files; "" = none
	ScanTimeout      time.Duration // MILLRACE_SCANNER_TIMEOUT, time limit for one file
	// MILLRACE_FFMPEG, program that reads and writes sound and video; "" = that of the path, "none" = do without
	FFmpeg        string
	MaxSockets    int  // MILLRACE_MAX_SOCKETS, WebSockets of one account on this process
	MaxStreams    int  // MILLRACE_MAX_STREAMS, event streams of one account on this process
	RawStatus     bool // MILLRACE_RAW_STATUS, GET /job/{id}/status uses the raw states that newer clients expect
	RouteByClient bool // MILLRACE_ROUTE_BY_CLIENT, WebSocket messages go to the submitting clientId only
	RuntimeNames  bool // MILLRACE_RUNTIME_EXCEPTIONS, exception types have the names of the self-hosted runtime

	Logs      string        // MILLRACE_LOG: debug, info, warn, error
	LogFormat string        // MILLRACE_LOG_FORMAT: text, json
	StopAfter time.Duration // MILLRACE_STOP_AFTER, time limit of a clean stop

	PrivateServers  string // of `dev`: the data directory of the private servers that it runs, "" = another's are used
	UIWrites        bool   // in `dev`, Temporal's Web UI may change workflows
	UIAddr          string // of `dev`: listen address of Temporal's Web UI, on loopback; "" = the usual one, or another that is free
	NoWorkflowCache bool   // MILLRACE_NO_WORKFLOW_CACHE, every workflow task replays its history; for tests
}

// Exports bound archives.
type Exports struct {
	Files     int           // MILLRACE_EXPORT_FILES, files of one archive
	Bytes     int64         // MILLRACE_EXPORT_BYTES, total bytes of the files of one archive
	Retention time.Duration // MILLRACE_EXPORT_RETENTION, retention of an archive
}

// Prices are the prices of runs for accounts that have a ledger, in millionths of a US dollar. If all are zero, runs
// are free.
type Prices struct {
	Run        int64 // MILLRACE_PRICE_RUN, price of a run that succeeds
	NodeSecond int64 // MILLRACE_PRICE_NODE_SECOND, price of each second in which a node ran
	Reserve    int64 // MILLRACE_PRICE_RESERVE, amount reserved for the seconds of one run; 0 = the price of one minute
}

func dollars(env string, field func(*Config) *int64) setting {
	return setting{env, func(c *Config, v string) error {
		micros, err := amount.ParseDollars(v)
		if err != nil || micros < 0 {
			return fmt.Errorf("%s takes US dollars such as 0.0025, not %q", env, v)
		}
		*field(c) = micros
		return nil
	}}
}

// Bucket is a bucket of an S3-compatible service. Without keys the AWS_* variables and the machine's
// role are used.
type Bucket struct {
	Endpoint  string // MILLRACE_BUCKET_ENDPOINT, host[:port]
	Name      string // MILLRACE_BUCKET; "" = no bucket
	Prefix    string // MILLRACE_BUCKET_PREFIX, prefix of every key
	Region    string // MILLRACE_BUCKET_REGION
	AccessKey string // MILLRACE_BUCKET_ACCESS_KEY
	SecretKey string // MILLRACE_BUCKET_SECRET_KEY
	Insecure  bool   // MILLRACE_BUCKET_INSECURE, use plain HTTP
	Encrypt   string // MILLRACE_BUCKET_ENCRYPTION, by the service: sse-s3 or sse-kms; "" = as the bucket is set up
	KMSKey    string // MILLRACE_BUCKET_KMS_KEY, id of the key of sse-kms; "" = the service's own
}

func (b Bucket) check() error {
	if b.KMSKey != "" && b.Encrypt != "sse-kms" {
		return errors.New("MILLRACE_BUCKET_KMS_KEY names a key that is not used: set MILLRACE_BUCKET_ENCRYPTION=sse-kms too")
	}
	return nil
}

// The modes of Auth. Package account knows what they mean.
const (
	AuthNone  = "none"
	AuthToken = "token"
	AuthKeys  = "keys"
)

// Default returns the configuration of local mode.
func Default() Config {
	return Config{
		Roles: "api,worker,projector", Addr: "127.0.0.1:8188", Auth: AuthNone, DataDir: defaultDataDir(),
		TemporalNamespace: "default", TaskQueue: "millrace", Temporal: Temporal{Deployment: "millrace"},
		Slots: max(4, runtime.NumCPU()), QueueDepth: 10_000, MaxNodes: 5000,
		NodeCache: 4 << 30, CacheAge: 48 * time.Hour, CacheFrom: 50 * time.Millisecond,
		NodeTimeout: time.Hour,
		MaxPixels:   256 << 20, MaxBody: 64 << 20, MaxUpload: 100 << 20, DiskReserve: 256 << 20,
		Exports:      Exports{Files: 2000, Bytes: 10 << 30, Retention: 24 * time.Hour},
		JobRetention: 30 * 24 * time.Hour, UploadIdle: 30 * time.Second, ScanTimeout: time.Minute, MaxSockets: 2000, MaxStreams: 64,
		Logs: "info", LogFormat: "text", StopAfter: 10 * time.Second, Router: defaultRouter(), Webhooks: defaultWebhooks(),
		Servers: defaultServers(), OpenID: defaultOpenID(),
	}
}

// defaultDataDir returns the user's data directory. For root, which services often run as, it is below /var/lib.
func defaultDataDir() string {
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		return "/var/lib/millrace"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "millrace")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "millrace-data"
	}
	return filepath.Join(home, ".local", "share", "millrace")
}

// setting binds an environment variable to a field.
type setting struct {
	env string
	set func(*Config, string) error
}

func text(env string, field func(*Config) *string) setting {
	return setting{env, func(c *Config, v string) error { *field(c) = v; return nil }}
}

func number[T int | int64](env string, field func(*Config) *T) setting {
	return setting{env, func(c *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return fmt.Errorf("%s must be a whole number, not %q", env, v)
		}
		*field(c) = T(n)
		return nil
	}}
}

func duration(env string, field func(*Config) *time.Duration) setting {
	return setting{env, func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return fmt.Errorf("%s must be a positive duration such as 30s or 720h, not %q", env, v)
		}
		*field(c) = d
		return nil
	}}
}

// optionalDuration parses a duration; 0 means no limit.
func optionalDuration(env string, field func(*Config) *time.Duration) setting {
	return setting{env, func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return fmt.Errorf("%s must be a duration such as 30s or 720h, or 0, not %q", env, v)
		}
		*field(c) = d
		return nil
	}}
}

func flag(env string, field func(*Config) *bool) setting {
	return setting{env, func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%s must be true or false, not %q", env, v)
		}
		*field(c) = b
		return nil
	}}
}

var settings = slices.Concat(generalSettings, temporalSettings, routerSettings, tokenSettings, webhookSettings, serverSettings,
	telemetrySettings, openIDSettings)

var generalSettings = []setting{
	text("MILLRACE_ROLES", func(c *Config) *string { return &c.Roles }),
	text("MILLRACE_ADDR", func(c *Config) *string { return &c.Addr }),
	text("MILLRACE_PUBLIC_URL", func(c *Config) *string { return &c.PublicURL }),
	text("MILLRACE_EDITOR", func(c *Config) *string { return &c.Editor }),
	text("MILLRACE_EDITOR_INDEX", func(c *Config) *string { return &c.EditorIndex }),
	text("MILLRACE_AUTH", func(c *Config) *string { return &c.Auth }),
	text("MILLRACE_TOKEN", func(c *Config) *string { return &c.Token }),
	text("MILLRACE_INTERNAL_ADDR", func(c *Config) *string { return &c.InternalAddr }),
	text("MILLRACE_ADVERTISE_URL", func(c *Config) *string { return &c.AdvertiseURL }),
	text("MILLRACE_ADMIN_TOKEN", func(c *Config) *string { return &c.AdminToken }),
	text("MILLRACE_ADMIN_ADDR", func(c *Config) *string { return &c.AdminAddr }),
	text("MILLRACE_METRICS_ADDR", func(c *Config) *string { return &c.MetricsAddr }),
	text("MILLRACE_DATA", func(c *Config) *string { return &c.DataDir }),
	text("DATABASE_URL", func(c *Config) *string { return &c.DatabaseURL }),
	text("DATABASE_DIRECT_URL", func(c *Config) *string { return &c.DirectURL }),
	text("TEMPORAL_ADDRESS", func(c *Config) *string { return &c.TemporalAddress }),
	text("TEMPORAL_NAMESPACE", func(c *Config) *string { return &c.TemporalNamespace }),
	text("MILLRACE_TASK_QUEUE", func(c *Config) *string { return &c.TaskQueue }),
	text("MILLRACE_SECRET_KEY", func(c *Config) *string { return &c.SecretKey }),
	number("MILLRACE_SLOTS", func(c *Config) *int { return &c.Slots }),
	number("MILLRACE_QUEUE_DEPTH", func(c *Config) *int { return &c.QueueDepth }),
	number("MILLRACE_MAX_NODES", func(c *Config) *int { return &c.MaxNodes }),
	number("MILLRACE_NODE_CACHE", func(c *Config) *int64 { return &c.NodeCache }),
	duration("MILLRACE_NODE_CACHE_AGE", func(c *Config) *time.Duration { return &c.CacheAge }),
	duration("MILLRACE_NODE_CACHE_FROM", func(c *Config) *time.Duration { return &c.CacheFrom }),
	optionalDuration("MILLRACE_NODE_TIMEOUT", func(c *Config) *time.Duration { return &c.NodeTimeout }),
	number("MILLRACE_MAX_PIXELS", func(c *Config) *int64 { return &c.MaxPixels }),
	number("MILLRACE_MAX_BODY", func(c *Config) *int64 { return &c.MaxBody }),
	number("MILLRACE_MAX_UPLOAD", func(c *Config) *int64 { return &c.MaxUpload }),
	{"MILLRACE_ACCOUNT_STORAGE", func(c *Config, v string) (err error) {
		if c.AccountLimit, err = amount.ParseBytes(v); err != nil {
			return fmt.Errorf("MILLRACE_ACCOUNT_STORAGE: %w", err)
		}
		return nil
	}},
	number("MILLRACE_EXPORT_FILES", func(c *Config) *int { return &c.Exports.Files }),
	{"MILLRACE_EXPORT_BYTES", func(c *Config, v string) (err error) {
		if c.Exports.Bytes, err = amount.ParseBytes(v); err != nil {
			return fmt.Errorf("MILLRACE_EXPORT_BYTES: %w", err)
		}
		return nil
	}},
	duration("MILLRACE_EXPORT_RETENTION", func(c *Config) *time.Duration { return &c.Exports.Retention }),
	number("MILLRACE_DISK_RESERVE", func(c *Config) *int64 { return &c.DiskReserve }),
	number("MILLRACE_MAX_SOCKETS", func(c *Config) *int { return &c.MaxSockets }),
	number("MILLRACE_MAX_STREAMS", func(c *Config) *int { return &c.MaxStreams }),
	text("MILLRACE_BUCKET_ENDPOINT", func(c *Config) *string { return &c.Bucket.Endpoint }),
	text("MILLRACE_BUCKET", func(c *Config) *string { return &c.Bucket.Name }),
	text("MILLRACE_BUCKET_PREFIX", func(c *Config) *string { return &c.Bucket.Prefix }),
	text("MILLRACE_BUCKET_REGION", func(c *Config) *string { return &c.Bucket.Region }),
	text("MILLRACE_BUCKET_ACCESS_KEY", func(c *Config) *string { return &c.Bucket.AccessKey }),
	text("MILLRACE_BUCKET_SECRET_KEY", func(c *Config) *string { return &c.Bucket.SecretKey }),
	flag("MILLRACE_BUCKET_INSECURE", func(c *Config) *bool { return &c.Bucket.Insecure }),
	{"MILLRACE_BUCKET_ENCRYPTION", func(c *Config, v string) error {
		if c.Bucket.Encrypt = v; v != "sse-s3" && v != "sse-kms" {
			return fmt.Errorf("MILLRACE_BUCKET_ENCRYPTION takes sse-s3 or sse-kms, not %q", v)
		}
		return nil
	}},
	text("MILLRACE_BUCKET_KMS_KEY", func(c *Config) *string { return &c.Bucket.KMSKey }),
	text("MILLRACE_FORMER_SECRET_KEYS", func(c *Config) *string { return &c.FormerKeys }),
	duration("MILLRACE_ASSET_RETENTION", func(c *Config) *time.Duration { return &c.AssetRetention }),
	duration("MILLRACE_JOB_RETENTION", func(c *Config) *time.Duration { return &c.JobRetention }),
	duration("MILLRACE_JOB_ARCHIVE_RETENTION", func(c *Config) *time.Duration { return &c.ArchiveRetention }),
	duration("MILLRACE_UPLOAD_IDLE", func(c *Config) *time.Duration { return &c.UploadIdle }),
	text("MILLRACE_SCANNER", func(c *Config) *string { return &c.ScanCommand }),
	text("MILLRACE_FFMPEG", func(c *Config) *string { return &c.FFmpeg }),
	duration("MILLRACE_SCANNER_TIMEOUT", func(c *Config) *time.Duration { return &c.ScanTimeout }),
	{"MILLRACE_JOB_EVENTS", func(c *Config, v string) error {
		if v != "archive" && v != "erase" {
			return fmt.Errorf("MILLRACE_JOB_EVENTS takes archive or erase, not %q", v)
		}
		c.EraseJobs = v == "erase"
		return nil
	}},
	duration("MILLRACE_STOP_AFTER", func(c *Config) *time.Duration { return &c.StopAfter }),
	dollars("MILLRACE_PRICE_RUN", func(c *Config) *int64 { return &c.Prices.Run }),
	dollars("MILLRACE_PRICE_NODE_SECOND", func(c *Config) *int64 { return &c.Prices.NodeSecond }),
	dollars("MILLRACE_PRICE_RESERVE", func(c *Config) *int64 { return &c.Prices.Reserve }),
	flag("MILLRACE_RAW_STATUS", func(c *Config) *bool { return &c.RawStatus }),
	flag("MILLRACE_ROUTE_BY_CLIENT", func(c *Config) *bool { return &c.RouteByClient }),
	flag("MILLRACE_RUNTIME_EXCEPTIONS", func(c *Config) *bool { return &c.RuntimeNames }),
	flag("MILLRACE_ALLOW_UNAUTHENTICATED", func(c *Config) *bool { return &c.AllowWide }),
	flag("MILLRACE_NO_WORKFLOW_CACHE", func(c *Config) *bool { return &c.NoWorkflowCache }),
	text("MILLRACE_LOG", func(c *Config) *string { return &c.Logs }),
	text("MILLRACE_LOG_FORMAT", func(c *Config) *string { return &c.LogFormat }),
	text("MILLRACE_TIER_SLOTS", func(c *Config) *string { return &c.TierSlots }),
	{"MILLRACE_TRUSTED_PROXIES", func(c *Config, v string) error { return c.parseTrustedProxies(v) }},
	{"MILLRACE_ALLOWED_ORIGINS", func(c *Config, v string) error { return c.allow(v) }},
}

func (c *Config) parseTrustedProxies(list string) error {
	for part := range strings.SplitSeq(list, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("MILLRACE_TRUSTED_PROXIES takes CIDR blocks such as 10.0.0.0/8: %w", err)
		}
		c.Proxies = append(c.Proxies, prefix)
	}
	return nil
}

// read returns the setting's value from its variable or, for a secret, from a file.
func (s setting) read(lookup func(string) (string, bool)) (string, bool, error) {
	if slices.Contains(secrets, s.env) {
		return ReadSecret(lookup, s.env)
	}
	v, ok := lookup(s.env)
	return v, ok, nil
}

// Load returns the defaults, overridden by the environment that lookup reads (os.LookupEnv) and by the files of
// secrets to which the environment refers.
func Load(lookup func(string) (string, bool)) (Config, error) {
	c := Default()
	var problems []error
	for _, s := range settings {
		v, ok, err := s.read(lookup)
		if err == nil && ok && v != "" {
			err = s.set(&c, v)
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	return c, errors.Join(problems...)
}

// Variables returns the names of the environment variables that Load reads, in order.
func Variables() []string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.env
	}
	return names
}

// Validate reports all invalid settings of c, each with its remedy.
func (c Config) Validate() error {
	return errors.Join(c.checkAuth(), c.checkURLs(), c.checkBounds(), c.Bucket.check(), c.Temporal.check(), c.Router.check(),
		c.checkOpenID())
}

// Warnings returns valid but doubtful settings, each with its remedy.
func (c Config) Warnings() []string {
	var all []string
	if c.Auth != AuthNone && c.PublicURL == "" {
		all = append(all, "no public URL is set: links in answers repeat the Host header of the request, which the client chooses; "+
			"give --public-url or MILLRACE_PUBLIC_URL")
	}
	return all
}

// EditorAuto stands in place of the editor's directory: it makes local mode fetch the published editor into the data directory.
const EditorAuto = "auto"

// ValueGrace is the age at which a stored value counts as left over from a crashed job. It is longer than any run; a
// run that still needs the value computes it again. The node cache never uses a value of this age.
const ValueGrace = 72 * time.Hour

func (c Config) checkAuth() error {
	switch c.Auth {
	case AuthToken:
		if c.Token == "" {
			return errors.New("auth mode token needs a token: --token or MILLRACE_TOKEN")
		}
	case AuthKeys:
	case AuthNone:
		if !c.AllowWide && !c.loopback() {
			return fmt.Errorf("refusing to serve %s without authentication: use --auth token or keys, bind to 127.0.0.1, "+
				"or pass --allow-unauthenticated", c.Addr)
		}
		if slices.Contains(c.Origins, AnyOrigin) {
			return errors.New("MILLRACE_ALLOWED_ORIGINS=* needs --auth token or keys: without authentication, any page in a browser on " +
				"this machine could run jobs; list the pages' origins instead")
		}
	default:
		return fmt.Errorf("auth mode must be none, token or keys, not %q", c.Auth)
	}
	return nil
}

func (c Config) loopback() bool {
	host, _, err := net.SplitHostPort(c.Addr)
	return err == nil && isLoopback(host)
}

func (c Config) checkURLs() error {
	var problems []error
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		problems = append(problems, fmt.Errorf("address must be HOST:PORT, not %q", c.Addr))
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		problems = append(problems, fmt.Errorf("public URL must be an absolute http or https URL, not %q", c.PublicURL))
	}
	if u, err := url.Parse(c.EditorIndex); c.EditorIndex != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		problems = append(problems, fmt.Errorf("MILLRACE_EDITOR_INDEX must be an absolute http or https URL, not %q", c.EditorIndex))
	}
	return errors.Join(problems...)
}

func (c Config) checkBounds() error {
	var problems []error
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"slots", int64(c.Slots)},
		{"queue depth", int64(c.QueueDepth)},
		{"max nodes", int64(c.MaxNodes)},
		{"max pixels", c.MaxPixels},
		{"max body", c.MaxBody},
		{"max upload", c.MaxUpload},
		{"max output", c.Servers.MaxOutput},
		{"max body of the router", c.Router.MaxBody},
	} {
		if b.value < 1 {
			problems = append(problems, fmt.Errorf("%s must be at least 1, not %d", b.name, b.value))
		}
	}
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"MILLRACE_NODE_CACHE", c.NodeCache},
		{"MILLRACE_DISK_RESERVE", c.DiskReserve},
		{"MILLRACE_EXPORT_FILES", int64(c.Exports.Files)},
		{"MILLRACE_MAX_SOCKETS", int64(c.MaxSockets)},
		{"MILLRACE_MAX_STREAMS", int64(c.MaxStreams)},
		{"MILLRACE_ROUTER_BACKLOG", int64(c.Router.Backlog)},
	} {
		if b.value < 0 {
			problems = append(problems, fmt.Errorf("%s must be at least 0, not %d", b.name, b.value))
		}
	}
	if c.NodeTimeout < 0 {
		problems = append(problems, fmt.Errorf("node timeout must be 0 (no limit) or positive, not %s", c.NodeTimeout))
	}
	if c.DataDir == "" {
		problems = append(problems, errors.New("no data directory: give --data DIR, or MILLRACE_DATA"))
	}
	if c.CacheAge <= 0 || c.CacheAge >= ValueGrace {
		problems = append(problems, fmt.Errorf("MILLRACE_NODE_CACHE_AGE must be above 0 and below %s, not %s", ValueGrace, c.CacheAge))
	}
	return errors.Join(problems...)
}

// SessionURL returns the URL of the database for work that needs a session of its own: listening, session locks,
// migrations.
func (c Config) SessionURL() string { return cmp.Or(c.DirectURL, c.DatabaseURL) }
