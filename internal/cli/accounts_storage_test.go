package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
)

func TestStorageOfAnAccountOnTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, account.Register(s.types))
	s.extra = map[string]string{"MILLRACE_ACCOUNT_STORAGE": "2KiB"}
	_, err := s.run(t, "accounts", "create", "acme")
	require.NoError(t, err)
	id := ""
	require.NoError(t, s.pool.QueryRow(t.Context(), `select id from accounts where name = 'acme'`).Scan(&id))
	_, err = s.pool.Exec(t.Context(), `insert into userdata values ($1, 'a', $2, 1500, now(), now()), ($1, 'b', $2, 36, now(), now())`, id,
		make([]byte, 32))
	require.NoError(t, err)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "acme: stores 1.5 KiB of 2 KiB in 2 files"},
		{[]string{"--limit", "1KiB", "--reason", "contract of May"}, "acme: stores 1.5 KiB of 1 KiB in 2 files: full, new files are refused"},
		{[]string{"--limit", "none", "--reason", "contract of June"}, "acme: stores 1.5 KiB in 2 files, no limit"},
		{[]string{"--limit", "1.5GiB", "--reason", "more"}, "acme: stores 1.5 KiB of 1.5 GiB in 2 files"},
		{[]string{"--limit", "default", "--reason", "ended", "--check"}, "acme: stores 1.5 KiB of 2 KiB in 2 files"},
	} {
		out, err := s.run(t, append([]string{"accounts", "storage", "acme"}, c.args...)...)
		require.NoError(t, err, c.args)
		require.Equal(t, c.want+"\n", out)
	}
	for why, args := range map[string][]string{
		"no reason": {"--limit", "1GiB"}, "no size": {"--limit", "much", "--reason", "x"}, "nothing": {"--limit", "0", "--reason", "x"},
		"less": {"--limit", "-5", "--reason", "x"},
	} {
		_, err := s.run(t, append([]string{"accounts", "storage", "acme"}, args...)...)
		require.Error(t, err, why)
	}
	list, err := s.run(t, "accounts", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^acme +`+id+` +standard +true +1\.5 KiB +2 KiB +`, list)
	require.Regexp(t, `(?m)^local +local +local +true +0 B +2 KiB +`, list)
	shown, err := s.run(t, "accounts", "show", "acme")
	require.NoError(t, err)
	require.Contains(t, shown, "storage     stores 1.5 KiB of 2 KiB in 2 files\n")
	require.Contains(t, shown, "credit      not metered\n")
	var whole struct{ Storage account.Storage }
	s.json(t, &whole, "accounts", "show", "acme")
	require.Equal(t, account.Storage{Bytes: 1536, Files: 2, Limit: 2048}, whole.Storage)

	_, err = s.pool.Exec(t.Context(), `update account_storage set bytes = bytes + 1`)
	require.NoError(t, err)
	_, err = s.run(t, "accounts", "storage", "acme", "--check")
	require.ErrorContains(t, err, "1536 bytes in 2 files, but the stored count is 1537 bytes")

	var reasons []string
	events, err := s.store.ReadStream(t.Context(), account.Stream(id), 1, 20)
	require.NoError(t, err)
	for _, f := range events {
		require.Equal(t, account.TypeStorageLimited, f.Type)
		require.NotEmpty(t, f.Meta.Actor)
		reasons = append(reasons, f.Meta.Reason)
	}
	require.Equal(t, []string{"contract of May", "contract of June", "more", "ended"}, reasons)
}

func TestTheStandardLimitOfStorageIsChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.extra = map[string]string{"MILLRACE_ACCOUNT_STORAGE": "-1"}
	_, err := s.run(t, "accounts", "list")
	require.ErrorContains(t, err, "MILLRACE_ACCOUNT_STORAGE")
}
