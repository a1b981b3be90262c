package eventstore_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/assetstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// BenchmarkAppend is the cost of one append of three events to a new stream, without the disk.
func BenchmarkAppend(b *testing.B) {
	pool := storetest.OpenPool(b, storetest.NewDatabase(b))
	store := eventstore.New(pool, eventlogtest.Registry(b), nil)
	for b.Loop() {
		_, err := store.Append(b.Context(), noted("note-"+uuid.NewString(), 0, "one", "two", "three"))
		require.NoError(b, err)
	}
}

// BenchmarkUploadsOfOneAccount is the cost of an upload of sixteen at once by one account, without a limit of what it
// keeps, far below one, and near it.
func BenchmarkUploadsOfOneAccount(b *testing.B) {
	for name, c := range map[string]struct{ limit, kept int64 }{
		"unlimited": {0, 0}, "far": {1 << 30, 0}, "near": {1 << 30, 1 << 30 / 10 * 9},
	} {
		b.Run(name, func(b *testing.B) {
			pool, registry := storetest.OpenPool(b, storetest.NewDatabase(b)), eventlog.NewRegistry()
			require.NoError(b, asset.Register(registry))
			store := assetstore.New(pool, eventstore.New(pool, registry, nil)).Within(accountstore.NewStorage(pool, c.limit))
			upload := func(id string, size int64) {
				_, err := store.Create(b.Context(), asset.New{
					Account: "a", Origin: asset.Uploaded, Hash: blob.Sum([]byte(id)), Size: size, ContentType: "image/png",
					Place: &asset.Place{Folder: "input", Filename: id},
				})
				if err != nil {
					b.Error(err)
				}
			}
			upload("first", c.kept)
			var n atomic.Int64
			b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					upload(fmt.Sprint(n.Add(1)), 1)
				}
			})
		})
	}
}
