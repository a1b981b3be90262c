package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
)

func TestModelsOfAnAccountOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, account.Register(s.types))
	_, err := s.run(t, "accounts", "create", "acme")
	require.NoError(t, err)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "acme: router on, allowed all, denied none"},
		{
			[]string{"--allow", "bfl/*", "--allow", "openai/gpt-image-2", "--reason", "May"},
			"acme: router on, allowed bfl/* openai/gpt-image-2, denied none",
		},
		{
			[]string{"--deny", "bfl/flux-2-pro,kling/*", "--reason", "no"},
			"acme: router on, allowed bfl/* openai/gpt-image-2, denied bfl/flux-2-pro kling/*",
		},
		{[]string{"--router", "off", "--reason", "asked"}, "acme: router off, allowed bfl/* openai/gpt-image-2, denied bfl/flux-2-pro kling/*"},
		{[]string{"--router", "on", "--allow", "none", "--deny", "none", "--reason", "x"}, "acme: router on, allowed none, denied none"},
		{[]string{"--allow", "all", "--reason", "x"}, "acme: router on, allowed all, denied none"},
	} {
		out, err := s.run(t, append([]string{"accounts", "models", "acme"}, c.args...)...)
		require.NoError(t, err, c.args)
		require.Equal(t, c.want+"\n", out)
		again, err := s.run(t, "accounts", "models", "acme")
		require.NoError(t, err)
		require.Equal(t, out, again, "it is stored")
	}
	for why, args := range map[string][]string{
		"no reason": {"--router", "off"}, "a word": {"--router", "maybe", "--reason", "x"},
		"a wrong pattern": {"--allow", "bfl*", "--reason", "x"},
		"all is denied":   {"--deny", "all", "--reason", "x"}, "nothing in front": {"--allow", "all,bfl/*", "--reason", "x"},
	} {
		_, err := s.run(t, append([]string{"accounts", "models", "acme"}, args...)...)
		require.Error(t, err, why)
	}
	_, err = s.run(t, "accounts", "models", "nobody")
	require.Error(t, err)
	var shown struct {
		Account string
		Router  bool
		Allowed []string
	}
	s.json(t, &shown, "accounts", "models", "acme")
	require.True(t, shown.Router)
	require.Nil(t, shown.Allowed)
	events, err := s.store.ReadStream(t.Context(), account.Stream(shown.Account), 0, 20)
	require.NoError(t, err)
	require.Equal(t, "account.created.v1", events[0].Type)
	events = events[1:]
	require.Len(t, events, 5)
	for i, reason := range []string{"May", "no", "asked", "x", "x"} {
		require.Equal(t, account.TypeRouterAccessChanged, events[i].Type)
		require.Equal(t, reason, events[i].Meta.Reason)
		require.NotEmpty(t, events[i].Meta.Actor)
	}
	out, err := s.run(t, "accounts", "set", "acme", "--suspended", "--reason", "abuse")
	require.NoError(t, err)
	require.Contains(t, out, "suspended true")
}
