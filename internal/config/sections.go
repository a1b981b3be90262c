package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/config/amount"
)

// Servers is the configuration of ComfyUI servers.
type Servers struct {
	Fixed   []string      // MILLRACE_COMFYUI, separated by spaces: URL[,label=x]… of servers to register at the start
	Silence time.Duration // MILLRACE_COMFYUI_SILENCE, how long a server may send nothing before it counts as lost
	Web     string        // MILLRACE_COMFYUI_WEB, address of the server whose web files of custom nodes an editor loads; "" = none
	// MILLRACE_COMFYUI_CREDENTIALS, separated by spaces: addresses of the servers that receive credentials of Comfy.org
	ComfyOrg  []string
	MaxOutput int64 // MILLRACE_MAX_OUTPUT, maximum bytes of one output file of a server
	// MILLRACE_PACK_ROUTES, separated by commas: METHOD /path of routes of node packs that are relayed to servers
	PackRoutes string
	// MILLRACE_WEIGHT_SOURCES, separated by spaces: addresses such as https://huggingface.co/Comfy-Org/ below which model files are fetched
	// when the workflow of a job names them and no server has them
	WeightSources string
	PoolCommands  bool // MILLRACE_POOL_COMMANDS, workers run the commands of pools of machines, and scale Deployments for them
	Own           OwnServers
}

// OwnServers says which ComfyUI processes to start and to look after.
type OwnServers struct {
	Dir    string // directory of ComfyUI; "" = none are started
	Python string // interpreter; "" = that of the directory's venv, or python3
	Args   string // further arguments, separated by spaces
	GPUs   string // all, none, or numbers separated by commas
	Count  int    // processes on each GPU, or on the CPU
	Pool   bool   // processes run for machines of pools of the kind process, and none without one

	RecycleMemory  string // a share such as 80%, or bytes; "" = no limit
	RecyclePrompts int    // 0 = no limit
}

func defaultServers() Servers {
	return Servers{Silence: 30 * time.Second, MaxOutput: 4 << 30, Own: OwnServers{GPUs: "all", Count: 1}}
}

var serverSettings = []setting{
	{"MILLRACE_COMFYUI", func(c *Config, v string) error {
		c.Servers.Fixed = strings.Fields(v)
		return nil
	}},
	text("MILLRACE_PACK_ROUTES", func(c *Config) *string { return &c.Servers.PackRoutes }),
	text("MILLRACE_WEIGHT_SOURCES", func(c *Config) *string { return &c.Servers.WeightSources }),
	flag("MILLRACE_POOL_COMMANDS", func(c *Config) *bool { return &c.Servers.PoolCommands }),
	text("MILLRACE_COMFYUI_WEB", func(c *Config) *string { return &c.Servers.Web }),
	{"MILLRACE_COMFYUI_CREDENTIALS", func(c *Config, v string) error {
		c.Servers.ComfyOrg = strings.Fields(v)
		return nil
	}},
	duration("MILLRACE_COMFYUI_SILENCE", func(c *Config) *time.Duration { return &c.Servers.Silence }),
	{"MILLRACE_MAX_OUTPUT", func(c *Config, v string) (err error) {
		c.Servers.MaxOutput, err = amount.ParseBytes(v)
		return err
	}},
}

// Collector configures exports to a collector of OTLP, under the variables of the OpenTelemetry specification.
// Variables that are not listed here, for one signal alone or for TLS, are read by the OpenTelemetry library.
type Collector struct {
	Endpoint string // OTEL_EXPORTER_OTLP_ENDPOINT, URL of a collector; "" = nothing is exported
	Traces   string // OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, endpoint of traces alone
	Metrics  string // OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, endpoint of metrics alone
	Headers  string // OTEL_EXPORTER_OTLP_HEADERS, name=value comma list, for the collector's credential

	noTraces, noMetrics bool // OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER
}

// TakesTraces reports whether traces are exported.
func (c Collector) TakesTraces() bool { return (c.Endpoint != "" || c.Traces != "") && !c.noTraces }

// TakesMetrics reports whether metrics are exported.
func (c Collector) TakesMetrics() bool { return (c.Endpoint != "" || c.Metrics != "") && !c.noMetrics }

