// Package bucket stores blobs in a bucket of an S3-compatible service: <prefix>blobs/ab/cd/<hash>. Bytes are spooled
// to a local file first, because their name is known only after the last byte. It promises that an object under
// blobs/ is complete, because a bucket never shows a partial upload.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Options locate a bucket. Endpoint, Bucket and Spool are required.
type Options struct {
	Endpoint  string // host[:port] of the service
	Region    string // "" = read from the service
	Bucket    string // must exist
	Prefix    string // of every key, "" or ending in "/"
	AccessKey string // "" = the credentials that the AWS tools find on this machine
	SecretKey string
	Insecure  bool         // plain HTTP
	Encrypt   Encryption   // encryption by the service; "" = the bucket's default
	KMSKey    string       // id of the key of SSEKMS; "" = the service's own
	Spool     string       // local folder for unfinished uploads
	Locks     Locks        // nil = locks of this process, if no other process writes to the bucket
	Log       *slog.Logger // log for damaged blobs; nil = slog.Default()
}

// Encryption is how the service encrypts stored objects.
type Encryption string

// The encryptions by the service.
const (
	SSES3  Encryption = "sse-s3"  // with keys of the storage service
	SSEKMS Encryption = "sse-kms" // with a key of the key management service
)

// serverSide returns the encryption parameters of each request that stores an object; nil = no parameters.
func (o Options) serverSide() (encrypt.ServerSide, error) {
	switch o.Encrypt {
	case SSES3:
		return encrypt.NewSSE(), nil
	case SSEKMS:
		return encrypt.NewSSEKMS(o.KMSKey, nil)
	case "":
		return nil, nil
	}
	return nil, fmt.Errorf("encryption %q is not one of %s, %s", o.Encrypt, SSES3, SSEKMS)
}

// Locks prevents Remove from running concurrently with Commit and Touch of the same blob, across all processes that
// use the bucket. The context of fn ends before the lock can be lost.
type Locks interface {
	// Shared runs fn concurrently with other shared holders of the blob's lock.
	Shared(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error
	// Exclusive runs fn alone.
	Exclusive(ctx context.Context, ref blob.Ref, fn func(context.Context) error) error
}

// Store stores blobs in one bucket. It implements blob.Store and blob.Presigner.
type Store struct {
	client *minio.Client
	opts   Options
	sse    encrypt.ServerSide // nil = the bucket's default
	locks  Locks
}

var (
	_ blob.Store     = (*Store)(nil)
	_ blob.Presigner = (*Store)(nil)
)

// Open returns the store in an existing bucket.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.Endpoint == "" || opts.Bucket == "" || opts.Spool == "" {
		return nil, errors.New("a bucket store needs an endpoint, a bucket and a spool folder")
	}
	creds := machineCredentials()
	if opts.AccessKey != "" {
		creds = credentials.NewStaticV4(opts.AccessKey, opts.SecretKey, "")
	}
	client, err := minio.New(opts.Endpoint, &minio.Options{Creds: creds, Secure: !opts.Insecure, Region: opts.Region})
	if err != nil {
		return nil, fmt.Errorf("bucket client: %w", err)
	}
	if err := os.MkdirAll(opts.Spool, 0o700); err != nil {
		return nil, fmt.Errorf("spool folder: %w", err)
	}
	opts.Log = cmp.Or(opts.Log, slog.Default())
	s := &Store{client: client, opts: opts, locks: opts.Locks}
	if s.sse, err = opts.serverSide(); err != nil {
		return nil, err
	}
	if s.locks == nil {
		s.locks = NewLocks()
	}
	exists, err := client.BucketExists(ctx, opts.Bucket)
	if err != nil {
		return nil, classify(blob.Ref{}, "look for the bucket of", err)
	}
	if !exists {
		return nil, fault.New(fault.NotFound, "", "the bucket %s does not exist", opts.Bucket)
	}
	return s, nil
}

// Folders below the prefix.
const (
	folder  = "blobs/"
	markers = "touched/"
)

func (s *Store) key(ref blob.Ref) string {
	hex := ref.Hex()
	return s.opts.Prefix + folder + hex[:2] + "/" + hex[2:4] + "/" + hex
}

// marker returns the key of an empty object whose age is the time since the blob's last touch, because the
// modification time of the blob itself cannot be changed.
func (s *Store) marker(ref blob.Ref) string { return s.opts.Prefix + markers + ref.Hex() }

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, ref blob.Ref) (int64, error) {
	info, err := s.client.StatObject(ctx, s.opts.Bucket, s.key(ref), minio.StatObjectOptions{})
	return info.Size, classify(ref, "stat", err)
}

// Open implements blob.Store.
func (s *Store) Open(ctx context.Context, ref blob.Ref) (blob.Reader, error) {
	size, err := s.Stat(ctx, ref)
	if err != nil {
		return nil, err
	}
	verdict := func(ok bool) {
		if !ok {
			s.quarantine(ctx, ref)
		}
	}
	return blob.NewReader(ref, &source{ctx: ctx, s: s, ref: ref, size: size}, size, false, verdict), nil
}

// quarantine moves a damaged object aside, so that the next upload of the bytes restores the blob. It reads the
// object once more first, because the damage may have happened during the transfer.
func (s *Store) quarantine(ctx context.Context, ref blob.Ref) {
	ctx = context.WithoutCancel(ctx)
	if damaged, err := s.damaged(ctx, ref); err != nil || !damaged {
		s.opts.Log.Error("blob read with a wrong hash once; it stays in service", "blob", ref.String(), "error", err)
		return
	}
	to := s.opts.Prefix + "damaged/" + ref.Hex()
	err := s.locks.Exclusive(ctx, ref, func(ctx context.Context) error {
		_, err := s.client.CopyObject(ctx, minio.CopyDestOptions{Bucket: s.opts.Bucket, Object: to, Encryption: s.sse},
			minio.CopySrcOptions{Bucket: s.opts.Bucket, Object: s.key(ref)})
		if err != nil {
			return err
		}
		return s.client.RemoveObject(ctx, s.opts.Bucket, s.key(ref), minio.RemoveObjectOptions{})
	})
	s.opts.Log.Error("damaged blob taken out of service", "blob", ref.String(), "moved_to", to, "error", err)
}

