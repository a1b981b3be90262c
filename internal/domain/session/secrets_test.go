package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/session"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// A viewer reads; a member and an operator also write.
func TestTheScopesOfARole(t *testing.T) {
	t.Parallel()
	read, both := []account.Scope{account.ScopeRead}, []account.Scope{account.ScopeRead, account.ScopeWrite}
	for role, want := range map[session.Role][]account.Scope{session.Viewer: read, session.Member: both, session.Operator: both} {
		require.Equal(t, want, role.Scopes(), role)
	}
}

// The secret of a session is long, random and recognised.
func TestASecretIsLongRandomAndRecognised(t *testing.T) {
	t.Parallel()
	one, other := session.NewSecret(), session.NewSecret()
	require.NotEqual(t, one, other)
	require.Regexp(t, `^millsess-[a-z2-7]{40}$`, one)
	for secret, want := range map[string]bool{one: true, "millsess-": true, "millrace-x": false, "": false} {
		require.Equal(t, want, session.Shaped(secret), secret)
	}
}

// A person has one id at one issuer, which does not reveal the subject, and a stream of its own.
func TestAPersonHasOneID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range []session.Person{
		{Issuer: "https://a", Subject: "b"},
		{Issuer: "https://a", Subject: "c"},
		{Issuer: "https://ab", Subject: ""},
		{Issuer: "https://b", Subject: "b"},
	} {
		id := p.ID()
		require.Regexp(t, `^[0-9a-f]{32}$`, id)
		require.False(t, seen[id])
		seen[id] = true
		p.Name = "another name"
		require.Equal(t, id, p.ID())
		require.Equal(t, "person-"+id, session.Stream(id))
	}
	require.Equal(t, "person-unknown", session.Stream(""))
	require.Equal(t, "daa312a35efe4b1f8f9dfacb58b08d0d", session.Person{Issuer: "https://a", Subject: "b"}.ID(), "it never changes")
}

// A secret without a session is refused with what to do.
func TestASecretWithoutASessionIsRefused(t *testing.T) {
	t.Parallel()
	none := fault.New(fault.NotFound, "", "none")
	_, err := session.Sessions{Store: store{err: none}}.Find(t.Context(), "millsess-x")
	require.Equal(t, fault.CodeUnauthorized, fault.CodeOf(err))
	require.ErrorIs(t, err, none)
	_, err = session.Sessions{Store: store{found: session.Session{Role: session.Operator}}}.Authenticate(t.Context(), "millsess-x")
	require.Equal(t, fault.CodeForbidden, fault.CodeOf(err))
	found, err := session.Sessions{Store: store{found: session.Session{Role: session.Operator}}}.Find(t.Context(), "millsess-x")
	require.NoError(t, err)
	require.Equal(t, session.Operator, found.Role)
}

// The reasons of refused grants name the group.
func TestARefusedGrantNamesItsGroup(t *testing.T) {
	t.Parallel()
	for list, says := range map[string]string{
		"art":           `not "art"`,
		"=member:a":     `not "=member:a"`,
		"art=owner:a":   `the role of group "art" is viewer, member or operator, not "owner"`,
		"*=viewer:a":    "needs MILLRACE_OIDC_DOMAINS",
		"ops=operator:": `the grant of group "ops" names no account after the colon`,
		"art=viewer":    "the grant of group \"art\" needs an account, as in art=viewer:ACCOUNT",
	} {
		rules, err := session.ParseRules(list, "", nil)
		require.ErrorContains(t, err, says, list)
		require.Nil(t, rules, list)
	}
	_, err := session.ParseRules("art=member:b", "local", nil)
	require.EqualError(t, err, `group "art" cannot have the account "b": this service has only the account local`)
	rules, err := session.ParseRules("a=viewer:x", "", nil)
	require.NoError(t, err)
	require.Len(t, rules, 1, "a group of one letter")
	rules, err = session.ParseRules("ops=operator,boss=operator:studio", "", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"", "studio"}, []string{rules[0].Account, rules[1].Account})
	types := eventlog.NewRegistry()
	require.NoError(t, session.Register(types))
	_, err = types.Decode("person.signed_in.v1", []byte(`{}`))
	require.NoError(t, err)
}
