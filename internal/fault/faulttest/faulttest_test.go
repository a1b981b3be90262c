package faulttest_test

import (
	"fmt"

	"github.com/millrace-dev/millrace/internal/fault/faulttest"
)

func ExampleEach() {
	for store := range faulttest.Each {
		done := 0
		work := func() error { done++; return nil }
		err := store.Do("read", work)
		if err == nil {
			err = store.Do("write", work)
		}
		fmt.Println(store.Made(), done, err, store.Failed())
	}
	// Output:
	// [read] 0 the store is away true
	// [read write] 1 the store is away true
	// [read write] 2 <nil> false
	// [read] 1 the store is away true
	// [read write] 2 the store is away true
	// [read write] 2 <nil> false
}
