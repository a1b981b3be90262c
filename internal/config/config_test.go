package config_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/config"
)

func env(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func TestDefaultsAreLocalOnly(t *testing.T) {
	t.Parallel()
	c, err := config.Load(env(nil))
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	require.Equal(t, "127.0.0.1:8188", c.Addr)
	require.Equal(t, config.AuthNone, c.Auth)
	require.GreaterOrEqual(t, c.Slots, 4)
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load(env(map[string]string{"MILLRACE_SLOTS": "many", "MILLRACE_MAX_NODES": "1.5", "MILLRACE_STOP_AFTER": "soon"}))
	require.ErrorContains(t, err, "MILLRACE_SLOTS")
	require.ErrorContains(t, err, "MILLRACE_MAX_NODES")
	require.ErrorContains(t, err, "soon")
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"mode none on every address": {func(c *config.Config) { c.Addr = "0.0.0.0:8188" }, "without authentication"},
		"mode none on a name":        {func(c *config.Config) { c.Addr = "example.org:80" }, "without authentication"},
		"mode token without one":     {func(c *config.Config) { c.Auth = config.AuthToken }, "MILLRACE_TOKEN"},
		"unknown mode":               {func(c *config.Config) { c.Auth = "some" }, "none, token or keys"},
		"address without port":       {func(c *config.Config) { c.Addr = "127.0.0.1"; c.Auth = config.AuthKeys }, "HOST:PORT"},
		"relative public URL":        {func(c *config.Config) { c.PublicURL = "/jobs" }, "absolute"},
		"results older than values":  {func(c *config.Config) { c.CacheAge = config.ValueGrace }, "MILLRACE_NODE_CACHE_AGE"},
		"no data directory":          {func(c *config.Config) { c.DataDir = "" }, "--data"},
		"a negative bound on nodes":  {func(c *config.Config) { c.NodeTimeout = -time.Second }, "node timeout"},
		"a negative cache":           {func(c *config.Config) { c.NodeCache = -1 }, "MILLRACE_NODE_CACHE"},
		"negative sockets":           {func(c *config.Config) { c.MaxSockets = -1 }, "MILLRACE_MAX_SOCKETS"},
		"every page without a key":   {func(c *config.Config) { c.Origins = []string{config.AnyOrigin} }, "MILLRACE_ALLOWED_ORIGINS"},
		"no slots":                   {func(c *config.Config) { c.Slots = 0 }, "slots"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config.Default()
			tc.change(&c)
			require.ErrorContains(t, c.Validate(), tc.want)
		})
	}
}

// MILLRACE_NODE_TIMEOUT=0s means no limit, as documented.
func TestNodeTimeLimitCanBeDisabled(t *testing.T) {
	t.Parallel()
	for _, none := range []string{"0", "0s"} {
		c, err := config.Load(env(map[string]string{"MILLRACE_NODE_TIMEOUT": none}))
		require.NoError(t, err)
		require.Zero(t, c.NodeTimeout)
		require.NoError(t, c.Validate())
	}
	_, err := config.Load(env(map[string]string{"MILLRACE_NODE_TIMEOUT": "-3s"}))
	require.ErrorContains(t, err, "MILLRACE_NODE_TIMEOUT")
}

func TestAllowedAddressesPass(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){
		"wide with permission": func(c *config.Config) { c.Addr, c.AllowWide = "0.0.0.0:8188", true },
		"wide with keys":       func(c *config.Config) { c.Addr, c.Auth = ":8188", config.AuthKeys },
		"localhost":            func(c *config.Config) { c.Addr = "localhost:8188" },
		"IPv6 loopback":        func(c *config.Config) { c.Addr = "[::1]:8188" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config.Default()
			change(&c)
			require.NoError(t, c.Validate())
		})
	}
}

func TestPricesAreDollars(t *testing.T) {
	t.Parallel()
	load := func(value string) (config.Config, error) {
		return config.Load(func(name string) (string, bool) { return value, name == "MILLRACE_PRICE_NODE_SECOND" })
	}
	c, err := load("0.0025")
	require.NoError(t, err)
	require.Equal(t, config.Prices{NodeSecond: 2500}, c.Prices)
	for _, bad := range []string{"-1", "free", "0.0000001"} {
		_, err = load(bad)
		require.ErrorContains(t, err, "MILLRACE_PRICE_NODE_SECOND")
	}
	require.Zero(t, config.Default().Prices)
}

// Users copy the example file: it names every variable and no unknown one.
func TestTheExampleFileIsComplete(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../.env.example")
	require.NoError(t, err)
	var named []string
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+)=`).FindAllStringSubmatch(string(raw), -1) {
		named = append(named, m[1])
	}
	require.ElementsMatch(t, config.Variables(), named)
}

func TestOriginsAreThoseOfBrowsers(t *testing.T) {
	t.Parallel()
	c, err := config.Load(env(map[string]string{"MILLRACE_ALLOWED_ORIGINS": "https://app.example, http://localhost:3000"}))
	require.NoError(t, err)
	require.Equal(t, []string{"https://app.example", "http://localhost:3000"}, c.Origins)
	require.NoError(t, c.Validate())
	for _, none := range []string{
		"app.example", "https://app.example/", "https://App.example", "https://app.example/x", "ftp://app.example", "https://", "null",
		"https://a.example,,",
	} {
		_, err := config.Load(env(map[string]string{"MILLRACE_ALLOWED_ORIGINS": none}))
		require.ErrorContains(t, err, "MILLRACE_ALLOWED_ORIGINS", none)
	}
}

func TestModesWithCredentialsWarnWithoutAPublicURL(t *testing.T) {
	t.Parallel()
	for mode, warnings := range map[string]int{config.AuthNone: 0, config.AuthToken: 1, config.AuthKeys: 1} {
		cfg := config.Default()
		cfg.Auth, cfg.Token = mode, "a-token"
		require.Len(t, cfg.Warnings(), warnings, mode)
		cfg.PublicURL = "https://jobs.example.org"
		require.Empty(t, cfg.Warnings(), mode)
	}
}

func TestServersReachMillraceAtThePublicURLOrOnItsMachine(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Addr: "127.0.0.1:8080"}
	require.Equal(t, "http://127.0.0.1:8080", cfg.HomeOf("http://localhost:8188"))
	require.Equal(t, "http://127.0.0.1:8080", cfg.HomeOf("http://[::1]:8188"))
	require.Empty(t, cfg.HomeOf("http://10.0.0.7:8188"))
	for _, everywhere := range []string{":8080", "0.0.0.0:8080", "[::]:8080"} {
		require.Equal(t, "http://127.0.0.1:8080", config.Config{Addr: everywhere}.HomeOf("http://localhost:8188"), everywhere)
	}
	cfg.PublicURL = "https://jobs.example.org/base/"
	require.Equal(t, "https://jobs.example.org/base", cfg.HomeOf("http://10.0.0.7:8188"))
	require.Equal(t, "https://jobs.example.org/base", cfg.HomeOf("http://127.0.0.1:8188"))
}
