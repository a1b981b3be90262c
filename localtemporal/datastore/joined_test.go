package datastore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"

	"github.com/millrace-dev/millrace/localtemporal/datastore"
)

// database notes what is done in it, and what in its transactions.
type database struct {
	sqlplugin.DB
	done []string
}

func (d *database) BeginTx(context.Context) (sqlplugin.Tx, error) {
	d.done = append(d.done, "begin")
	return &transaction{db: d}, nil
}

func (d *database) InsertIntoHistoryNode(context.Context, *sqlplugin.HistoryNodeRow) (sql.Result, error) {
	d.done = append(d.done, "events alone")
	return nil, nil //nolint:nilnil // nobody reads the result
}

type transaction struct {
	sqlplugin.Tx
	db *database
}

func (tx *transaction) InsertIntoHistoryNode(context.Context, *sqlplugin.HistoryNodeRow) (sql.Result, error) {
	tx.db.done = append(tx.db.done, "events")
	return nil, nil //nolint:nilnil // nobody reads the result
}

func (tx *transaction) Commit() error   { tx.db.done = append(tx.db.done, "commit"); return nil }
func (tx *transaction) Rollback() error { tx.db.done = append(tx.db.done, "rollback"); return nil }

// writer writes as the server's store does: the first events of a history in a transaction, later ones in none, and a
// state in a transaction that fails with err.
type writer struct {
	persistence.ExecutionStore
	db  sqlplugin.DB
	err error
}

func (s *writer) AppendHistoryNodes(ctx context.Context, r *persistence.InternalAppendHistoryNodesRequest) error {
	if !r.IsNewBranch {
		_, err := s.db.InsertIntoHistoryNode(ctx, nil)
		return err
	}
	tx, err := s.db.BeginTx(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.InsertIntoHistoryNode(ctx, nil); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *writer) CreateWorkflowExecution(
	ctx context.Context, _ *persistence.InternalCreateWorkflowExecutionRequest,
) (*persistence.InternalCreateWorkflowExecutionResponse, error) {
	tx, err := s.db.BeginTx(ctx)
	if err != nil {
		return nil, err
	}
	if s.err != nil {
		return nil, errors.Join(s.err, tx.Rollback())
	}
	return &persistence.InternalCreateWorkflowExecutionResponse{}, tx.Commit()
}

func TestTheEventsAndTheStateOfAWorkflowAreOneTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"that is committed once":           {nil, []string{"begin", "events", "events", "commit"}},
		"of which nothing stays otherwise": {errors.New("it runs already"), []string{"begin", "events", "events", "rollback"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &database{}
			s := datastore.NewExecutions(&writer{db: datastore.Joining(db), err: c.err}, serialization.NewSerializer())
			_, err := s.CreateWorkflowExecution(t.Context(), &persistence.InternalCreateWorkflowExecutionRequest{
				NewWorkflowNewEvents: []*persistence.InternalAppendHistoryNodesRequest{{IsNewBranch: true}, {}},
			})
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.want, db.done)
		})
	}
}

func TestOtherWritesAreTransactionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	db := &database{}
	s := datastore.NewExecutions(&writer{db: datastore.Joining(db)}, serialization.NewSerializer())
	require.NoError(t, s.AppendHistoryNodes(t.Context(), &persistence.InternalAppendHistoryNodesRequest{}))
	require.NoError(t, s.AppendHistoryNodes(t.Context(), &persistence.InternalAppendHistoryNodesRequest{IsNewBranch: true}))
	require.Equal(t, []string{"events alone", "begin", "events", "commit"}, db.done)
}
