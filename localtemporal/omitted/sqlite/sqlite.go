// Package sqlite stands for a SQLite that local mode does not use: its Temporal server keeps everything in PostgreSQL. It
// registers no database driver, so a configuration that names SQLite fails when the database is opened.
package sqlite

// Error is the error of a database that is never opened.
type Error struct{}

// Code is the result code of SQLite.
func (*Error) Code() int { return 0 }

func (*Error) Error() string { return "SQLite is left out of this Temporal server" }
