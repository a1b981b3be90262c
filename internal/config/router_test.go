package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
)

func TestRouterSettings(t *testing.T) {
	t.Parallel()
	c, err := config.Load(func(name string) (string, bool) {
		v, ok := map[string]string{
			"MILLRACE_ROUTER_CONCURRENCY": "0:2, 0.5:7", "MILLRACE_ROUTER_SPEND_CEILING": "12.50",
			"MILLRACE_ROUTER_WINDOWS": "minute:60,day:1000", "MILLRACE_CATALOG": "/a,/b", "MILLRACE_ROUTER_DISABLED": "true",
			"MILLRACE_PROVIDER_URLS": "bfl=http://127.0.0.1:8190/bfl, openai=https://proxy.example",
		}[name]
		return v, ok
	})
	require.NoError(t, err)
	require.Equal(t, []config.Step{{Spent: 0, Concurrent: 2}, {Spent: 500_000, Concurrent: 7}}, c.Router.Concurrent)
	require.EqualValues(t, 12_500_000, c.Router.Ceiling)
	require.Equal(t, []config.Window{
		{Name: "minute", Length: time.Minute, Calls: 60}, {Name: "day", Length: 24 * time.Hour, Calls: 1000},
	}, c.Router.Windows)
	require.Equal(t, []string{"/a", "/b"}, c.Router.Catalog)
	require.True(t, c.Router.Disabled)
	require.Equal(t, map[string]string{"bfl": "http://127.0.0.1:8190/bfl", "openai": "https://proxy.example"}, c.Router.Bases)
	d := config.Default().Router
	require.Zero(t, d.Ceiling) // none locally
	require.Empty(t, d.Windows)
	require.Len(t, d.Concurrent, 1, "what an account has spent is no measure where whoever runs the service knows it")
	require.Equal(t, config.Step{Spent: 0, Concurrent: 20}, d.Concurrent[0], "a new account's partner nodes call at once")
}

func TestInvalidRouterSettings(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"MILLRACE_ROUTER_CONCURRENCY":   {"5", "0:x", "1:1,1:2", "0:-1", "-1:1"},
		"MILLRACE_ROUTER_SPEND_CEILING": {"x", "-1"},
		"MILLRACE_ROUTER_WINDOWS":       {"minute", "minute:0", "fortnight:3"},
		"MILLRACE_PROVIDER_URLS":        {"bfl", "=http://x", "bfl=x", "bfl=ftp://x", "bfl=https://u:p@x"},
	} {
		for _, v := range values {
			_, err := config.Load(func(n string) (string, bool) { return v, n == name })
			require.ErrorContains(t, err, name, v)
		}
	}
}

func TestInputBoundCoversTheLargestInput(t *testing.T) {
	t.Parallel()
	c := config.Default()
	require.NoError(t, c.Validate())
	c.Router.MaxBody, c.Router.Bodies = 100, 400
	require.NoError(t, c.Validate())
	c.Router.Bodies = 399
	require.ErrorContains(t, c.Validate(), "MILLRACE_ROUTER_BODIES")
}
