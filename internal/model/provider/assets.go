package provider

import (
	"fmt"
	"net/url"

	"github.com/millrace-dev/millrace/internal/model/catalog"
	"github.com/millrace-dev/millrace/internal/model/jsondoc"
)

// maxAssets bounds the addresses of one result that are copied.
const maxAssets = 64

// Assets returns the addresses in a result that the entry's hosting rule selects for copying, in the order of the
// document. Strings that are not https addresses are skipped; the operator may allow other addresses.
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
