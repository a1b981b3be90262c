// Package sessions implements the operators' commands on sessions of people who sign in with OpenID Connect. A session
// that a command has ended is refused by every process when the command returns.
package sessions

import (
	"context"

	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/sessionstore"
)

// Service reads and ends sessions for operators.
type Service struct {
	pool  *postgres.Pool
	store *sessionstore.Store
}

// New returns the service over a database.
func New(pool *postgres.Pool, events *eventstore.Store) Service {
	return Service{pool: pool, store: sessionstore.New(pool, events)}
}

// Actions are what operators do to sessions.
var Actions = action.Group[Service]{
	Use:   "sessions",
	Short: "List and end the sessions of people who signed in with OpenID Connect",
	Example: `  millrace sessions list
  millrace sessions end ana@example.com --reason "left the company"`,
	Actions: []action.For[Service]{list, End},
}

type listParams struct {
	All bool `name:"all" help:"also sessions that ended or expired within a day"`
}

var list = action.Of[Service, listParams, []session.Session]{
	Spec: action.Spec{
		ID: "adminSessions", Route: "GET /sessions", Summary: "List the sessions of people, newest first, at most 1,000.",
		Schema: "AdminSession", Member: "sessions", List: true,
		Commands: []action.Command{{Use: "list [--all]", Short: "List the sessions in force"}},
	},
	Do: func(ctx context.Context, o Service, p listParams, _ operate.Attribution) ([]session.Session, error) {
		return o.Sessions(ctx, p.All)
	},
	Show: func(out *terminal.Printer, _ listParams, all []session.Session) { show(out, all) },
}.Untyped()

// Sessions returns the sessions in force, or also those that ended recently, with the names of their accounts.
func (s Service) Sessions(ctx context.Context, all bool) ([]session.Session, error) {
	found, err := s.store.Sessions(ctx, all)
	if err != nil {
		return nil, err
	}
	return s.named(ctx, found)
}

// named adds the names of accounts.
func (s Service) named(ctx context.Context, all []session.Session) ([]session.Session, error) {
	names, err := operate.AccountNames(ctx, s.pool)
	for i := range all {
		all[i].AccountName = names[all[i].Account]
	}
	return all, err
}

type endParams struct {
	Session string `name:"session" arg:"SESSION"`
}

// End ends a session, or all those of a person.
var End = action.Of[Service, endParams, []session.Session]{
	Spec: action.Spec{
		ID: "adminEndSession", Route: "POST /sessions/{session}/end",
		Summary: "End a session by its id, or all those of a person by the person's name or id. The browser is refused from then on.",
		Page:    "/sessions/:session/end", Reason: action.Required, Schema: "AdminSession", Member: "sessions", List: true,
		Commands: []action.Command{{
			Use: "end SESSION --reason TEXT", Short: "End a session, or all those of a person, at once",
			Label: "End", Danger: true, Warning: "The browser is refused from now on. The person may sign in again unless the provider refuses it.",
		}},
	},
	Do: func(ctx context.Context, o Service, p endParams, by operate.Attribution) ([]session.Session, error) {
		ended, err := o.store.End(ctx, p.Session, by.Meta())
		if err != nil {
			return nil, err
		}
		return o.named(ctx, ended)
	},
	Show: func(out *terminal.Printer, _ endParams, ended []session.Session) {
		if len(ended) == 0 {
			out.Printf("no session was in force\n")
			return
		}
		show(out, ended)
	},
	Back: func(endParams, []session.Session) string { return "/sessions" },
}.Untyped()

func show(out *terminal.Printer, all []session.Session) {
	out.Columns([]string{"ID", "PERSON", "ROLE", "ACCOUNT", "SINCE", "LAST USED", "EXPIRES", "ENDED"}, func(row func(...any)) {
		for _, s := range all {
			row(s.ID, s.Name, s.Role, s.AccountName, &s.CreatedAt, s.LastUsed, &s.ExpiresAt, s.EndedAt)
		}
	})
}
