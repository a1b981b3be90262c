package accountstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/credit"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/postgres/accountstore"
	"github.com/millrace-dev/millrace/internal/postgres/eventstore"
	"github.com/millrace-dev/millrace/internal/postgres/storetest"
)

func TestWhatIsKnownOfAnAccountIsForgottenWhenItChanges(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	types := eventlog.NewRegistry()
	require.NoError(t, account.Register(types))
	require.NoError(t, credit.Register(types))
	events := eventstore.New(pool, types, nil)
	acme, err := accountstore.New(pool).Create(t.Context(), "acme", account.TierStandard)
	require.NoError(t, err)
	r := accountstore.NewRecent(pool)
	ask := func() (account.Account, bool) {
		a, err := r.Account(t.Context(), acme.ID)
		require.NoError(t, err)
		funded, err := r.Funded(t.Context(), acme.ID)
		require.NoError(t, err)
		return a, funded
	}
	show := func(stream string) {
		recorded, err := events.ReadStream(t.Context(), stream, 0, 100)
		require.NoError(t, err)
		require.NotEmpty(t, recorded)
		r.See(recorded)
	}
	a, funded := ask()
	require.True(t, a.Active)
	require.True(t, funded, "an account without a ledger needs none")

	lapsed := false
	_, err = accountstore.NewSubscriptions(pool, events).Change(t.Context(), account.Change{Account: acme.ID, Active: &lapsed, Actor: "ops"})
	require.NoError(t, err)
	show(account.Stream(acme.ID))
	a, _ = ask()
	require.False(t, a.Active)

	credits := accountstore.NewCredits(pool, events)
	require.NoError(t, credits.Grant(t.Context(), acme.ID, 100, "ops", "opened"))
	require.NoError(t, credits.Grant(t.Context(), acme.ID, -100, "ops", "taken back"))
	show(credit.Stream(acme.ID))
	_, funded = ask()
	require.False(t, funded)
}

func TestAChangeOfAnAccountIsLearnedWithoutItsEvent(t *testing.T) {
	t.Parallel()
	pool := storetest.OpenPool(t, storetest.NewDatabase(t))
	acme, err := accountstore.New(pool).Create(t.Context(), "acme", account.TierStandard)
	require.NoError(t, err)
	r := accountstore.NewRecent(pool)
	_, err = r.Account(t.Context(), acme.ID)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `update accounts set tier = 'pro' where id = $1`, acme.ID)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		a, err := r.Account(t.Context(), acme.ID)
		return err == nil && a.Tier == account.TierPro
	}, time.Minute, 10*time.Millisecond)
}
