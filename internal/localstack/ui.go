//go:build unix

package localstack

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace-dev/millrace/internal/localstack/webui"
)

// uiHeaderTimeout bounds how long a browser may take to send a request to the Web UI.
const uiHeaderTimeout = 15 * time.Second

// ui is the Web UI of the private Temporal. The UI itself listens on a socket in a directory that only this user can
// enter; the guard in front of it listens on a loopback address.
type ui struct {
	dir    string // directory of the socket
	server *http.Server
}

func (u *ui) socket() string { return filepath.Join(u.dir, "ui.sock") }

// address returns the address on which the Temporal server must serve its UI, or "".
func (u *ui) address() string {
	if u == nil {
		return ""
	}
	return "unix:" + u.socket()
}

// CheckUIAddress refuses an address for Temporal's Web UI that is taken or that other machines can reach.
func CheckUIAddress(addr string) error {
	if addr == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--temporal-ui-addr takes an address of this machine such as 127.0.0.1:8080, not %q: the UI shows the workflows of "+
			"all accounts", addr)
	}
	probe, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s for Temporal's Web UI: %w; stop what uses it, or choose another with --temporal-ui-addr", addr,
			errors.Unwrap(err))
	}
	return probe.Close()
}

// openUI listens on an address for the guard.
func openUI(address string, opts Options) (*ui, error) {
	dir, err := os.MkdirTemp("", "millrace-ui-") // for its owner only; a data directory may have too long a path for a socket
	if err != nil {
		return nil, fmt.Errorf("directory of the Web UI's socket: %w", err)
	}
	u := &ui{dir: dir}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve Temporal's Web UI: %w", err), u.close())
	}
	u.server = &http.Server{
		Handler:           webui.New(webui.Options{Socket: u.socket(), Password: opts.UIPassword, Writes: opts.UIWrites}),
		ReadHeaderTimeout: uiHeaderTimeout,
	}
	go u.server.Serve(listener) //nolint:errcheck // ends with close
	return u, nil
}

func (u *ui) close() error {
	if u == nil {
		return nil
	}
	var err error
	if u.server != nil {
		err = u.server.Close()
	}
	return errors.Join(err, os.RemoveAll(u.dir))
}
