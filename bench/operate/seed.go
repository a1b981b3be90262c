package main

import "strings"

// seededJob is in both databases.
const seededJob = "00000000-0000-4000-8000-000000000007"

// jobOf is the SQL of the id of the n-th job.
const jobOf = `'00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0')`

// seed inserts the events of finished jobs, as append_events would have recorded them, in one statement.
var seed = []string{
	`insert into streams (id, account, version, closed) select 'job-' || ` + jobOf + `, 'local', 5, true from generate_series(1, $1::int) n`,
	`insert into events (stream, version, id, type, account, data, meta, recorded_at)
	select 'job-' || ` + jobOf + `, f.version, gen_random_uuid(), f.type, 'local', f.data::json, '{"actor":"local"}', clock_timestamp()
	from generate_series(1, $1::int) n, (values
		(1, 'job.submitted.v1', '{"surface":"cloud","number":0,"document":{"inline":"' ||
			'{\"prompt\":{\"1\":{\"class_type\":\"EmptyImage\",\"inputs\":' ||
			'{\"width\":64,\"height\":64,\"batch_size\":1,\"color\":0}},' ||
			'\"2\":{\"class_type\":\"SaveImage\",\"inputs\":{\"images\":[\"1\",0],\"filename_prefix\":\"x\"}}}}"},' ||
			'"targets":["2"],"nodes_total":2}'),
		(2, 'job.admitted.v1', '{"run":1}'),
		(3, 'job.started.v1', '{"run":1,"nodes_total":2,"worker":"w","execution":"00000000-0000-4000-8000-000000000001"}'),
		(4, 'node.executed.v1', '{"run":1,"node":"1","class":"EmptyImage","millis":3}'),
		(5, 'job.succeeded.v1', '{"run":1}')) f (version, type, data)
	order by n, f.version`,
	`insert into checkpoints (name, position) select v, (select max(position) from events)
	from unnest(array['jobs_v1', 'assets_v1', 'calls_v1', 'usage_v1', 'history_v1', 'webhooks_v1']) v
	on conflict (name) do update set position = excluded.position`,
	`analyze`,
}

// seedArgs are the arguments of a statement of seed.
func seedArgs(statement string, jobs int) []any {
	if strings.Contains(statement, "$1") {
		return []any{jobs}
	}
	return nil
}
