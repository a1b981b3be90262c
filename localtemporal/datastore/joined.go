package datastore

import (
	"context"
	"database/sql"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// joined is one transaction for writes that the server's store of workflows makes in several transactions: events of a
// history, and then the state of the workflow. Only one goroutine uses it.
type joined struct {
	tx   sqlplugin.Tx // nil before the first write
	last bool         // the next commit commits the whole transaction
}

type joinedKey struct{}

// join returns a context in which the writes to a joiningDB are parts of one transaction.
func join(ctx context.Context) (context.Context, *joined) {
	j := &joined{}
	return context.WithValue(ctx, joinedKey{}, j), j
}

func joinedIn(ctx context.Context) *joined {
	j, _ := ctx.Value(joinedKey{}).(*joined)
	return j
}

// begin returns the transaction, which the first write opens.
func (j *joined) begin(ctx context.Context, db sqlplugin.DB) (sqlplugin.Tx, error) {
	if j.tx != nil {
		return j.tx, nil
	}
	tx, err := db.BeginTx(ctx)
	if err == nil {
		j.tx = tx
	}
	return tx, err
}

// abandon ends a transaction that was not committed.
func (j *joined) abandon() error {
	if j.tx == nil {
		return nil
	}
	tx := j.tx
	j.tx = nil
	return tx.Rollback()
}

// Joining returns db with joined transactions: a store of NewExecutions makes related writes in one transaction.
func Joining(db sqlplugin.DB) sqlplugin.DB { return joiningDB{db} }

// joiningDB is a database whose transactions are parts of a joined one if their context contains one.
type joiningDB struct{ sqlplugin.DB }

// BeginTx implements sqlplugin.DB.
func (d joiningDB) BeginTx(ctx context.Context) (sqlplugin.Tx, error) {
	j := joinedIn(ctx)
	if j == nil {
		return d.DB.BeginTx(ctx)
	}
	tx, err := j.begin(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	return part{tx, j}, nil
}

// InsertIntoHistoryNode implements sqlplugin.DB.
func (d joiningDB) InsertIntoHistoryNode(ctx context.Context, row *sqlplugin.HistoryNodeRow) (sql.Result, error) {
	j := joinedIn(ctx)
	if j == nil {
		return d.DB.InsertIntoHistoryNode(ctx, row)
	}
	tx, err := j.begin(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	return tx.InsertIntoHistoryNode(ctx, row)
}

// part is a part of a joined transaction. Only the last part commits; a part that fails ends the whole transaction.
type part struct {
	sqlplugin.Tx
	joined *joined
}

// Commit implements sqlplugin.Tx.
func (p part) Commit() error {
	if !p.joined.last {
		return nil
	}
	p.joined.tx = nil
	return p.Tx.Commit()
}

// Rollback implements sqlplugin.Tx.
func (p part) Rollback() error { return p.joined.abandon() }
