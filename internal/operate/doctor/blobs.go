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

// blobDoctor checks that the blob store has the blobs that the database names.
type blobDoctor struct {
	databaseDoctor
	store func(context.Context) (blob.Store, error) // errNoDataDir: it is not on this machine
}

// present looks for bytes that assets name and the store has not, in a sample of the newest, and for the
// store itself.
func (d blobDoctor) present(ctx context.Context) (Finding, error) {
	store, err := d.store(ctx)
	if errors.Is(err, operate.ErrNoDataDir) {
		return Finding{Status: Healthy, Detail: "not looked at: the data directory is not on this machine"}, nil
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
	f := Finding{Status: Healthy, Detail: fmt.Sprintf("the bytes of the %d newest files are there", len(hashes))}
	if missing > 0 {
		f.Status, f.Detail = Failing, fmt.Sprintf("the bytes of %d of the %d newest files are missing", missing, len(hashes))
	}
	return f.with("restore the blob store to a time not before the database's; files whose bytes are gone answer 404"), nil
}

// ruled is a store whose service may take objects away by rules of its own.
type ruled interface {
	// Harmful returns the rules, in words, that would take away what the store holds.
	Harmful(ctx context.Context) ([]string, error)
}

// rules reports rules of the bucket that expire what the deployment holds. A credential need not have the right to read
// them.
func (d blobDoctor) rules(ctx context.Context) (Finding, error) {
	store, err := d.store(ctx)
	if errors.Is(err, operate.ErrNoDataDir) {
		return Finding{Status: Healthy, Detail: "not looked at: the data directory is not on this machine"}, nil
	}
	if err != nil {
		return Finding{}, err
	}
	bucket, ok := store.(ruled)
	if !ok {
		return Finding{Status: Healthy, Detail: "files are in the data directory"}, nil
	}
	harmful, err := bucket.Harmful(ctx)
	if err != nil {
		return Finding{Status: Healthy, Detail: "not looked at: " + operate.ErrorLine(err)}, nil
	}
	if len(harmful) == 0 {
		return Finding{Status: Healthy, Detail: "no lifecycle rule takes files away"}, nil
	}
	return Finding{
		Status: Failing, Detail: list(harmful),
		Remedy: "limit the rule to other prefixes, or disable it: the sweep removes files that nothing refers to any more (docs/storage.md)",
	}, nil
}

// sampledBlobs is how many files are looked at: enough to see a store that was not restored, or the wrong one.
const sampledBlobs = 200
