package operators_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

// query runs a query on the service's database that returns one number.
func (b *bench) query(sql string, args ...any) (n int) {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.Data, "addresses.json"))
	require.NoError(b.t, err)
	var addresses struct {
		DatabaseURL string `json:"database_url"`
	}
	require.NoError(b.t, json.Unmarshal(raw, &addresses))
	conn, err := pgx.Connect(b.t.Context(), addresses.DatabaseURL)
	require.NoError(b.t, err)
	defer conn.Close(b.t.Context())
	require.NoError(b.t, conn.QueryRow(b.t.Context(), sql, args...).Scan(&n))
	return n
}

func TestAMachineRegistersItselfWithAToken(t *testing.T) {
	b := start(t)
	m, err := comfyui.Start("127.0.0.1:0", comfyui.Options{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	name := "t-" + b.label
	secret := served.LastLine(b.command("servers", "tokens", "create", name, "--reason", "GPU group"))
	register := func(more map[string]any) (int, string) {
		body := map[string]any{"url": m.URL(), "labels": []string{b.label}, "expires_in": 600}
		for k, v := range more {
			body[k] = v
		}
		return b.send(http.MethodPost, "/admin/servers", secret, body)
	}

	status, body := register(nil)
	require.Equal(t, http.StatusCreated, status, body)
	var made struct {
		ID, URL   string
		ExpiresAt string `json:"expires_at"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &made))
	require.Equal(t, m.URL(), made.URL)
	require.NotContains(t, body, "queue_running", "a machine reads of its server what it has said itself")
	b.await("the server to answer", func() bool { return b.state(m) == "healthy" })
	require.Equal(t, "completed", b.ended(b.submit(served.Text2Img(1, 1))))

	before := made.ExpiresAt
	status, body = register(map[string]any{"expires_in": 900})
	require.Equal(t, http.StatusCreated, status, body)
	require.NoError(t, json.Unmarshal([]byte(body), &made))
	require.Greater(t, made.ExpiresAt, before, "renewed")
	require.Equal(t, 1, b.query(`select count(*) from events where stream = $1 and type = 'server.registered.v1'`, "server-"+made.ID),
		"a renewal records nothing")
	status, body = register(map[string]any{"labels": []string{b.label, "more"}})
	require.Equal(t, http.StatusCreated, status, body)
	require.Equal(t, 2, b.query(`select count(*) from events where stream = $1 and type = 'server.registered.v1' and meta->>'actor' = $2`,
		"server-"+made.ID, "token:"+name), "other labels do")

	for path, method := range map[string]string{
		"/servers": http.MethodGet, "/servers/" + made.ID: http.MethodGet, "/servers/" + made.ID + "/drain": http.MethodPost,
		"/servers/tokens": http.MethodGet,
		"/accounts":       http.MethodGet, "/jobs": http.MethodGet, "/doctor": http.MethodGet,
	} {
		status, body = b.send(method, "/admin"+path, secret, by())
		require.Equal(t, http.StatusUnauthorized, status, "%s %s: %s", method, path, body)
	}
	status, _ = b.send(http.MethodPost, "/admin/servers/tokens", secret, by(map[string]any{"name": "another"}))
	require.Equal(t, http.StatusUnauthorized, status)
	for _, path := range []string{"/api/queue", "/api/v2/jobs", "/v2/models"} {
		status, _ = b.send(http.MethodGet, path, secret, nil)
		require.Equal(t, http.StatusUnauthorized, status, path)
	}
	status, _ = b.send(http.MethodPost, "/admin/servers", b.key, map[string]any{"url": "http://10.1.2.3:8188"})
	require.Equal(t, http.StatusUnauthorized, status, "a key of an account is no registration token")

	status, body = register(map[string]any{"expires_in": 90_000})
	require.Equal(t, http.StatusUnprocessableEntity, status, "a day at most: %s", body)
	for _, other := range []string{"http://10.1.2.3:8188", "http://169.254.169.254/latest", "http://localhost:8188"} {
		status, body = register(map[string]any{"url": other})
		require.Equal(t, http.StatusForbidden, status, "only the machine that asks: %s", body)
		require.Contains(t, body, "address_not_allowed")
	}
	own := b.server(comfyui.Options{}, nil)
	status, body = register(map[string]any{"url": own.URL()})
	require.Equal(t, http.StatusConflict, status, "a server of an operator is not taken over: %s", body)

	status, body = register(map[string]any{"expires_in": 1})
	require.Equal(t, http.StatusCreated, status, body)
	b.await("the registration to expire", func() bool { return b.id(m) == "" })
	require.Equal(t, 1, b.query(`select count(*) from events where stream = $1 and type = 'server.expired.v1'`, "server-"+made.ID))

	require.Contains(t, b.command("servers", "tokens", "list"), name)
	status, _ = b.admin(http.MethodDelete, "/servers/tokens/"+name, by())
	require.Equal(t, http.StatusNoContent, status)
	status, body = register(nil)
	require.Equal(t, http.StatusUnauthorized, status, body)
	require.Empty(t, b.id(m))
	_, err = b.run("servers", "tokens", "revoke", "nobody", "--reason", "x")
	require.ErrorContains(t, err, "this registration token does not exist")
	for _, kind := range []string{"server.token_created.v1", "server.token_revoked.v1"} {
		require.Equal(t, 1, b.query(`select count(*) from events where type = $1 and meta->>'reason' <> '' and meta->>'actor' <> ''
			and stream = 'server_token-' || (select id::text from comfyui_tokens where name = $2)`, kind, name), kind)
	}

	require.NotContains(t, b.log.String(), secret, "it is never logged")
	require.Zero(t, b.query(`select count(*) from events e where e::text like '%' || $1 || '%'`, secret), "it is in no event")
	require.Zero(t, b.query(`select count(*) from comfyui_tokens t where t::text like '%' || $1 || '%'`, secret), "only its hash is kept")
	listed, _ := b.admin(http.MethodGet, "/servers/tokens", nil)
	require.Equal(t, http.StatusOK, listed)
	status, body = b.admin(http.MethodPost, "/servers/tokens", by(map[string]any{"name": name}))
	require.Equal(t, http.StatusConflict, status, "a name is used once: %s", body)
	require.False(t, strings.Contains(body, secret))
}

func TestATokenNeedsNoReasonAndExpiresByItself(t *testing.T) {
	b := start(t)
	status, body := b.admin(http.MethodPost, "/servers/tokens", by(map[string]any{"name": "d-" + b.label}))
	require.Equal(t, http.StatusCreated, status, body)
	var token struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(body), &token))
	status, body = b.send(http.MethodPost, "/admin/servers", token.Secret, map[string]any{"url": "http://127.0.0.1:9/" + b.label})
	require.Equal(t, http.StatusCreated, status, body)
	var made struct {
		ID        string
		ExpiresAt *string `json:"expires_at"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &made))
	require.NotNil(t, made.ExpiresAt)
	b.admin(http.MethodPost, "/servers/"+made.ID+"/remove", by())
	named := served.LastLine(b.command("servers", "tokens", "create", "n-"+b.label, "--host", "10.1.0.0/16", "--host", "*.gpu.internal",
		"--reason", "GPU group"))
	for address, want := range map[string]int{
		"http://10.1.2.3:8188/" + b.label: http.StatusCreated, "http://a.gpu.internal/" + b.label: http.StatusCreated,
		"http://127.0.0.1:9/n-" + b.label: http.StatusForbidden,
	} {
		status, body = b.send(http.MethodPost, "/admin/servers", named, map[string]any{"url": address})
		require.Equal(t, want, status, body)
		if status == http.StatusCreated {
			require.NoError(t, json.Unmarshal([]byte(body), &made))
			b.admin(http.MethodPost, "/servers/"+made.ID+"/remove", by())
		}
	}
	require.Contains(t, b.command("servers", "tokens", "list"), "*.gpu.internal,10.1.0.0/16")
	status, body = b.admin(http.MethodPost, "/servers/tokens", by(map[string]any{"name": "m-" + b.label, "hosts": []string{"http://gpu"}}))
	require.Equal(t, http.StatusBadRequest, status, body)
	for _, bad := range []map[string]any{
		{"url": "ftp://host"},
		{"url": "http://user:secret@host:1"},
		{"url": "http://10.1.2.3:8188", "slots": 65},
	} {
		status, body = b.send(http.MethodPost, "/admin/servers", token.Secret, bad)
		require.Equal(t, http.StatusUnprocessableEntity, status, body)
	}
}
