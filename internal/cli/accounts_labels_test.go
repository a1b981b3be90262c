package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
)

func TestLabelsOfAnAccountOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, account.Register(s.types))
	_, err := s.run(t, "accounts", "create", "acme")
	require.NoError(t, err)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "acme: may request all"},
		{[]string{"--allow", "sdxl", "--allow", "eu", "--reason", "May"}, "acme: may request eu sdxl"},
		{[]string{"--allow", "none", "--reason", "shared"}, "acme: may request none"},
		{[]string{"--allow", "all", "--reason", "again"}, "acme: may request all"},
	} {
		out, err := s.run(t, append([]string{"accounts", "labels", "acme"}, c.args...)...)
		require.NoError(t, err, c.args)
		require.Equal(t, c.want+"\n", out)
		again, err := s.run(t, "accounts", "labels", "acme")
		require.NoError(t, err)
		require.Equal(t, out, again, "it is stored")
	}
	for why, args := range map[string][]string{"no reason": {"--allow", "eu"}, "no label": {"--allow", "e u", "--reason", "x"}} {
		_, err := s.run(t, append([]string{"accounts", "labels", "acme"}, args...)...)
		require.Error(t, err, why)
	}
	var shown struct {
		Account string
		Labels  []string
	}
	s.json(t, &shown, "accounts", "labels", "acme")
	require.Nil(t, shown.Labels)
	recorded, err := s.store.ReadStream(t.Context(), account.Stream(shown.Account), 1, 20)
	require.NoError(t, err)
	require.Len(t, recorded, 3)
	for i, reason := range []string{"May", "shared", "again"} {
		require.Equal(t, account.TypeServerLabelsChanged, recorded[i].Type)
		require.Equal(t, reason, recorded[i].Meta.Reason)
		require.NotEmpty(t, recorded[i].Meta.Actor)
	}
	require.JSONEq(t, `{"labels":[],"was":["eu","sdxl"]}`, string(recorded[1].Data))
}
