package postgres_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

// The ids of events are sent in arrays with every append and every checkpoint.
func TestIDsAreEncodedWithoutTheirText(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	var list []uuid.UUID
	var one, none string
	err := pool.QueryRow(t.Context(), `select $1::uuid[], $2::uuid::text, coalesce($3::uuid[]::text, 'none')`, ids, ids[0],
		[]uuid.UUID(nil)).Scan(&list, &one, &none)
	require.NoError(t, err)
	require.Equal(t, ids, list)
	require.Equal(t, ids[0].String(), one)
	require.Equal(t, "none", none)

	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	plan := conn.Conn().TypeMap().PlanEncode(pgtype.UUIDOID, pgtype.BinaryFormatCode, ids[0])
	require.Equal(t, "*postgres.uuidPlan", fmt.Sprintf("%T", plan), "the driver's own plan writes the text and parses it")
}
