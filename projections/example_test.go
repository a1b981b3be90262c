package projections_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/projections"
)

// sales is a view of the quantity sold of each item.
var sales = projections.Projection{
	Name: "sales_v1", Tables: []string{"sales_v1", "sales_v1_orders"}, Fold: foldSales,
	Wants: func(e eventlog.Recorded) bool { return e.Type == "order.placed.v1" },
}

// foldSales counts an event only if its row in sales_v1_orders is new, so that an event applied twice counts once.
func foldSales(ctx context.Context, tx pgx.Tx, batch []eventlog.Recorded) error {
	for _, event := range batch {
		var placed struct{ Item string }
		if err := json.Unmarshal(event.Data, &placed); err != nil {
			return fmt.Errorf("event %d: %w", event.Position, err)
		}
		tag, err := tx.Exec(ctx, "insert into sales_v1_orders values ($1) on conflict do nothing", event.Stream)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, "insert into sales_v1 values ($1, 1) on conflict (item) do update set sold = sales_v1.sold + 1",
			placed.Item); err != nil {
			return err
		}
	}
	return nil
}

// printed stands for a transaction: it prints the arguments of statements and takes every row for new.
type printed struct{ pgx.Tx }

func (printed) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	fmt.Println(sql[:len("insert into sales_v1")+len("_orders")], args)
	return pgconn.NewCommandTag("INSERT 0 1"), nil
}

// A projection folds batches of events into the rows of its tables. The runner gives it a transaction that also moves the
// checkpoint of the view.
func ExampleProjection() {
	err := sales.Apply(context.Background(), printed{}, []eventlog.Recorded{
		{Position: 7, Stream: "order-1", Version: 1, Type: "order.placed.v1", Data: json.RawMessage(`{"item":"mill"}`)},
		{Position: 9, Stream: "order-1", Version: 2, Type: "order.paid.v1", Data: json.RawMessage(`{}`)},
	})
	fmt.Println(sales.Name, err)
	// Output:
	// insert into sales_v1_orders [order-1]
	// insert into sales_v1 values [mill]
	// sales_v1 <nil>
}
