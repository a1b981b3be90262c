//go:build unix

package localstack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/millrace-dev/millrace/internal/localstack/temporal"
)

// dataVersion is the version of the directory's layout. It is incremented with each change that older programs cannot
// read.
const dataVersion = 1

// checkVersion writes the version into a new directory and refuses the directory of a newer program.
func checkVersion(dir string) error {
	name := filepath.Join(dir, "VERSION")
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return writeFile(name, []byte(strconv.Itoa(dataVersion)+"\n"))
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return fmt.Errorf("data directory: %s is damaged: %w", name, err)
	}
	if version > dataVersion {
		return fmt.Errorf("%s was written by a newer Millrace (data version %d; this one supports %d): upgrade Millrace, or choose another "+
			"data directory", dir, version, dataVersion)
	}
	return nil
}

// state is saved by one run for the next.
type state struct {
	Temporal string `json:"temporal"` // address of the frontend
	UI       string `json:"ui"`       // address of the Web UI
}

// The default addresses of Temporal on one machine.
const (
	defaultTemporal = "127.0.0.1:7233"
	defaultUI       = "127.0.0.1:8233"
)

const stateFile = "state.json"

func loadState(dir string) (state, error) {
	var s state
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("data directory: %w", err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("data directory: %s is damaged (it may be removed): %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

func (s state) save(dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, stateFile), append(b, '\n'))
}

// chooseAddresses keeps the saved addresses that are free, and replaces the others.
func (s *state) chooseAddresses(ui string) (err error) {
	s.Temporal = cmp.Or(s.Temporal, defaultTemporal)
	if ui != "" {
		s.UI = ui
	}
	s.UI = cmp.Or(s.UI, defaultUI)
	if s.Temporal, err = temporal.FreeAddress(s.Temporal); err != nil {
		return err
	}
	s.UI, err = temporal.FreeAddress(s.UI)
	return err
}

// writeFile replaces a small file atomically.
func writeFile(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