var telemetrySettings = []setting{
	text("OTEL_EXPORTER_OTLP_ENDPOINT", func(c *Config) *string { return &c.Collector.Endpoint }),
	text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", func(c *Config) *string { return &c.Collector.Traces }),
	text("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", func(c *Config) *string { return &c.Collector.Metrics }),
	text("OTEL_EXPORTER_OTLP_HEADERS", func(c *Config) *string { return &c.Collector.Headers }),
	exporter("OTEL_TRACES_EXPORTER", func(c *Config) *bool { return &c.Collector.noTraces }),
	exporter("OTEL_METRICS_EXPORTER", func(c *Config) *bool { return &c.Collector.noMetrics }),
	{"OTEL_METRIC_EXPORT_INTERVAL", func(_ *Config, v string) error { // the library reads it, and ignores malformed values
		if n, err := strconv.Atoi(v); err != nil || n <= 0 {
			return fmt.Errorf("OTEL_METRIC_EXPORT_INTERVAL takes milliseconds such as 60000, not %q", v)
		}
		return nil
	}},
	{"OTEL_RESOURCE_ATTRIBUTES", func(*Config, string) error { return nil }}, // read by the library
}

// exporter parses a setting that is otlp or none.
func exporter(env string, off func(*Config) *bool) setting {
	return setting{env, func(c *Config, v string) error {
		if v != "otlp" && v != "none" {
			return fmt.Errorf("%s takes otlp or none, not %q", env, v)
		}
		*off(c) = v == "none"
		return nil
	}}
}

// Temporal configures the connection to an external Temporal. The variables have the names that Temporal's own tools
// use, if there are such names.
type Temporal struct {
	TLS        bool   // TEMPORAL_TLS, use TLS even if no setting below implies it
	CA         string // TEMPORAL_TLS_SERVER_CA_CERT_PATH, file of the CAs of the server; "" = those of the system
	Cert       string // TEMPORAL_TLS_CLIENT_CERT_PATH, file of the client's certificate; "" = none
	Key        string // TEMPORAL_TLS_CLIENT_KEY_PATH, file of its key
	ServerName string // TEMPORAL_TLS_SERVER_NAME, name in the server's certificate; "" = the host of the address
	APIKey     string // TEMPORAL_API_KEY
	APIKeyFile string // TEMPORAL_API_KEY_FILE, file of the API key

	Keys       string // MILLRACE_TEMPORAL_KEYS, ID:KEY comma list that encrypts what histories hold; "" = they are in the clear
	KeysFile   string // MILLRACE_TEMPORAL_KEYS_FILE, file with the same keys, one on each line
	Deployment string // MILLRACE_DEPLOYMENT, name of the deployment of the workers, if they have versions
	BuildID    string // MILLRACE_BUILD_ID, version of the workers of this process; "" = they have none

	UIOrigin string // MILLRACE_TEMPORAL_UI_ORIGIN, origin of the Web UI that may have payloads decrypted; "" = none
}

var temporalSettings = []setting{
	flag("TEMPORAL_TLS", func(c *Config) *bool { return &c.Temporal.TLS }),
	text("TEMPORAL_TLS_SERVER_CA_CERT_PATH", func(c *Config) *string { return &c.Temporal.CA }),
	text("TEMPORAL_TLS_CLIENT_CERT_PATH", func(c *Config) *string { return &c.Temporal.Cert }),
	text("TEMPORAL_TLS_CLIENT_KEY_PATH", func(c *Config) *string { return &c.Temporal.Key }),
	text("TEMPORAL_TLS_SERVER_NAME", func(c *Config) *string { return &c.Temporal.ServerName }),
	text("TEMPORAL_API_KEY", func(c *Config) *string { return &c.Temporal.APIKey }),
	text("TEMPORAL_API_KEY_FILE", func(c *Config) *string { return &c.Temporal.APIKeyFile }),
	text("MILLRACE_TEMPORAL_KEYS", func(c *Config) *string { return &c.Temporal.Keys }),
	text("MILLRACE_TEMPORAL_KEYS_FILE", func(c *Config) *string { return &c.Temporal.KeysFile }),
	text("MILLRACE_DEPLOYMENT", func(c *Config) *string { return &c.Temporal.Deployment }),
	text("MILLRACE_BUILD_ID", func(c *Config) *string { return &c.Temporal.BuildID }),
	text("MILLRACE_TEMPORAL_UI_ORIGIN", func(c *Config) *string { return &c.Temporal.UIOrigin }),
}

// Private returns the settings for the private server of local mode, which uses plain text and needs no credential.
func (t Temporal) Private() Temporal {
	return Temporal{Keys: t.Keys, KeysFile: t.KeysFile, UIOrigin: t.UIOrigin, Deployment: t.Deployment, BuildID: t.BuildID}
}

func (t Temporal) check() error {
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("a client certificate for Temporal needs its key: TEMPORAL_TLS_CLIENT_CERT_PATH and " +
			"TEMPORAL_TLS_CLIENT_KEY_PATH go together")
	}
	if t.Keys != "" && t.KeysFile != "" {
		return errors.New("keys for Temporal come from MILLRACE_TEMPORAL_KEYS or from MILLRACE_TEMPORAL_KEYS_FILE, not from both")
	}
	return nil
}

