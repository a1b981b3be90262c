package provider

import (
	"fmt"
	"net/url"

	"github.com/millrace-dev/millrace/internal/model/catalog"
	"github.com/millrace-dev/millrace/internal/model/jsondoc"
)

// maxAssets bounds how many addresses of one result are copied.
const maxAssets = 64

// Assets returns the addresses in a result that the entry's hosting rule selects, in the order of
// the document: what to copy to our own storage. Strings that are no https address (the entry
// allows others only where the operator does) are left alone.
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

// Rewrite returns a result with the addresses at some pointers replaced; every other byte stays.
func Rewrite(result []byte, urls map[string]string) ([]byte, error) {
	out, err := jsondoc.Replace(result, urls)
	if err != nil {
		return nil, fmt.Errorf("replace the addresses of a result: %w", err)
	}
	return out, nil
}
