package postgres

import (
	"context"
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/definitions/prune_facts.sql
var pruneFacts string

// attachedParameter is the part of the first definition of prune_facts that only a superuser may execute. Migrations are
// applied without it, and redefine follows them.
const attachedParameter = "set millrace.pruning = 'on'\n"

// statements returns what a role without special rights may execute.
func (m migration) statements() string { return strings.Replace(m.sql, attachedParameter, "", 1) }

// redefine replaces prune_facts where it has its first definition. It is no migration, since programs before this one
// work with either definition and would refuse a database with a migration that they do not know. A role that does not
// own the function leaves it as it is.
func redefine(ctx context.Context, conn *pgx.Conn) error {
	var first bool
	err := conn.QueryRow(ctx, `select exists (select from pg_proc where proname = 'prune_facts' and pronamespace = current_schema()::regnamespace
		and prosrc not like '%set_config%' and pg_has_role(proowner, 'usage'))`).Scan(&first)
	if err == nil && first {
		_, err = conn.Exec(ctx, pruneFacts)
	}
	return classify(err, "redefine prune_facts")
}
