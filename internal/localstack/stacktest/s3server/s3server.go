// Package s3server gives tests a real S3 server, versitygw, on this machine. It is not part of the module: `make test`
// installs it, MILLRACE_TEST_S3_SERVER names it, and without it the tests that need one are skipped aloud.
package s3server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
)

// Env is the variable with the path of the server's program, which may also be in the search path.
const Env = "MILLRACE_TEST_S3_SERVER"

// The server's only user.
const (
	AccessKey = "millrace"
	SecretKey = "millrace-secret"
	Region    = "us-east-1"
)

// Bucket is a new, empty bucket.
type Bucket struct {
	Addr   string // HOST:PORT of the server, without TLS
	Name   string
	Client *minio.Client
}

// NewBucket makes a bucket on the server of this process, which starts when it is first needed.
func NewBucket(t testing.TB) Bucket {
	t.Helper()
	addr, err := address()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skipf("no S3 server (%s): %v", Env, err)
	}
	require.NoError(t, err)
	client, err := minio.New(addr, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Region: Region})
	require.NoError(t, err)
	b := Bucket{Addr: addr, Name: fmt.Sprintf("test-%d", time.Now().UnixNano()), Client: client}
	require.NoError(t, client.MakeBucket(t.Context(), b.Name, minio.MakeBucketOptions{}))
	return b
}

var address = sync.OnceValues(start)

func start() (string, error) {
	program := os.Getenv(Env)
	if program == "" {
		var err error
		if program, err = exec.LookPath("versitygw"); err != nil {
			return "", err
		}
	}
	dir, err := scratch.New("millrace-s3") // the next run removes it
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir.Path, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return "", err
	}
	addr, err := ports.Address()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program, "--access", AccessKey, "--secret", SecretKey, "--port", addr, "--quiet", "posix", data)
	cmd.SysProcAttr = endWithParent()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return addr, listens(addr)
}

// listens waits until something listens at the address.
func listens(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the S3 server does not listen at %s", addr)
		case <-tick.C:
		}
	}
}
