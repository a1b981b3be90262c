// Package clients_test runs the published clients of ComfyUI, pinned, against a complete service: the TypeScript and
// the Python SDK and the command line. Each client runs against every kind of deployment: blobs on disk and in a
// bucket, without a credential, with one token, and with keys of accounts.
package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/localstack/stacktest/s3server"
	"github.com/millrace-dev/millrace/test/served"
)

// patience bounds every wait, far above the usual time.
const patience = 5 * time.Minute

// staticToken is the credential of the deployments that have one token.
const staticToken = "a-token-that-all-clients-share"

// TestThePublishedClients runs every client on every kind of deployment, one deployment after the other.
func TestThePublishedClients(t *testing.T) {
	for _, storage := range []string{"disk", "bucket"} {
		for _, mode := range []string{"none", "token", "keys"} {
			t.Run(storage+"/"+mode, func(t *testing.T) {
				s := startService(t, storage, mode)
				t.Run("clients", func(t *testing.T) { // ends when all three clients have ended
					t.Run("TypeScript SDK", func(t *testing.T) { t.Parallel(); driveTypeScript(t, s) })
					t.Run("Python SDK", func(t *testing.T) { t.Parallel(); drivePython(t, s) })
					t.Run("command line", func(t *testing.T) { t.Parallel(); driveCommandLine(t, s) })
				})
			})
		}
	}
}

// service is one running service.
type service struct {
	*served.Service
	mode string
}

// startService starts a service for the test, which ends with the test.
func startService(t *testing.T, storage, mode string) *service {
	t.Helper()
	settings := map[string]string{}
	if storage == "bucket" {
		b := s3server.NewBucket(t)
		settings = map[string]string{
			"MILLRACE_BUCKET": b.Name, "MILLRACE_BUCKET_ENDPOINT": b.Addr, "MILLRACE_BUCKET_REGION": s3server.Region,
			"MILLRACE_BUCKET_INSECURE":   "true",
			"MILLRACE_BUCKET_ACCESS_KEY": s3server.AccessKey, "MILLRACE_BUCKET_SECRET_KEY": s3server.SecretKey,
		}
	}
	args := []string{"--auth", mode, "--log", "error"}
	if mode == "token" {
		args = append(args, "--token", staticToken)
	}
	return &service{mode: mode, Service: served.Start(t,
		served.Options{Name: "mr-clients", Args: args, Patience: patience, Lookup: func(name string) (string, bool) {
			if v, ok := settings[name]; ok {
				return v, true
			}
			return os.LookupEnv(name)
		}})}
}

// credential returns a credential that the service accepts from a client. If the service needs none, it returns a
// value for clients that always send one.
func (s *service) credential(t *testing.T) string {
	t.Helper()
	switch s.mode {
	case "none":
		return "unused"
	case "token":
		return staticToken
	}
	name := strings.ReplaceAll(t.Name(), "/", "-") + fmt.Sprint(time.Now().UnixNano())
	s.Run(t, "accounts", "create", name, "--tier", "pro")
	return s.Run(t, "keys", "create", "--account", name)
}

// get reads JSON from the service.
func (s *service) get(t *testing.T, path, key string) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Base+path, nil)
	require.NoError(t, err)
	req.Header.Set("X-API-Key", key)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	var body map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&body))
	require.Equal(t, http.StatusOK, res.StatusCode, body)
	return body
}

// await polls until the job has the given status.
func (s *service) await(t *testing.T, key, id, status string) {
	t.Helper()
	require.Eventually(t, func() bool { return s.get(t, "/api/job/"+id+"/status", key)["status"] == status }, patience, 50*time.Millisecond)
}

// tinyPNG is a small picture.
func tinyPNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 4, 3))))
	return b.Bytes()
}
