package bucket_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/ports"
	"github.com/millrace-dev/millrace/internal/localstack/stacktest/s3server"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest"
	"github.com/millrace-dev/millrace/internal/storage/blob/bucket"
)

// harness opens a store in a bucket of its own.
func harness(t testing.TB) (*bucket.Store, *minio.Client, string) {
	t.Helper()
	made := s3server.NewBucket(t)
	s, err := bucket.Open(t.Context(), bucket.Options{
		Endpoint: made.Addr, Region: s3server.Region, Bucket: made.Name, Prefix: "millrace/", AccessKey: s3server.AccessKey,
		SecretKey: s3server.SecretKey,
		Insecure:  true, Spool: filepath.Join(t.TempDir(), "spool"), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return s, made.Client, made.Name
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
	link, err := s.Presign(t.Context(), ref, blob.Headers{ContentType: "text/plain", ContentDisposition: `attachment; filename="a.txt"`},
		time.Hour)
	require.NoError(t, err)
	require.Contains(t, link, "X-Amz-Expires=900", "fifteen minutes at most")
	origin, err := s.Origin(t.Context())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(link, origin+"/"), "%s is not below %s", link, origin)
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
