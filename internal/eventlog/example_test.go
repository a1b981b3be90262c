package eventlog_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/eventlog/eventlogtest"
)

type orderedV1 struct{ Item string }

// Events are appended to a stream at the version that the writer has read, so that of two writers one is refused.
func ExampleStore() {
	registry := eventlog.NewRegistry()
	if err := registry.Register(eventlog.TypeOf[orderedV1]("order.placed.v1")); err != nil {
		panic(err)
	}
	var store eventlog.Store = eventlogtest.NewMemory(registry)
	ctx := context.Background()
	place := func(item string, expected int64) error {
		_, err := store.Append(ctx, eventlog.Append{
			Stream: "order-1", Account: "alice", Expected: expected,
			Events: []eventlog.Event{{ID: uuid.New(), Type: "order.placed.v1", Data: orderedV1{Item: item}}},
		})
		return err
	}
	fmt.Println(place("mill", 0), place("race", 1))
	fmt.Println("the same version again:", errors.Is(place("wheel", 1), eventlog.ErrVersion))
	for event, err := range eventlog.Read(ctx, store, "order-1", 0) {
		fmt.Println(event.Version, event.Type, string(event.Data), err)
	}
	// Output:
	// <nil> <nil>
	// the same version again: true
	// 1 order.placed.v1 {"Item":"mill"} <nil>
	// 2 order.placed.v1 {"Item":"race"} <nil>
}
