//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
)

// Migrate migrates a database to a schema, and reports its steps to logf.
type Migrate = func(ctx context.Context, dsn string, logf func(format string, args ...any)) error

// templates are the migrated databases of this process, one per function.
var templates struct {
	mutex sync.Mutex
	made  map[uintptr]func() (string, error)
}

// Migrated returns the connection string of a new database that migrate has migrated; it is dropped when the test
// ends. The migration runs once per process, and each test gets a copy of its result. Functions are distinguished by
// their code, so a closure counts as one function whatever it captured.
//
//	dsn := pgtest.Migrated(t, postgres.Migrate)
func Migrated(t testing.TB, migrate Migrate) string {
	t.Helper()
	server := Server(t)
	name, err := template(server, migrate)
	if err != nil {
		t.Fatalf("migrate the database that tests copy: %v", err)
	}
	return create(t, name)
}

// template returns the name of the database that migrate has migrated.
func template(server string, migrate Migrate) (string, error) {
	templates.mutex.Lock()
	key := reflect.ValueOf(migrate).Pointer()
	if templates.made == nil {
		templates.made = map[uintptr]func() (string, error){}
	}
	makeOnce, ok := templates.made[key]
	if !ok {
		makeOnce = sync.OnceValues(func() (string, error) { return makeTemplate(server, migrate) })
		templates.made[key] = makeOnce
	}
	templates.mutex.Unlock()
	return makeOnce()
}

// makeTemplate makes the database for all tests, so it does not use the context of the test that calls it first.
func makeTemplate(server string, migrate Migrate) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), migrateWait)
	defer cancel()
	name := newName()
	if err := execute(ctx, server, createStatement(name, "template1")); err != nil {
		return "", err
	}
	dsn, err := withDatabase(server, name)
	if err != nil {
		return "", err
	}
	if err := migrate(ctx, dsn, func(string, ...any) {}); err != nil {
		return "", fmt.Errorf("migrate: %w", err)
	}
	return name, nil
}
