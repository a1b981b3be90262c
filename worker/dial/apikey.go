package dial

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// keyAge is how long an API key is used before its file is read again: every request carries the key.
const keyAge = time.Second

// keyFile is an API key in a file that may be replaced.
type keyFile struct {
	path string

	mu   sync.Mutex // guards the two below
	key  string
	read time.Time
}

// current returns the key. While the file is absent or empty, as during a rotation, it returns the key that was read
// before.
func (f *keyFile) current(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.key != "" && time.Since(f.read) < keyAge {
		return f.key, nil
	}
	key, err := readKey(f.path)
	if err != nil && f.key == "" {
		return "", err
	}
	if err == nil {
		f.key = key
	}
	f.read = time.Now()
	return f.key, nil
}

func readKey(path string) (string, error) {
	raw, err := readFile("TEMPORAL_API_KEY_FILE", path)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(raw))
	if key == "" {
		return "", fmt.Errorf("%s (TEMPORAL_API_KEY_FILE) is empty: put the API key into it", path)
	}
	return key, nil
}
