package jobstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// NodeMarks stores which nodes worker processes run. It implements activities.Marks for one process.
type NodeMarks struct {
	pool       *pgxpool.Pool
	worker     string
	heartbeats *call.Heartbeats

	mu        sync.Mutex // guards left
	uncleared map[nodeMark]struct{}
}

// nodeMark is a mark of this process that could not be removed yet.
type nodeMark struct {
	ref  job.RunRef
	node string
}

// NewNodeMarks returns the marks of the process whose heartbeats have the name worker.
func NewNodeMarks(pool *pgxpool.Pool, worker string) *NodeMarks {
	return &NodeMarks{pool: pool, worker: worker, heartbeats: call.NewHeartbeats(time.Now), uncleared: map[nodeMark]struct{}{}}
}

// Set marks a node as run by this process, and returns the number of other processes with a mark at it.
func (m *NodeMarks) Set(ctx context.Context, ref job.RunRef, node string) (others int, err error) {
	m.clearUncleared(ctx)
	m.mu.Lock()
	delete(m.uncleared, nodeMark{ref, node})
	m.mu.Unlock()
	err = m.pool.QueryRow(ctx, `with
		sign as (insert into call_workers (id, seen_at) values ($4, now()) on conflict do nothing),
		mark as (insert into node_marks (job_id, run, node, worker) values ($1, $2, $3, $4) on conflict do nothing)
		select count(*) from node_marks where job_id = $1 and run = $2 and node = $3 and worker <> $4`,
		ref.Job, ref.Run, node, m.worker).Scan(&others)
	return others, postgres.Classify(err, "mark a node")
}

// Clear removes the mark of this process. If that fails, a later call removes it.
func (m *NodeMarks) Clear(ctx context.Context, ref job.RunRef, node string) {
	mark := nodeMark{ref, node}
	if m.clear(ctx, mark) != nil {
		m.mu.Lock()
		m.uncleared[mark] = struct{}{}
		m.mu.Unlock()
		return
	}
	m.clearUncleared(ctx)
}

func (m *NodeMarks) clear(ctx context.Context, mark nodeMark) error {
	_, err := m.pool.Exec(ctx, `delete from node_marks where job_id = $1 and run = $2 and node = $3 and worker = $4`,
		mark.ref.Job, mark.ref.Run, mark.node, m.worker)
	return err
}

// clearUncleared removes the marks that earlier calls could not remove.
func (m *NodeMarks) clearUncleared(ctx context.Context) {
	m.mu.Lock()
	left := m.uncleared
	m.uncleared = map[nodeMark]struct{}{}
	m.mu.Unlock()
	for mark := range left {
		if m.clear(ctx, mark) != nil {
			m.mu.Lock()
			m.uncleared[mark] = struct{}{}
			m.mu.Unlock()
		}
	}
}

// Dead returns the number of processes with a mark at the node that have stopped their heartbeats, as call.Heartbeats
// decides.
func (m *NodeMarks) Dead(ctx context.Context, ref job.RunRef, node string) (int, error) {
	signs, err := postgres.Map[string, time.Time](ctx, m.pool, "read the marks of a node",
		`select m.worker, coalesce(w.seen_at, 'epoch') from node_marks m left join call_workers w on w.id = m.worker
		where m.job_id = $1 and m.run = $2 and m.node = $3 and m.worker <> $4`, ref.Job, ref.Run, node, m.worker)
	dead := 0
	for worker, sign := range signs {
		if !m.heartbeats.Alive(worker, sign) {
			dead++
		}
	}
	return dead, err
}

// ForgetMarks deletes the marks of runs that have ended.
func (s *Store) ForgetMarks(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `delete from node_marks m
		where not exists (select from job_slots s where s.job_id = m.job_id and s.run = m.run)`)
	return postgres.Classify(err, "forget marks of nodes")
}
