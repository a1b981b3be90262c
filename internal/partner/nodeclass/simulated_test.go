package nodeclass_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/media"
	"github.com/millrace-dev/millrace/internal/engine/media/ffmpeg"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/engine/node/nodetest"
	"github.com/millrace-dev/millrace/internal/engine/raster"
	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/nodeclass"
	"github.com/millrace-dev/millrace/internal/partner/provider"
	"github.com/millrace-dev/millrace/internal/sim"
)

// providers is a node.Models whose calls go to simulated providers.
type providers struct {
	models *catalog.Snapshot
	client *provider.Client
}

var errFailed = errors.New("the provider failed")

func (p providers) Run(ctx context.Context, model, _ string, body []byte) (node.ModelAnswer, error) {
	m, ok := p.models.Find(model)
	if !ok {
		return node.ModelAnswer{}, fmt.Errorf("%w: %s is unknown", errFailed, model)
	}
	if found := m.Validate(body); len(found) > 0 {
		return node.ModelAnswer{}, fmt.Errorf("%w: %s refuses %s: %v", errFailed, model, body, found)
	}
	var sink bytes.Buffer
	out, err := p.client.Dispatch(ctx, provider.Request{Model: m, CallID: "call", Body: bytes.NewReader(body), Size: int64(len(body))}, &sink)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for handle := out.Handle; err == nil && (out.Phase == provider.Accepted || out.Phase == provider.Pending); {
		<-tick.C
		sink.Reset()
		out, err = p.client.Poll(ctx, m, handle, &sink)
	}
	if err != nil {
		return node.ModelAnswer{}, err
	}
	if out.Phase != provider.Answered {
		return node.ModelAnswer{}, fmt.Errorf("%w: %s to %s: %+v", errFailed, model, body, out.Failure)
	}
	return node.ModelAnswer{ContentType: out.ContentType, Content: io.NopCloser(&sink)}, nil
}

func (p providers) Fetch(ctx context.Context, _, address string) (node.ModelAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return node.ModelAnswer{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return node.ModelAnswer{}, err
	}
	return node.ModelAnswer{ContentType: resp.Header.Get("Content-Type"), Content: resp.Body}, nil
}

// simulated returns every class of ComfyUI's partner nodes, and simulated providers of their models.
func simulated(t *testing.T, tool *ffmpeg.Tool) (map[string]*node.Class, providers) {
	t.Helper()
	server := sim.New(sim.Options{Delay: time.Millisecond})
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	c, err := catalog.Load(catalog.Options{Bases: sim.Bases(listener.URL), Simulator: listener.URL})
	require.NoError(t, err)
	all, err := nodeclass.Originals(c.Snapshot(), func(*catalog.Model) bool { return true }, tool)
	require.NoError(t, err)
	classes := map[string]*node.Class{}
	for _, class := range all {
		classes[class.Name] = class
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "router@simulated.example", "token_uri": listener.URL + "/vertexai/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})),
	})
	require.NoError(t, err)
	internet := outbound.New(outbound.Options{})
	t.Cleanup(internet.Close)
	return classes, providers{c.Snapshot(), provider.New(internet, func(name string) (string, bool) {
		if name == "GOOGLE_APPLICATION_CREDENTIALS" {
			return string(account), true
		}
		return "simulated", true
	}, slog.New(slog.DiscardHandler))}
}

// Every partner node of ComfyUI that is listed runs against its simulated provider and gives values of its outputs' types.
func TestOriginalNodesRunAgainstTheirProviders(t *testing.T) {
	t.Parallel()
	tool, err := ffmpeg.Find("")
	require.NoError(t, err)
	classes, models := simulated(t, tool)
	require.NotEmpty(t, classes)
	for name, c := range classes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failures error
			for _, choice := range choicesOf(c) {
				for pictures := range 4 {
					res, err := c.Run(t.Context(), &node.Call{
						NodeID: "1", Args: arguments(t, c, choice, pictures), Models: models, Files: nodetest.NewFiles(), MaxPixels: 1 << 24,
					})
					if err != nil {
						require.NotErrorIs(t, err, errFailed)
						failures = errors.Join(failures, err)
						continue // a model that is not available, or pictures that the model does not take
					}
					requireTypes(t, c, res.Outputs)
					return
				}
			}
			t.Fatal(failures)
		})
	}
}

// requireTypes fails the test unless each value is of the type of its output.
func requireTypes(t *testing.T, c *node.Class, values []node.Value) {
	t.Helper()
	require.Len(t, values, len(c.Outputs))
	for i, out := range c.Outputs {
		switch out.Type {
		case node.Image:
			require.IsType(t, &raster.Image{}, values[i])
		case node.Mask:
			require.IsType(t, &raster.Mask{}, values[i])
		case node.Audio:
			require.IsType(t, &media.Sound{}, values[i])
		case node.Video:
			require.IsType(t, &media.Video{}, values[i])
			require.NotEmpty(t, values[i].(*media.Video).File)
		default:
			require.IsType(t, "", values[i], out.Name)
		}
	}
}
