package bucket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/child/scratch"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest"
	"github.com/millrace-dev/millrace/internal/storage/blob/bucket"
	"github.com/millrace-dev/millrace/test/ports"
)

// serverEnv names the program of an S3 server, versitygw, to test against. It is not part of the
// module: `go install github.com/versity/versitygw/cmd/versitygw@v1.8.0` makes it.
const serverEnv = "MILLRACE_TEST_S3_SERVER"

const accessKey, secretKey = "millrace", "millrace-secret"

// server is the S3 server of this process, started when first asked for.
var server = sync.OnceValues(startServer)

// s3 is a running server over a directory that this process owns.
type s3 struct {
	addr string
	dir  *scratch.Dir
}

func startServer() (s3, error) {
	program := os.Getenv(serverEnv)
	if program == "" {
		var err error
		if program, err = exec.LookPath("versitygw"); err != nil {
			return s3{}, err
		}
	}
	dir, err := scratch.New("millrace-s3")
	if err != nil {
		return s3{}, err
	}
	data := filepath.Join(dir.Path, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return s3{}, err
	}
	addr, err := ports.Address()
	if err != nil {
		return s3{}, err
	}
	cmd := exec.Command(program, "--access", accessKey, "--secret", secretKey, "--port", addr, "--quiet", "posix", data)
	cmd.SysProcAttr = endWithParent()
	if err := cmd.Start(); err != nil {
		return s3{}, err
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			return s3{addr, dir}, conn.Close()
		}
	}
	return s3{}, fmt.Errorf("%s does not listen", program)
}

// harness opens a store in a bucket of its own.
func harness(t testing.TB) (*bucket.Store, *minio.Client, string) {
	t.Helper()
	running, err := server()
	if err != nil {
		t.Skipf("no S3 server (%s): %v", serverEnv, err)
	}
	addr := running.addr
	client, err := minio.New(addr, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1"})
	require.NoError(t, err)
	name := fmt.Sprintf("test-%d", time.Now().UnixNano())
	require.NoError(t, client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}))
	s, err := bucket.Open(t.Context(), bucket.Options{
		Endpoint: addr, Region: "us-east-1", Bucket: name, Prefix: "millrace/", AccessKey: accessKey, SecretKey: secretKey,
		Insecure: true, Spool: filepath.Join(t.TempDir(), "spool"), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return s, client, name
}

func key(ref blob.Ref) string {
	hex := ref.Hex()
	return "millrace/blobs/" + hex[:2] + "/" + hex[2:4] + "/" + hex
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t testing.TB) blobtest.Harness {
		s, client, name := harness(t)
		return blobtest.Harness{
			Store: s, Huge: 160 << 20, Grace: 5 * time.Second, // times of objects are whole seconds
			Damage: func(t testing.TB, ref blob.Ref) {
				object, err := client.GetObject(t.Context(), name, key(ref), minio.GetObjectOptions{})
				require.NoError(t, err)
				data, err := io.ReadAll(object)
				require.NoError(t, err)
				data[len(data)/2] ^= 1
				_, err = client.PutObject(t.Context(), name, key(ref), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
				require.NoError(t, err)
			},
		}
	})
}

func TestAPresignedLinkServesTheBlobWithItsHeaders(t *testing.T) {
	t.Parallel()
	s, _, _ := harness(t)
	data := strings.Repeat("x", 5000)
	ref, err := blob.PutBytes(t.Context(), s, []byte(data))
	require.NoError(t, err)
	link, err := s.Presign(t.Context(), ref, blob.Headers{ContentType: "text/plain", ContentDisposition: `attachment; filename="a.txt"`}, time.Hour)
	require.NoError(t, err)
	require.Contains(t, link, "X-Amz-Expires=900", "fifteen minutes at most")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, data, string(body))
	require.Equal(t, "text/plain", resp.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="a.txt"`, resp.Header.Get("Content-Disposition"))
}

func TestADamagedObjectIsHealedByTheNextUpload(t *testing.T) {
	t.Parallel()
	s, client, name := harness(t)
	ref, err := blob.PutBytes(t.Context(), s, []byte("good"))
	require.NoError(t, err)
	_, err = client.PutObject(t.Context(), name, key(ref), strings.NewReader("evil"), 4, minio.PutObjectOptions{})
	require.NoError(t, err)
	_, err = blob.Verify(t.Context(), s, ref)
	require.ErrorIs(t, err, blob.ErrCorrupt)
	_, err = s.Open(t.Context(), ref)
	require.Equal(t, fault.NotFound, fault.KindOf(err))
	_, err = blob.PutBytes(t.Context(), s, []byte("good"))
	require.NoError(t, err)
	_, err = blob.Verify(t.Context(), s, ref)
	require.NoError(t, err)
}

func TestAnAbsentServiceIsUnavailable(t *testing.T) {
	t.Parallel()
	addr, err := ports.Address()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = bucket.Open(ctx, bucket.Options{
		Endpoint: addr, Region: "us-east-1", Bucket: "b", AccessKey: "a", SecretKey: "s", Insecure: true, Spool: t.TempDir(),
	})
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
}
