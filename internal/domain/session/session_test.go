package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestGrantsAreParsed(t *testing.T) {
	t.Parallel()
	domains := []string{"example.com"}
	for name, c := range map[string]struct {
		list, local string
		domains     []string
		want        session.Rules // nil = refused
	}{
		"accounts of their own": {"ops=operator, art=member:studio", "", nil, session.Rules{
			{Group: "ops", Grant: session.Grant{Role: session.Operator}},
			{Group: "art", Grant: session.Grant{Role: session.Member, Account: "studio"}},
		}},
		"a group with an equals sign": {"cn=art=viewer:studio", "", nil, session.Rules{
			{Group: "cn=art", Grant: session.Grant{Role: session.Viewer, Account: "studio"}},
		}},
		"the only account": {"art=member", "local", nil, session.Rules{
			{Group: "art", Grant: session.Grant{Role: session.Member, Account: "local"}},
		}},
		"the only account by its name": {"art=member:local", "local", nil, session.Rules{
			{Group: "art", Grant: session.Grant{Role: session.Member, Account: "local"}},
		}},
		"everyone": {"*=viewer:studio", "", domains, session.Rules{
			{Group: "*", Grant: session.Grant{Role: session.Viewer, Account: "studio"}},
		}},
		"everyone without domains":   {"*=viewer:studio", "", nil, nil},
		"no account":                 {"art=member", "", nil, nil},
		"no account after the colon": {"ops=operator:", "", nil, nil},
		"another than the only one":  {"art=member:studio", "local", nil, nil},
		"no role":                    {"art", "", nil, nil},
		"an unknown role":            {"art=owner:studio", "", nil, nil},
		"no group":                   {"=member:studio", "", nil, nil},
	} {
		rules, err := session.ParseRules(c.list, c.local, c.domains)
		require.Equal(t, c.want != nil, err == nil, "%s: %v", name, err)
		require.Equal(t, c.want, rules, name)
	}
}

// A member of several groups has the first grant of any of them, and one of none that of everyone, if there is one.
func TestTheFirstGrantOfAMemberCounts(t *testing.T) {
	t.Parallel()
	operator, viewer := session.Grant{Role: session.Operator}, session.Grant{Role: session.Viewer, Account: "studio"}
	rules := session.Rules{{Group: "ops", Grant: operator}, {Group: session.Everyone, Grant: viewer}}
	for _, c := range []struct {
		rules  session.Rules
		groups []string
		want   session.Grant
		ok     bool
	}{
		{rules, []string{"art", "ops"}, operator, true},
		{rules, nil, viewer, true},
		{rules[:1], []string{"art"}, session.Grant{}, false},
	} {
		got, ok := c.rules.Of(c.groups)
		require.Equal(t, c.ok, ok, c.groups)
		require.Equal(t, c.want, got, c.groups)
	}
}

// store finds one session, or fails.
type store struct {
	session.Store
	found session.Session
	err   error
}

func (s store) Find(context.Context, account.KeyHash) (session.Session, error) { return s.found, s.err }

// A session identifies its account; one without an account opens the console only, and what the store refuses is refused.
func TestASessionIdentifiesItsAccount(t *testing.T) {
	t.Parallel()
	whole := session.Session{Identity: account.Identity{Account: "a"}}
	whole.Account = "a"
	for name, c := range map[string]struct {
		store store
		want  fault.Kind
		ok    bool
	}{
		"a session":                  {store{found: whole}, 0, true},
		"of an operator":             {store{found: session.Session{}}, fault.Denied, false},
		"that has ended":             {store{found: whole, err: fault.New(fault.NotFound, "", "none")}, fault.Unauthenticated, false},
		"of a suspended account":     {store{found: whole, err: fault.New(fault.Denied, "", "suspended")}, fault.Denied, false},
		"while the database is away": {store{found: whole, err: fault.New(fault.Unavailable, "", "away")}, fault.Unavailable, false},
	} {
		id, err := session.Sessions{Store: c.store}.Authenticate(t.Context(), session.NewSecret())
		require.Equal(t, c.ok, err == nil, name)
		if c.ok {
			require.Equal(t, "a", id.Account)
		} else {
			require.Equal(t, c.want, fault.KindOf(err), name)
		}
	}
}
