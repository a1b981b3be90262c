package localstack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Addresses is what a running `millrace dev` leaves in its data directory, so that other commands
// find its private servers.
type Addresses struct {
	DatabaseURL     string `json:"database_url"`
	TemporalAddress string `json:"temporal_address"`
	Simulator       string `json:"simulator,omitempty"` // of providers: its models are node classes, too
}

// AddressFile returns the file in a data directory that names the servers of the millrace dev that runs on it.
func AddressFile(dir string) string { return filepath.Join(dir, "addresses.json") }

// Leave writes the file in a data directory for its owner only; the returned function takes it away.
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
