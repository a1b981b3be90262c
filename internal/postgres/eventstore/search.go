package eventstore

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres"
)

// LogSearch selects events of the whole log. Empty fields select all events.
type LogSearch struct {
	Stream  string    // a name, a prefix, or a pattern with * and ?
	Type    string    // a prefix of a type
	Account string    // id
	Since   time.Time // recorded at or after; zero = from the beginning
	Until   time.Time // recorded at or before; zero = to the end
	From    int64     // position from which to search, inclusive, oldest matches first; 0 = search the newest
	Before  int64     // with From = 0: only positions below this; 0 = all
	Limit   int       // at least 1
}

// Matcher returns a function that reports whether an event matches the search, ignoring its position.
func (q LogSearch) Matcher() func(eventlog.Recorded) bool {
	pattern := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(q.Stream))
	if !strings.ContainsAny(q.Stream, "*?") {
		pattern += ".*"
	}
	stream := regexp.MustCompile("(?s)^" + pattern + "$") // quoted, except the wildcards
	return func(rec eventlog.Recorded) bool {
		return stream.MatchString(rec.Stream) && strings.HasPrefix(rec.Type, q.Type) &&
			(q.Account == "" || rec.Account == q.Account) &&
			!rec.RecordedAt.Before(q.Since) && (q.Until.IsZero() || !rec.RecordedAt.After(q.Until))
	}
}

// SearchResult is the result of a search, in the order of the log.
type SearchResult struct {
	Events []eventlog.Recorded
	// Low and High are the first and last searched position. High is below Low if no position was searched.
	Low, High int64
	// More means that matches may lie beyond: below Low or, with LogSearch.From, above High.
	More bool
}

// A search without an index reads at most maxSearched positions, in pages of searchPage: it never loads the whole log, and
// the result contains the searched range.
const (
	maxSearched = 1_000_000
	searchPage  = 20_000
)

// maxIndexedStreams bounds the streams that are read one by one, each through its own index.
const maxIndexedStreams = 2_000

// SearchLog finds events. Positions up to the end of the log at the start of the search are final: no later search
// finds an event between those that this one returned.
//
// A search for few streams reads those streams, through (stream, version). Every other search reads the log by its
// positions, and the database applies the filters.
func SearchLog(ctx context.Context, pool *pgxpool.Pool, q LogSearch) (SearchResult, error) {
	s := search{LogSearch: q, pool: pool}
	if err := s.bounds(ctx); err != nil {
		return SearchResult{}, err
	}
	if s.low > s.high {
		return SearchResult{Low: s.low, High: s.high}, nil
	}
	streams, few, err := s.streams(ctx)
	if err != nil {
		return SearchResult{}, err
	}
	if few {
		return s.byStream(ctx, streams)
	}
	return s.byPosition(ctx)
}

// search is a running LogSearch between two positions, both inclusive.
type search struct {
	LogSearch
	pool      *pgxpool.Pool
	low, high int64
}

func (s search) forward() bool { return s.From > 0 }

// bounds finds the positions between which matches can lie.
func (s *search) bounds(ctx context.Context) (err error) {
	if s.high, err = SettledHead(ctx, s.pool); err != nil {
		return err
	}
	if err := s.pool.QueryRow(ctx, `select coalesce(min(position), 1) from events`).Scan(&s.low); err != nil {
		return postgres.Classify(err, "read the beginning of the log")
	}
	if s.forward() {
		s.low = max(s.low, s.From)
	} else if s.Before > 0 {
		s.high = min(s.high, s.Before-1)
	}
	if !s.Since.IsZero() {
		since, err := PositionAt(ctx, s.pool, s.Since)
		if err != nil {
			return err
		}
		s.low = max(s.low, since)
	}
	if !s.Until.IsZero() {
		until, err := PositionAt(ctx, s.pool, s.Until.Add(2*commitSlack)) // no event after it is from before Until
		if err != nil {
			return err
		}
		s.high = min(s.high, until)
	}
	return nil
}

// like returns a pattern of LIKE for the wanted stream. A stream without a wildcard is a prefix.
func (s search) like() string {
	pattern := likeEscape(s.Stream)
	if !strings.ContainsAny(s.Stream, "*?") {
		return pattern + "%"
	}
	return strings.NewReplacer("*", "%", "?", "_").Replace(pattern)
}

func likeEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// streams returns the wanted streams, and whether they and their events are few enough to be read one by one. Plan,
// in a database of the locale C: a range of the primary key.
func (s search) streams(ctx context.Context) (ids []string, few bool, err error) {
	if s.Stream == "" {
		return nil, false, nil
	}
	var events int64
	err = postgres.Each(ctx, s.pool, "find streams", func(row pgx.CollectableRow) error {
		var id string
		var version int64
		err := row.Scan(&id, &version)
		ids, events = append(ids, id), events+version
		return err
	}, `select id, version from streams where id like $1 limit $2`, pgx.QueryExecModeExec, s.like(), maxIndexedStreams+1)
	return ids, len(ids) <= maxIndexedStreams && events <= maxSearched, err
}

// where returns the condition on an event e, with arguments numbered from $3; $1 and $2 are positions.
func (s search) where() (string, []any) {
	sql, args := `e.position between $1 and $2`, []any{}
	add := func(ask bool, condition string, arg any) {
		if ask {
			args = append(args, arg)
			sql += fmt.Sprintf(" and "+condition, len(args)+2)
		}
	}
	add(s.Account != "", "e.account = $%d", s.Account)
	add(s.Type != "", "e.type like $%d", likeEscape(s.Type)+"%")
	add(!s.Since.IsZero(), "e.recorded_at >= $%d", s.Since)
	add(!s.Until.IsZero(), "e.recorded_at <= $%d", s.Until)
	return sql, args
}

func (s search) order() string {
	if s.forward() {
		return "asc"
	}
	return "desc"
}

const eventColumns = `e.position, e.stream, e.version, e.id, e.type, e.account, e.data, e.meta, e.recorded_at`

// byStream reads the first matches of each stream and merges them. Within a stream, versions have the order of
// positions.
func (s search) byStream(ctx context.Context, streams []string) (SearchResult, error) {
	where, args := s.where()
	n := len(args) + 3
	sql := fmt.Sprintf(`select e.* from unnest($%[1]d::text[]) s (id) cross join lateral (
		select %[2]s from events e where e.stream = s.id and %[3]s order by e.version %[4]s limit $%[5]d) e order by e.position %[4]s
			limit $%[5]d`,
		n, eventColumns, where, s.order(), n+1)
	args = append([]any{pgx.QueryExecModeExec, s.low, s.high}, args...)
	events, err := s.read(ctx, sql, append(args, streams, s.Limit)...)
	if err != nil {
		return SearchResult{}, err
	}
	return s.found(events, s.low, s.high), nil
}

// byPosition reads the log page by page from the start of the search, until it has enough matches.
func (s search) byPosition(ctx context.Context) (SearchResult, error) {
	where, args := s.where()
	if s.Stream != "" {
		args = append(args, s.like())
		where += fmt.Sprintf(" and e.stream like $%d", len(args)+2)
	}
	sql := fmt.Sprintf(`select %s from events e where %s order by e.position %s limit $%d`, eventColumns, where, s.order(), len(args)+3)
	var events []eventlog.Recorded
	low, high := s.low, s.high
	for looked := int64(0); looked < maxSearched && len(events) < s.Limit; looked += searchPage {
		from, to := s.page(looked)
		page, err := s.read(ctx, sql, append(append([]any{pgx.QueryExecModeExec, from, to}, args...), s.Limit-len(events))...)
		if err != nil {
			return SearchResult{}, err
		}
		events = append(events, page...)
		if s.forward() {
			high = to
		} else {
			low = from
		}
		if s.forward() && to == s.high || !s.forward() && from == s.low {
			break
		}
	}
	return s.found(events, low, high), nil
}

// page returns the positions of the next page.
func (s search) page(looked int64) (from, to int64) {
	if s.forward() {
		from = s.low + looked
		return from, min(s.high, from+searchPage-1)
	}
	to = s.high - looked
	return max(s.low, to-searchPage+1), to
}

func (s search) read(ctx context.Context, sql string, args ...any) ([]eventlog.Recorded, error) {
	return postgres.Collect(ctx, s.pool, "search the log", ScanRecorded, sql, args...)
}

// found returns the result of a search of low to high. If the limit was reached, the range ends at the last match.
func (s search) found(events []eventlog.Recorded, low, high int64) SearchResult {
	if cut := len(events) >= s.Limit; cut && s.forward() {
		high = events[len(events)-1].Position
	} else if cut {
		low = events[len(events)-1].Position
	}
	if !s.forward() {
		slices.Reverse(events)
	}
	return SearchResult{Events: events, Low: low, High: high, More: s.forward() && high < s.high || !s.forward() && low > s.low}
}
