package app

import (
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/millrace-dev/millrace/activities/attempt"
	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/worker/dial"
)

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
	options.FailureConverter = attempt.Failures()
	options.Logger = sdklog.NewStructuredLogger(log.With("part", "temporal"))
	return options, nil
}
