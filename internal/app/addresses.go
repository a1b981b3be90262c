package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace-dev/millrace/internal/config"
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

// leaveAddresses writes the file for its owner only; the returned function takes it away.
func leaveAddresses(cfg config.Config) (func(), error) {
	raw, err := json.Marshal(Addresses{cfg.DatabaseURL, cfg.TemporalAddress, cfg.Router.Simulator})
	if err != nil {
		return nil, err
	}
	file := AddressFile(cfg.DataDir)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return func() { os.Remove(file) }, nil //nolint:errcheck // a stale file only names servers that do not answer
}
