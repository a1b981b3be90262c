package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace-dev/millrace/internal/config"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/bucket"
	"github.com/millrace-dev/millrace/internal/storage/blob/disk"
	"github.com/millrace-dev/millrace/internal/storage/secret"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// openBlobs opens the store of files: the bucket, if one is configured, otherwise the data directory.
func (in *Instance) openBlobs(ctx context.Context) (blob.Store, error) {
	b := in.cfg.Bucket
	if b.Name == "" {
		return disk.Open(ctx, blobDir(in.cfg), disk.Options{Log: in.log})
	}
	return bucket.Open(ctx, bucket.Options{
		Endpoint: b.Endpoint, Region: b.Region, Bucket: b.Name, Prefix: b.Prefix, AccessKey: b.AccessKey, SecretKey: b.SecretKey,
		Insecure: b.Insecure, Encrypt: bucket.Encryption(b.Encrypt), KMSKey: b.KMSKey, Spool: filepath.Join(in.cfg.DataDir, "spool"),
		Locks: assetstore.NewBlobLocks(in.pool), Log: in.log,
	})
}

// newSigner returns the signer of links to content, with keys that are derived from the secret keys. The present one
// signs links; links signed with former keys are still accepted.
func newSigner(roots []*secret.Key) (*signedurl.Signer, error) {
	keys := make([]signedurl.Key, len(roots))
	for i, root := range roots {
		derived, err := root.Derive("links")
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(derived) // identifies the key without revealing it
		keys[i] = signedurl.Key{ID: hex.EncodeToString(sum[:4]), Secret: derived}
	}
	return signedurl.New(keys, signedurl.Options{})
}

// secretKeys returns the secret keys, the present one first.
func (in *Instance) secretKeys() ([]*secret.Key, error) {
	roots := []*secret.Key{in.key}
	for text := range strings.SplitSeq(in.cfg.FormerKeys, ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		former, err := secret.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("a former secret key: %w", err)
		}
		roots = append(roots, former)
	}
	return roots, nil
}

// ExistingBlobs opens the blob store if it exists, and never creates one.
func ExistingBlobs(ctx context.Context, cfg config.Config, pool *postgres.Pool) (blob.Store, error) {
	if _, err := os.Stat(blobDir(cfg)); cfg.Bucket.Name == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, operate.ErrNoDataDir
	}
	return (&Instance{cfg: cfg, pool: pool, log: slog.New(slog.DiscardHandler)}).openBlobs(ctx)
}
