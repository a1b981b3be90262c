package storetest

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Statement is a statement that a pool has sent.
type Statement struct {
	SQL  string
	Args []any
}

// Statements records what a pool sends, by itself and in batches. It is the tracer of the pool.
type Statements struct {
	mu    sync.Mutex // guards what follows
	sent  []Statement
	trips int
}

var (
	_ pgx.QueryTracer = (*Statements)(nil)
	_ pgx.BatchTracer = (*Statements)(nil)
)

// Take returns the statements that were sent since the last call.
func (s *Statements) Take() []Statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// Trips returns how often the pool has waited for answers of the database since the last call.
func (s *Statements) Trips() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	trips := s.trips
	s.trips = 0
	return trips
}

func (s *Statements) trip() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trips++
}

func (s *Statements) add(sql string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, Statement{sql, args})
}

// TraceQueryStart implements pgx.QueryTracer.
func (s *Statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	s.add(q.SQL, q.Args)
	s.trip()
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s *Statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (s *Statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.trip()
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (s *Statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	s.add(q.SQL, q.Args)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (s *Statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
