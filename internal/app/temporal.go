package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/worker/dial"
	"github.com/millrace-dev/millrace/worker/namespace"
	"github.com/millrace-dev/millrace/worker/payload"
)

// attributesPace is the interval between two looks for the search attributes of the namespace: more than Temporal's services
// take to learn of new ones.
const attributesPace = 15 * time.Second

// namespace is the namespace of the process.
func (in *Instance) namespace() namespace.Namespace {
	return namespace.Namespace{Client: in.client, Name: in.cfg.TemporalNamespace, Retention: in.cfg.JobRetention}
}

// PrepareNamespace registers search attributes and raises the retention of histories, as far as it may.
func PrepareNamespace(ctx context.Context, cfg config.Config, c client.Client) (changed []string, err error) {
	return namespace.Namespace{Client: c, Name: cfg.TemporalNamespace, Retention: cfg.JobRetention}.Prepare(ctx)
}

// prepareNamespace is PrepareNamespace of a worker: a deployment without a step of its own for it has it done.
func (in *Instance) prepareNamespace(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	changed, err := in.namespace().Prepare(ctx)
	for _, line := range changed {
		in.log.Info("namespace changed", "namespace", in.cfg.TemporalNamespace, "change", line)
	}
	if err != nil && ctx.Err() == nil {
		in.log.Warn("namespace not prepared", "namespace", in.cfg.TemporalNamespace, "error", err)
	}
}

// TemporalKeys returns the key ring that encrypts payloads; nil = they are in the clear.
func TemporalKeys(cfg config.Config) (*payload.Ring, error) {
	text := cfg.Temporal.Keys
	if path := cfg.Temporal.KeysFile; path != "" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("keys for Temporal (MILLRACE_TEMPORAL_KEYS_FILE): %w", err)
		}
		text = string(raw)
	}
	ring, err := payload.Parse(text)
	if err == nil && ring == nil && cfg.Temporal.KeysFile != "" {
		return nil, fmt.Errorf("%s (MILLRACE_TEMPORAL_KEYS_FILE) has no key: put one in, or leave the setting out", cfg.Temporal.KeysFile)
	}
	return ring, err
}

// TemporalOptions returns the options of a client of Temporal, those of the service and of the commands alike.
func TemporalOptions(cfg config.Config, log *slog.Logger) (client.Options, error) {
	t := cfg.Temporal
	options, err := dial.Settings{
		Address: cfg.TemporalAddress, Namespace: cfg.TemporalNamespace,
		TLS: t.TLS, CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName, APIKey: t.APIKey, APIKeyFile: t.APIKeyFile,
	}.Options()
	if err != nil {
		return client.Options{}, fmt.Errorf("connection to Temporal: %w", err)
	}
	keys, err := TemporalKeys(cfg)
	if err != nil {
		return client.Options{}, err
	}
	options.DataConverter = keys.Converter()
	options.FailureConverter = attempt.Failures(options.DataConverter, keys != nil)
	options.Logger = sdklog.NewStructuredLogger(log.With("part", "temporal"))
	return options, nil
}
