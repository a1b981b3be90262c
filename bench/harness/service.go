// Package harness starts the servers and the service that the benchmarks measure: private servers in a directory that
// is removed at the end, and the service as a separate process.
package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/millrace-dev/millrace/internal/child"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/localstack"
)

// Service is the running servers and the service.
type Service struct {
	*localstack.Stack
	Base     string // of the service's API, once Serve was called
	Dir      string
	Profiles string // address of the profiles of Temporal's runtime, "" = none
	service  *child.Process
}

// Start starts PostgreSQL, with fsync as in local mode, and Temporal.
func Start(ctx context.Context) (*Service, error) {
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	s := &Service{Dir: dir}
	if err := s.startStack(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// startStack starts the servers. Temporal has profiles if they have an address.
func (s *Service) startStack(ctx context.Context) (err error) {
	profiles := 0
	if s.Profiles != "" {
		_, port, err := net.SplitHostPort(s.Profiles)
		if err != nil {
			return err
		}
		if profiles, err = strconv.Atoi(port); err != nil {
			return err
		}
	}
	s.Stack, err = localstack.Start(ctx, localstack.Options{
		DataDir: filepath.Join(s.Dir, "data"), TemporalBinary: "bin/millrace-temporal", UIAddress: "127.0.0.1:0", TemporalProfiles: profiles,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	return err
}

// AwaitClass waits until the service has a class of its ComfyUI servers, for at most a minute.
func (s *Service) AwaitClass(ctx context.Context, class string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var info map[string]any
		err := Call(ctx, http.DefaultClient, http.MethodGet, s.Base+"/api/object_info/"+class, "", &info)
		if err == nil && len(info) > 0 {
			return nil
		}
		if pause.For(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("class %s did not become known: %w", class, cmp.Or(err, ctx.Err()))
		}
	}
}

// Serve starts bin/millrace with all roles and waits until it is ready.
func (s *Service) Serve(ctx context.Context, env ...string) error {
	return s.ServeRoles(ctx, "", env...)
}

// ServeRoles is Serve with these roles, "" = all.
func (s *Service) ServeRoles(ctx context.Context, names string, env ...string) error {
	var roles []string
	if names != "" {
		roles = []string{"--roles", names}
	}
	addr, err := FreeAddress()
	if err != nil {
		return err
	}
	if s.service, err = s.start("service", append([]string{"--addr", addr}, roles...), env); err != nil {
		return err
	}
	s.Base = "http://" + addr
	return s.await(ctx)
}

// FreeAddress returns an address of this machine on which no program listens.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Profile writes a CPU profile over some seconds to a file. The process serves its profiles at the address.
func Profile(ctx context.Context, address string, seconds int, path string) error {
	return fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", address, seconds), path)
}

// Heap writes a profile of the live heap to a file. The process serves its profiles at the address.
func Heap(ctx context.Context, address, path string) error {
	return fetch(ctx, fmt.Sprintf("http://%s/debug/pprof/heap?gc=1", address), path)
}

func fetch(ctx context.Context, url, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", req.URL, resp.Status, raw)
	}
	return os.WriteFile(path, raw, 0o644)
}

// Worker starts bin/millrace as one more worker of the service. Its log is named after it. The caller ends it.
func (s *Service) Worker(name string, env ...string) (*child.Process, error) {
	return s.start(name, []string{"--roles", "worker", "--internal-addr", "127.0.0.1:0"}, env)
}

func (s *Service) start(name string, args, env []string) (*child.Process, error) {
	log, err := os.OpenFile(filepath.Join(s.Dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has a handle of its own
	return child.Start(child.Command{
		Path: "bin/millrace", Args: append([]string{"serve", "--data", filepath.Join(s.Dir, "data", "service")}, args...),
		Stdout: log, Stderr: log, Orphan: syscall.SIGTERM,
		// The node cache is off, because benchmarks measure running nodes and repeat the same graphs.
		Env: append(append(os.Environ(), "MILLRACE_NODE_CACHE=0", "DATABASE_URL="+s.DatabaseURL,
			"TEMPORAL_ADDRESS="+s.TemporalAddress, "MILLRACE_LOG=warn"), env...),
	})
}

func (s *Service) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			io.Copy(io.Discard, resp.Body) // only the status counts
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service did not become ready; see %s/service.log", s.Dir)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ServiceMemory returns the service's peak resident memory in MiB; 0 = not known.
func (s *Service) ServiceMemory() int64 { return s.memory(peakResident) }

// ResidentMemory returns the service's resident memory now, in MiB.
func (s *Service) ResidentMemory() int64 { return s.memory(resident) }

func (s *Service) memory(line string) int64 {
	if s.service == nil {
		return 0
	}
	return memoryOf(s.service.PID(), line)
}

// ServiceCPU returns the processor time that the service has used.
func (s *Service) ServiceCPU() time.Duration {
	if s.service == nil {
		return 0
	}
	return CPUOf(s.service.PID())
}

// StopService stops the service; Serve starts it again.
func (s *Service) StopService(ctx context.Context) error {
	if s.service == nil {
		return nil
	}
	err := s.service.Stop(ctx, child.Step{Signal: syscall.SIGTERM, Grace: 15 * time.Second})
	s.service = nil
	return err
}

// Close stops everything and removes the directory.
func (s *Service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(s.StopService(ctx), s.Stack.Close(ctx), os.RemoveAll(s.Dir))
}
