package localstack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Addresses is the content of the file that a running `millrace dev` writes into its data directory, so that other
// commands find its private servers.
type Addresses struct {
	DatabaseURL     string `json:"database_url"`
	TemporalAddress string `json:"temporal_address"`
	Simulator       string `json:"simulator,omitempty"` // simulator of providers; its models are node classes, too
}

// AddressFile returns the path of the file with the addresses of the millrace dev that uses a data directory.
func AddressFile(dir string) string { return filepath.Join(dir, "addresses.json") }

// Leave writes the file into a data directory, readable only by its owner. The returned function removes the file.
func (a Addresses) Leave(dir string) (func(), error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	file := AddressFile(dir)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return func() { os.Remove(file) }, nil //nolint:errcheck // a stale file only names servers that do not answer
}
