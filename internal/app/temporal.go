package app

import (
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/worker"
	"github.com/millrace-dev/millrace/worker/dial"
	"github.com/millrace-dev/millrace/worker/namespace"
	"github.com/millrace-dev/millrace/worker/payload"
)

// namespace returns the namespace of the process.
func (in *Instance) namespace() namespace.Namespace {
	return namespace.Namespace{Client: in.client, Name: in.cfg.TemporalNamespace, Retention: in.cfg.JobRetention}
}

// deployment returns the version that the workers of the process run.
func (in *Instance) deployment() worker.Deployment {
	return worker.Deployment{Name: in.cfg.Temporal.Deployment, BuildID: in.cfg.Temporal.BuildID}
}

// TemporalKeys returns the key ring that encrypts payloads; nil means that payloads are not encrypted.
func TemporalKeys(cfg config.Config) (*payload.Ring, error) {
	return payload.Load(cfg.Temporal.Keys, cfg.Temporal.KeysFile)
}

// TemporalOptions returns the options of Temporal clients, for the service and for commands.
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