// Tokens configures the JSON Web Tokens that the model router accepts. Without a secret or a JWKS it accepts none.
type Tokens struct {
	Secret   string // MILLRACE_JWT_SECRET, secret of HS256, at least 32 bytes
	JWKS     string // MILLRACE_JWT_JWKS, address of the issuer's public keys, for RS256, ES256 and EdDSA
	Issuer   string // MILLRACE_JWT_ISSUER, that iss must be; "" = any
	Audience string // MILLRACE_JWT_AUDIENCE, that aud must contain; "" = any
	Claim    string // MILLRACE_JWT_CLAIM, that is the id or name of the account; "a.b" = b within a
	Tier     string // MILLRACE_JWT_TIER_CLAIM, that is the account's tier; "" = tokens say none
	Scopes   string // MILLRACE_JWT_SCOPES_CLAIM, that lists read and write; "" = every token has both
	Begins   bool   // MILLRACE_JWT_REQUIRE_NBF, refuse tokens without nbf
	// MILLRACE_JWT_CREATE, tier of accounts that are created when a token first names them; "" = accounts are not created
	Create string
	Skew   time.Duration // MILLRACE_JWT_SKEW, the tolerated difference of clocks
}

var tokenSettings = []setting{
	text("MILLRACE_JWT_SECRET", func(c *Config) *string { return &c.Tokens.Secret }),
	text("MILLRACE_JWT_JWKS", func(c *Config) *string { return &c.Tokens.JWKS }),
	text("MILLRACE_JWT_ISSUER", func(c *Config) *string { return &c.Tokens.Issuer }),
	text("MILLRACE_JWT_AUDIENCE", func(c *Config) *string { return &c.Tokens.Audience }),
	text("MILLRACE_JWT_CLAIM", func(c *Config) *string { return &c.Tokens.Claim }),
	text("MILLRACE_JWT_TIER_CLAIM", func(c *Config) *string { return &c.Tokens.Tier }),
	text("MILLRACE_JWT_SCOPES_CLAIM", func(c *Config) *string { return &c.Tokens.Scopes }),
	flag("MILLRACE_JWT_REQUIRE_NBF", func(c *Config) *bool { return &c.Tokens.Begins }),
	text("MILLRACE_JWT_CREATE", func(c *Config) *string { return &c.Tokens.Create }),
	duration("MILLRACE_JWT_SKEW", func(c *Config) *time.Duration { return &c.Tokens.Skew }),
}

// Accepted reports whether tokens are accepted.
func (t Tokens) Accepted() bool { return t.Secret != "" || t.JWKS != "" }

// Webhooks is the configuration of messages to accounts.
type Webhooks struct {
	Allow        []string        // MILLRACE_WEBHOOK_ALLOW, HOST:PORT comma list: endpoints that may be private or without https
	Timeout      time.Duration   // MILLRACE_WEBHOOK_TIMEOUT, of one attempt, from dialing to the response status
	Retries      []time.Duration // MILLRACE_WEBHOOK_RETRIES, pauses before the second attempt, the third, …
	DisableAfter time.Duration   // MILLRACE_WEBHOOK_DISABLE_AFTER, an endpoint is disabled after all attempts failed for this long
	Retention    time.Duration   // MILLRACE_WEBHOOK_RETENTION, of ended deliveries
}

// defaultWebhooks follows the advice of Standard Webhooks: retry soon at first, then for three days, so that an outage
// over a weekend loses no message. An endpoint that fails for five days is disabled.
func defaultWebhooks() Webhooks {
	return Webhooks{
		Timeout: 15 * time.Second,
		Retries: []time.Duration{
			5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
			5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
		},
		DisableAfter: 5 * 24 * time.Hour,
		Retention:    30 * 24 * time.Hour,
	}
}

var webhookSettings = []setting{
	{"MILLRACE_WEBHOOK_ALLOW", func(c *Config, v string) (err error) {
		c.Webhooks.Allow, err = parseHosts("MILLRACE_WEBHOOK_ALLOW", v)
		return err
	}},
	duration("MILLRACE_WEBHOOK_TIMEOUT", func(c *Config) *time.Duration { return &c.Webhooks.Timeout }),
	{"MILLRACE_WEBHOOK_RETRIES", func(c *Config, v string) (err error) {
		c.Webhooks.Retries, err = parsePauses("MILLRACE_WEBHOOK_RETRIES", v)
		return err
	}},
	duration("MILLRACE_WEBHOOK_DISABLE_AFTER", func(c *Config) *time.Duration { return &c.Webhooks.DisableAfter }),
	duration("MILLRACE_WEBHOOK_RETENTION", func(c *Config) *time.Duration { return &c.Webhooks.Retention }),
}

