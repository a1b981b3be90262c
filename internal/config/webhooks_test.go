package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
)

func TestRetriesOutlastAWeekendAndEndBeforeTheEndpointIsDisabled(t *testing.T) {
	t.Parallel()
	p := config.Default().Webhooks
	var all time.Duration
	for _, pause := range p.Retries {
		all += pause
	}
	require.Greater(t, all, 72*time.Hour)
	require.Less(t, all, p.DisableAfter)
}
