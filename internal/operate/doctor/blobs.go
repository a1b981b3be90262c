package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/postgres/operatestore"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// blobDoctor checks that the blob store contains the blobs in the database.
type blobDoctor struct {
	databaseDoctor
	store func(context.Context) (blob.Store, error) // fails with errNoDataDir if the store is not on this machine
}

// present checks that the blob store answers and contains the blobs of the newest assets.
func (d blobDoctor) present(ctx context.Context) (Finding, error) {
	store, err := d.store(ctx)
	if errors.Is(err, operate.ErrNoDataDir) {
		return Finding{Status: Healthy, Detail: "not checked: the data directory is not on this machine"}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	hashes, err := operatestore.New(d.pool).NewestHashes(ctx, sampledBlobs)
	if err != nil {
		return Finding{}, err
	}
	missing := 0
	for _, hash := range hashes {
		_, err := store.Stat(ctx, [32]byte(hash))
		switch {
		case fault.Is(err, fault.NotFound):
			missing++
		case err != nil:
			return Finding{}, err
		}
	}
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("the blobs of the %d newest files exist", len(hashes))}
	if missing > 0 {
		f.Status, f.Detail = Failing, fmt.Sprintf("the blobs of %d of the %d newest files are missing", missing, len(hashes))
	}
	return f.with("restore the blob store to a time not before the database's; files without a blob answer 404"), nil
}

// ruled is a store whose service may have rules that delete objects.
type ruled interface {
	// Harmful returns descriptions of the rules that would delete objects of the store.
	Harmful(ctx context.Context) ([]string, error)
}

// rules reports rules of the bucket that expire objects of the deployment. The bucket's credential may lack the right
// to read the rules.
func (d blobDoctor) rules(ctx context.Context) (Finding, error) {
	store, err := d.store(ctx)
	if errors.Is(err, operate.ErrNoDataDir) {
		return Finding{Status: Healthy, Detail: "not checked: the data directory is not on this machine"}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	bucket, ok := store.(ruled)
	if !ok {
		return Finding{Status: Healthy, Detail: "files are in the data directory"}, nil
	}
	harmful, err := bucket.Harmful(ctx)
	if err != nil && ctx.Err() != nil {
		return Finding{}, err
	}
	if err != nil {
		return Finding{Status: Healthy, Detail: "not checked: " + operate.ErrorLine(err)}, nil
	}
	if len(harmful) == 0 {
		return Finding{Status: Healthy, Detail: "no lifecycle rule deletes files"}, nil
	}
	return Finding{
		Status: Failing, Detail: list(harmful),
		Remedy: "limit the rule to other prefixes, or disable it: the sweep removes unreferenced files (docs/storage.md)",
	}, nil
}

// sampledBlobs is the number of checked files: enough to detect a store that was not restored, or the wrong store.
const sampledBlobs = 200
