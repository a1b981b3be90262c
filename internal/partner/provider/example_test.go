package provider_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/provider"
)

const exampleEntry = `provider: echo
base: https://api.echo.example
auth: {kind: header, header: x-key, env: [ECHO_KEY]}
models:
  - {model: upper, protocol: sync, submit: {url: /upper}, price: {exact: "0", as_of: 2026-01-01}}
`

// A provider needs no code: an entry of the catalog describes its protocol, and the client sends the caller's bytes.
func ExampleClient_Dispatch() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-Key") != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.ToUpper(body))
	}))
	defer server.Close()

	dir, err := os.MkdirTemp("", "entries-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "echo.yaml"), []byte(exampleEntry), 0o600); err != nil {
		panic(err)
	}
	models, err := catalog.Load(catalog.Options{Dirs: []string{dir}, Bases: map[string]string{"echo": server.URL}})
	if err != nil {
		panic(err)
	}
	model, _ := models.Snapshot().Find("echo/upper")

	internet := outbound.New(outbound.Options{})
	defer internet.Close()
	client := provider.New(internet, func(string) (string, bool) { return "secret", true }, slog.New(slog.DiscardHandler))
	const body = `{"text":"hello"}`
	var answer bytes.Buffer
	outcome, err := client.Dispatch(context.Background(), provider.Request{
		Model: model, CallID: "call-1", Body: strings.NewReader(body), Size: int64(len(body)),
	}, &answer)
	fmt.Println(outcome.Phase, answer.String(), err)
	// Output: answered {"TEXT":"HELLO"} <nil>
}
