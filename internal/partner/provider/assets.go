package provider

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/millrace-dev/millrace/internal/outbound"
	"github.com/millrace-dev/millrace/internal/outbound/redact"
	"github.com/millrace-dev/millrace/internal/partner/catalog"
	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
)

// Fetcher downloads from an address on the open internet.
type Fetcher interface {
	Fetch(ctx context.Context, address string, b outbound.Bounds, allow []string) (*outbound.Content, error)
}

// Fetch downloads a file to which an answer of the model's provider links. It overwrites the operator's credentials
// for the model in the file; lookup reads these credentials (os.LookupEnv).
func Fetch(ctx context.Context, from Fetcher, m *catalog.Model, lookup func(string) (string, bool),
	address string,
) (*outbound.Content, error) {
	secrets := redact.New(credentials(m, lookup)...)
	content, err := from.Fetch(ctx, address, outbound.Bounds{}, m.Allow)
	if err != nil {
		return nil, readable(secrets, err)
	}
	body := struct {
		io.Reader
		io.Closer
	}{secrets.Reader(content), content}
	return &outbound.Content{ReadCloser: body, ContentType: secrets.String(content.ContentType), Size: content.Size}, nil
}

// maxAssets bounds the assets of one result that are copied.
const maxAssets = 64

// Assets returns the addresses in a result that the entry's hosting rule selects for copying, in the order of the
// document. Strings that are not https addresses are skipped, unless the operator allows them.
func Assets(m *catalog.Model, result []byte) ([]AssetRef, error) {
	if !m.Hosted() {
		return nil, nil
	}
	found, err := jsondoc.Strings(result, m.Hosting.Assets)
	if err != nil {
		return nil, fmt.Errorf("find the assets of a result: %w", err)
	}
	var refs []AssetRef
	for _, f := range found {
		u, err := url.Parse(f.Value)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || len(refs) == maxAssets {
			continue
		}
		refs = append(refs, AssetRef{Pointer: f.Pointer, URL: f.Value})
	}
	return refs, nil
}

// Rewrite returns a result with the addresses at the pointers replaced and every other byte unchanged.
func Rewrite(result []byte, urls map[string]string) ([]byte, error) {
	out, err := jsondoc.Replace(result, urls)
	if err != nil {
		return nil, fmt.Errorf("replace the addresses of a result: %w", err)
	}
	return out, nil
}
