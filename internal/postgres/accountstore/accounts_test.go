package accountstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/livestore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
	"github.com/millrace-dev/millrace/internal/stream/peer"
)

func TestAccountsAndTheirKeys(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	store := accountstore.New(pool)
	acme, err := store.Create(t.Context(), "acme", account.TierCreator)
	require.NoError(t, err)
	require.True(t, acme.Active)
	_, err = store.Create(t.Context(), "acme", account.TierPro)
	require.True(t, fault.Is(err, fault.Conflict))
	byName, err := store.AccountByName(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, acme, byName)
	local, err := store.Account(t.Context(), account.LocalID)
	require.NoError(t, err)
	require.Equal(t, account.TierLocal, local.Tier)
	all, err := store.Accounts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []account.Account{acme, local}, all)
	_, err = store.Account(t.Context(), "nobody")
	require.True(t, fault.Is(err, fault.NotFound))

	secret, key, err := account.Issue(t.Context(), store, account.Key{Account: acme.ID})
	require.NoError(t, err)
	reader, _, err := account.Issue(t.Context(), store, account.Key{Account: acme.ID, Scopes: []account.Scope{account.ScopeRead}})
	require.NoError(t, err)
	auth := account.NewKeys(store)
	id, err := auth.Authenticate(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, account.Identity{
		Account: acme.ID, Tier: account.TierCreator, Active: true, Key: key.Prefix,
		Scopes: []account.Scope{account.ScopeRead, account.ScopeWrite},
		Access: account.Access{Denied: []string{}},
	}, id)
	id, err = auth.Authenticate(t.Context(), reader)
	require.NoError(t, err)
	require.False(t, id.Allows(account.ScopeWrite))

	_, err = pool.Exec(t.Context(), `update accounts set tier = 'pro', active = false where id = $1`, acme.ID)
	require.NoError(t, err)
	id, err = auth.Authenticate(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, account.TierPro, id.Tier)
	require.False(t, id.Active)

	require.True(t, fault.Is(store.RevokeKey(t.Context(), account.LocalID, key.ID), fault.NotFound), "not the account's key")
	require.NoError(t, store.RevokeKey(t.Context(), acme.ID, key.ID))
	require.NoError(t, store.RevokeKey(t.Context(), acme.ID, key.ID))
	for _, wrong := range []string{secret, secret + "x", ""} {
		_, err = auth.Authenticate(t.Context(), wrong)
		require.True(t, fault.Is(err, fault.Unauthenticated))
	}
	keys, err := store.Keys(t.Context(), acme.ID)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.NotNil(t, keys[0].RevokedAt)
	require.Nil(t, keys[1].RevokedAt)
}

// The last use of a key is known to the minute, and costs no write for each request.
func TestTheLastUseOfAKeyIsRecorded(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	store := accountstore.New(pool)
	used, _, err := account.Issue(t.Context(), store, account.Key{Account: account.LocalID})
	require.NoError(t, err)
	_, _, err = account.Issue(t.Context(), store, account.Key{Account: account.LocalID})
	require.NoError(t, err)
	use := func() *time.Time {
		_, err := account.NewKeys(store).Authenticate(t.Context(), used)
		require.NoError(t, err)
		keys, err := store.Keys(t.Context(), account.LocalID)
		require.NoError(t, err)
		require.Nil(t, keys[1].LastUsed, "the other was never used")
		return keys[0].LastUsed
	}
	first := use()
	require.WithinDuration(t, time.Now(), *first, time.Minute)
	require.Equal(t, first, use(), "noted once a minute")
	_, err = pool.Exec(t.Context(), `update api_keys set last_used_at = last_used_at - interval '2 minutes'`)
	require.NoError(t, err)
	require.False(t, use().Before(*first))

	_, err = pool.Exec(t.Context(), `update api_keys set last_used_at = null`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `alter database `+pgx.Identifier{pool.Config().ConnConfig.Database}.Sanitize()+`
		set default_transaction_read_only = on`)
	require.NoError(t, err)
	pool.Reset()
	require.Nil(t, use(), "a database that takes nothing still tells who may read")
}

func TestSecretsAreNowhereInTheDatabase(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	secret, _, err := account.Issue(t.Context(), accountstore.New(pool), account.Key{Account: account.LocalID})
	require.NoError(t, err)
	var row string
	require.NoError(t, pool.QueryRow(t.Context(), `select api_keys::text from api_keys`).Scan(&row))
	require.NotContains(t, row, secret)
}

func TestReplicasAreListedWhileTheyLive(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	replicas := livestore.NewReplicas(pool)
	a, b := peer.Replica{ID: uuid.NewString(), URL: "http://a"}, peer.Replica{ID: uuid.NewString(), URL: "http://b"}
	var announced []peer.Replica
	for _, r := range []peer.Replica{a, b, a} {
		var err error
		announced, err = replicas.Announce(t.Context(), r)
		require.NoError(t, err)
	}
	require.ElementsMatch(t, []peer.Replica{a, b}, announced)
	peers, err := replicas.Peers(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []peer.Replica{a, b}, peers)
	_, err = pool.Exec(t.Context(), `update replicas set heartbeat = now() - make_interval(secs => $1) where id = $2`, time.Minute.Seconds(),
		b.ID)
	require.NoError(t, err)
	peers, err = replicas.Peers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []peer.Replica{a}, peers)
	require.NoError(t, replicas.Deregister(t.Context(), a))
	peers, err = replicas.Peers(t.Context())
	require.NoError(t, err)
	require.Empty(t, peers)
}

func TestAnAccountPaysUnlessItsCreditIsUsedUp(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	store := accountstore.New(pool)
	payer := func(id string, pays bool, why string) {
		t.Helper()
		a, got, err := store.Payer(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, pays, got, why)
		want, err := store.Account(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, a)
	}
	other, err := store.Create(t.Context(), "other", account.TierPro)
	require.NoError(t, err)
	has := func(available int64) {
		_, err := pool.Exec(t.Context(), `insert into credit_balances (account, granted, available, held, settled, version) values ($1, 10, $2,
			0, 10 - $2::bigint, 1)
			on conflict (account) do update set available = excluded.available, settled = excluded.settled`, account.LocalID, available)
		require.NoError(t, err)
	}
	payer(account.LocalID, true, "it is not metered")
	has(0)
	payer(account.LocalID, false, "it is metered, without credit")
	payer(other.ID, true, "that is another's ledger")
	has(1)
	payer(account.LocalID, true, "it has credit")
	has(-1)
	payer(account.LocalID, false, "it spent more than it had")
	_, _, err = store.Payer(t.Context(), "nobody")
	require.True(t, fault.Is(err, fault.NotFound))
}
