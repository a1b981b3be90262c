package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/bench/harness"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

const (
	seedBatch = 1000
	perJob    = 6                // events of a job
	spread    = 26 * time.Second // between two jobs: 100,000 of them took 30 days
)

// seed copies the events of ended jobs past the log's own statement; the service must be down. Its projections fold
// them when it is back. It returns a job that has an output, and the asset that is its output.
func seed(ctx context.Context, dsn string, jobs int) (job.ID, string, error) {
	known, output := job.NewID(), uuid.NewString()
	_, err := harness.CopyLog(ctx, dsn, jobs, perJob, seedBatch,
		func(ctx context.Context, pool *pgxpool.Pool, before int64, first, count int) error {
			s := &seeds{position: before}
			for i := first; i < first+count; i++ {
				id, asset := job.NewID(), uuid.NewString()
				if i == jobs-1 {
					id, asset = known, output
				}
				if err := s.add(i, time.Duration(jobs-i)*spread, id, asset); err != nil {
					return err
				}
			}
			return s.write(ctx, pool)
		})
	return known, output, err
}

// seeds is some jobs in the forms of the tables that hold them.
type seeds struct {
	position         int64
	streams, written [][]any
}

// add adds the whole life of a job that ended some time ago: a picture that is blurred and saved. One in twenty failed.
func (s *seeds) add(n int, ago time.Duration, id job.ID, asset string) error {
	const run = 1
	at := time.Now().Add(-ago).UTC()
	name := fmt.Sprintf("mill_%05d_.png", n)
	document := fmt.Sprintf(`{"prompt":{"1":{"class_type":"EmptyImage","inputs":{"width":512,"height":512,"batch_size":1,"color":%d}},`+
		`"2":{"class_type":"ImageBlur","inputs":{"image":["1",0],"blur_radius":3,"sigma":1}},`+
		`"3":{"class_type":"SaveImage","inputs":{"images":["2",0],"filename_prefix":"mill"}}}}`, n)
	file := job.OutputFile{
		Asset: asset, Hash: "blake3:" + fmt.Sprintf("%064x", n), Size: 40_000, ContentType: "image/png", Filename: name,
		Folder: "output", SavedAt: at,
	}
	ui, err := json.Marshal(map[string]any{"images": []map[string]string{{"filename": name, "subfolder": "", "type": "output"}}})
	if err != nil {
		return err
	}
	type event struct {
		node, kind string
		data       any
	}
	events := []event{
		{"", job.TypeSubmitted, job.SubmittedV1{
			Number: float64(n), Surface: job.SurfaceCloud, Document: job.Document{Inline: document},
			Targets: []string{"3"}, NodesTotal: 3,
		}},
		{"", job.TypeAdmitted, job.AdmittedV1{Run: run}},
		{"", job.TypeStarted, job.StartedV1{Run: run, NodesTotal: 3, Worker: "seed", Execution: "seed"}},
		{"2", job.TypeNodeExecuted, job.NodeExecutedV1{Run: run, Node: "2", Class: "ImageBlur", Millis: 20}},
		{"3", job.TypeNodeExecuted, job.NodeExecutedV1{
			Run: run, Node: "3", Class: "SaveImage", UI: ui, Files: []job.OutputFile{file},
			Millis: 12,
		}},
		{"", job.TypeSucceeded, job.SucceededV1{Run: run}},
	}
	if n%20 == 0 {
		failure := job.Failure{
			Code: fault.CodeNodeExecutionError, Message: fmt.Sprintf("node 3 has no place for picture %d", n), Node: "3",
			Class: "SaveImage", ExceptionType: "OSError",
		}
		events[4] = event{"3", job.TypeNodeFailed, job.NodeFailedV1{Run: run, Failure: failure}}
		events[5] = event{"", job.TypeFailed, job.FailedV1{Run: run, Failure: failure}}
	}
	for version, e := range events {
		data, err := json.Marshal(e.data)
		if err != nil {
			return err
		}
		s.position++
		s.written = append(s.written, []any{
			s.position, id.Stream(), int64(version + 1), job.EventID(id, run, e.node, 0, e.kind), e.kind, "local",
			json.RawMessage(data), json.RawMessage(`{"actor":"seed"}`), at.Add(time.Duration(version) * 10 * time.Millisecond),
		})
	}
	s.streams = append(s.streams, []any{id.Stream(), "local", int64(perJob), true})
	return nil
}

func (s *seeds) write(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := harness.Copy(ctx, tx, "streams", []string{"id", "account", "version", "closed"}, s.streams); err != nil {
			return err
		}
		return harness.Copy(ctx, tx, "events", harness.EventColumns, s.written)
	})
}

// folded waits until every projection has reached the end of the log.
func folded(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, 25*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for behind := true; behind; {
		if err := conn.QueryRow(ctx, `select coalesce(min(position) < (select max(position) from events), true)
			from checkpoints`).Scan(&behind); err != nil {
			return fmt.Errorf("wait for the views: %w", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	_, err = conn.Exec(ctx, `vacuum analyze`)
	return err
}
