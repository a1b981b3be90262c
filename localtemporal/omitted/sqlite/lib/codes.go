// Package sqlite3 holds the result codes by which the Temporal server recognizes duplicate keys of SQLite.
package sqlite3

// Result codes, as SQLite documents them.
const (
	SQLITE_CONSTRAINT            = 19
	SQLITE_CONSTRAINT_PRIMARYKEY = 1555
	SQLITE_CONSTRAINT_UNIQUE     = 2067
)