func parseHosts(env, list string) ([]string, error) {
	var hosts []string
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		host, port, err := net.SplitHostPort(part)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("%s takes HOST:PORT, comma separated, not %q", env, part)
		}
		hosts = append(hosts, part)
	}
	return hosts, nil
}

// maxRetries bounds the number of pauses, because each attempt is stored with its delivery.
const maxRetries = 50

func parsePauses(env, list string) ([]time.Duration, error) {
	var pauses []time.Duration
	for part := range strings.SplitSeq(list, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("%s takes positive durations such as 5s,1m,2h, not %q", env, part)
		}
		pauses = append(pauses, d)
	}
	if len(pauses) > maxRetries {
		return nil, fmt.Errorf("%s takes at most %d pauses", env, maxRetries)
	}
	return slices.Clip(pauses), nil
}

// AnyOrigin is the value of MILLRACE_ALLOWED_ORIGINS that allows all web pages.
const AnyOrigin = "*"

// allow parses origins as browsers write them: a scheme and a host in lower case, and a port unless it is the
// scheme's default.
func (c *Config) allow(list string) error {
	for part := range strings.SplitSeq(list, ",") {
		origin := strings.TrimSpace(part)
		u, err := url.Parse(origin)
		if origin != AnyOrigin && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			origin != u.Scheme+"://"+strings.ToLower(u.Host)) {
			return fmt.Errorf("MILLRACE_ALLOWED_ORIGINS takes origins such as https://app.example, separated by commas, or *, not %q", origin)
		}
		c.Origins = append(c.Origins, origin)
	}
	return nil
}

// FileSuffix is the suffix of a variable that holds the path of a file with a secret: MILLRACE_TOKEN_FILE instead of
// MILLRACE_TOKEN.
const FileSuffix = "_FILE"

// secrets are the settings whose value may be in a file.
var secrets = []string{
	"DATABASE_URL", "DATABASE_DIRECT_URL", "MILLRACE_TOKEN", "MILLRACE_ADMIN_TOKEN", "MILLRACE_SECRET_KEY", "MILLRACE_FORMER_SECRET_KEYS",
	"MILLRACE_BUCKET_ACCESS_KEY", "MILLRACE_BUCKET_SECRET_KEY", "MILLRACE_JWT_SECRET", "MILLRACE_OIDC_CLIENT_SECRET",
	"OTEL_EXPORTER_OTLP_HEADERS",
}

// Secrets returns the names of the settings whose value may be in a file.
func Secrets() []string { return slices.Clone(secrets) }

// ReadSecret returns the value of the variable name, or the content, without surrounding white space, of the file to
// which the variable name + FileSuffix refers. If both are set, or the file cannot be read or is empty, the error
// names the remedy.
func ReadSecret(lookup func(string) (string, bool), name string) (string, bool, error) {
	value, set := lookup(name)
	path, inFile := lookup(name + FileSuffix)
	switch {
	case !inFile || path == "":
		return value, set, nil
	case set && value != "":
		return "", false, fmt.Errorf("%s and %s are both set: unset one", name, name+FileSuffix)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w; mount the file, readable for this user, or set %s", name+FileSuffix, err, name)
	}
	if value = strings.TrimSpace(string(raw)); value == "" {
		return "", false, fmt.Errorf("%s: %s is empty; write the value into it", name+FileSuffix, path)
	}
	return value, true, nil
}

// Credentials returns a lookup that also reads the files of secrets. It reads a file each time, so that a changed
// file is in force at once. A file that cannot be read counts as no value; CheckCredentials reports it at the start.
func Credentials(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, set, err := ReadSecret(lookup, name)
		return value, set && err == nil
	}
}

// CheckCredentials reports the variables whose value cannot be read.
func CheckCredentials(lookup func(string) (string, bool), names []string) error {
	var problems []error
	for _, name := range names {
		if _, _, err := ReadSecret(lookup, name); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// UIPassword returns the password of Temporal's Web UI. The UI shows the workflows of all accounts, so the password
// is the operator's credential. Without authentication there is no password. In mode keys, the admin token is the
// only operator's credential; without an admin token the UI is not served.
func (c Config) UIPassword() (password string, open bool) {
	switch {
	case c.Auth == AuthNone:
		return "", true
	case c.AdminToken != "":
		return c.AdminToken, true
	case c.Auth == AuthToken:
		return c.Token, true
	}
	return "", false
}
