package blob_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/internal/storage/blob/blobtest/mem"
)

// Bytes are stored under their digest, once, and are verified when they are read.
func ExampleStore() {
	var store blob.Store = mem.New()
	ctx := context.Background()
	stored, err := blob.Put(ctx, store, blob.Durable, strings.NewReader("hello"))
	fmt.Println(stored.Ref, stored.Size, stored.Created, err)
	stored, err = blob.Put(ctx, store, blob.Durable, strings.NewReader("hello"))
	fmt.Println("the same bytes again:", stored.Created, err)

	r, err := store.Open(ctx, stored.Ref)
	if err != nil {
		panic(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	fmt.Println(string(text), err)

	_, err = store.Open(ctx, blob.Sum([]byte("other")))
	fmt.Println(fault.KindOf(err))
	// Output:
	// blake3:ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f 5 true <nil>
	// the same bytes again: false <nil>
	// hello <nil>
	// not_found
}