// damaged reads a whole blob and reports whether its hash is wrong.
func (s *Store) damaged(ctx context.Context, ref blob.Ref) (bool, error) {
	size, err := s.Stat(ctx, ref)
	if err != nil {
		return false, err
	}
	src := &source{ctx: ctx, s: s, ref: ref, size: size}
	defer src.Close() // an error after reading has no effect
	h := blob.NewHash()
	if _, err := io.Copy(h, io.NewSectionReader(src, 0, size)); err != nil {
		return false, err
	}
	return blob.RefOf(h) != ref, nil
}

// Touch implements blob.Store.
func (s *Store) Touch(ctx context.Context, ref blob.Ref) error {
	return s.locks.Shared(ctx, ref, func(ctx context.Context) error {
		if _, err := s.Stat(ctx, ref); err != nil {
			return err
		}
		_, err := s.client.PutObject(ctx, s.opts.Bucket, s.marker(ref), strings.NewReader(""), 0,
			minio.PutObjectOptions{ServerSideEncryption: s.sse})
		return classify(ref, "touch", err)
	})
}

// Remove implements blob.Store.
func (s *Store) Remove(ctx context.Context, ref blob.Ref, cutoff time.Time) (bool, error) {
	gone := false
	err := s.locks.Exclusive(ctx, ref, func(ctx context.Context) error {
		stored, touched, err := s.times(ctx, ref)
		if fault.Is(err, fault.NotFound) {
			gone = true // delete nothing: an upload may be about to store the object
			return nil
		}
		if err != nil || !stored.Before(cutoff) || !touched.Before(cutoff) {
			return err
		}
		for _, key := range []string{s.key(ref), s.marker(ref)} { // removing an absent object succeeds
			if err := s.client.RemoveObject(ctx, s.opts.Bucket, key, minio.RemoveObjectOptions{}); err != nil {
				return classify(ref, "remove", err)
			}
		}
		gone = true
		return nil
	})
	return gone, err
}

// times returns the times at which the blob was stored and last touched; zero = never. An absent blob is NotFound.
func (s *Store) times(ctx context.Context, ref blob.Ref) (stored, touched time.Time, err error) {
	info, err := s.client.StatObject(ctx, s.opts.Bucket, s.key(ref), minio.StatObjectOptions{})
	if err != nil {
		return stored, touched, classify(ref, "stat", err)
	}
	marker, err := s.client.StatObject(ctx, s.opts.Bucket, s.marker(ref), minio.StatObjectOptions{})
	if err = classify(ref, "stat", err); err != nil && !fault.Is(err, fault.NotFound) {
		return stored, touched, err
	}
	return info.LastModified, marker.LastModified, nil
}

// Walk implements blob.Store. Touched is the time at which the bytes were stored; Remove takes later touches into account.
func (s *Store) Walk(ctx context.Context, fn func(blob.Entry) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing's goroutine when fn fails
	list := s.client.ListObjects(ctx, s.opts.Bucket, minio.ListObjectsOptions{Prefix: s.opts.Prefix + folder, Recursive: true})
	for object := range list {
		if object.Err != nil {
			return classify(blob.Ref{}, "list", object.Err)
		}
		ref, err := blob.ParseRef("blake3:" + object.Key[strings.LastIndexByte(object.Key, '/')+1:])
		if err != nil {
			continue // not an object of the store
		}
		if err := fn(blob.Entry{Ref: ref, Size: object.Size, Touched: object.LastModified}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// maxPresign bounds the lifetime of a link to the bucket, because a link cannot be revoked.
const maxPresign = 15 * time.Minute

// Presign implements blob.Presigner.
func (s *Store) Presign(ctx context.Context, ref blob.Ref, h blob.Headers, ttl time.Duration) (string, error) {
	params := url.Values{"response-content-type": {h.ContentType}, "response-content-disposition": {h.ContentDisposition}}
	u, err := s.client.PresignedGetObject(ctx, s.opts.Bucket, s.key(ref), min(ttl, maxPresign), params)
	if err != nil {
		return "", classify(ref, "sign a link to", err)
	}
	return u.String(), nil
}

// Origin implements blob.Presigner.
func (s *Store) Origin(ctx context.Context) (string, error) {
	u, err := s.client.PresignedGetObject(ctx, s.opts.Bucket, s.key(blob.Ref{}), maxPresign, nil)
	if err != nil {
		return "", classify(blob.Ref{}, "find the origin of", err)
	}
	return u.Scheme + "://" + u.Host, nil
}

// classify converts an error of the service to a fault; nil stays nil.
func classify(ref blob.Ref, verb string, err error) error {
	if err == nil {
		return nil
	}
	var answer minio.ErrorResponse
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &answer) && answer.Code == "NoSuchBucket":
		return fault.Wrap(err, fault.Unavailable, "", "the file store is not available")
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return blob.Missing(ref)
	case errors.As(err, &answer) && answer.StatusCode < http.StatusInternalServerError && answer.StatusCode != http.StatusTooManyRequests:
		return fmt.Errorf("%s blob %s: %w", verb, ref, err)
	default:
		return fault.Wrap(fmt.Errorf("%s blob %s: %w", verb, ref, err), fault.Unavailable, "", "the file store is not available")
	}
}
