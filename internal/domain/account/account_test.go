package account_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestParseTiersAndScopes(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"local", "free", "standard", "creator", "pro"} {
		_, err := account.ParseTier(word)
		require.NoError(t, err)
	}
	for _, word := range []string{"", "None", "gold"} {
		_, tierErr := account.ParseTier(word)
		_, scopeErr := account.ParseScope(word)
		require.Error(t, tierErr)
		require.Error(t, scopeErr)
	}
}

func TestTiersHaveTheContractsSlots(t *testing.T) {
	t.Parallel()
	for tier, slots := range map[account.Tier]int{
		account.TierFree: 0, account.TierStandard: 1, account.TierCreator: 3, account.TierPro: 5, account.TierLocal: 8, "unknown": 0,
	} {
		require.Equal(t, slots, tier.Slots(8), tier)
	}
}

func TestSlotsOfTiersAreConfigured(t *testing.T) {
	t.Parallel()
	slots, err := account.ParseSlots("pro=12, creator=4")
	require.NoError(t, err)
	for tier, n := range map[account.Tier]int{
		account.TierPro: 12, account.TierCreator: 4, account.TierStandard: 1, account.TierFree: 0, account.TierLocal: 8,
	} {
		require.Equal(t, n, slots.Of(tier, 8), tier)
	}
	require.Equal(t, 5, account.Slots(nil).Of(account.TierPro, 8))
	for _, wrong := range []string{"", "pro", "pro=0", "pro=x", "gold=1", "free=1", "pro=10001", "pro=1,,"} {
		_, err := account.ParseSlots(wrong)
		require.Error(t, err, wrong)
	}
}

func TestSecretsAreLongAndDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		secret, prefix := account.NewSecret()
		require.False(t, seen[secret])
		seen[secret] = true
		require.True(t, strings.HasPrefix(secret, prefix))
		require.Len(t, secret, len("millrace-")+40)
		require.Less(t, len(prefix), len(secret)-30, "what is shown tells nothing of the rest")
	}
}

func TestTheStaticToken(t *testing.T) {
	t.Parallel()
	_, err := account.NewStatic("")
	require.True(t, fault.Is(err, fault.Invalid))
	auth, err := account.NewStatic("right")
	require.NoError(t, err)
	id, err := auth.Authenticate(t.Context(), "right")
	require.NoError(t, err)
	require.Equal(t, account.Local(), id)
	for _, wrong := range []string{"", "Right", "right "} {
		_, err = auth.Authenticate(t.Context(), wrong)
		require.True(t, fault.Is(err, fault.Unauthenticated))
		require.Equal(t, fault.CodeUnauthorized, fault.CodeOf(err))
	}
}

// broken is a key store that is away.
type broken struct{}

func (broken) IdentityByKey(context.Context, account.KeyHash) (account.Identity, error) {
	return account.Identity{}, fault.New(fault.Unavailable, "", "the store is away")
}

func TestOutageDuringAuthenticationIsUnavailable(t *testing.T) {
	t.Parallel()
	auth := account.NewKeys(broken{})
	_, err := auth.Authenticate(t.Context(), "some key")
	require.True(t, fault.Is(err, fault.Unavailable))
	_, err = auth.Authenticate(t.Context(), strings.Repeat("x", 10_000))
	require.True(t, fault.Is(err, fault.Unauthenticated), "what cannot be a key is not looked up")
}

func TestOnlyModesWithoutAccountsHaveOneAccount(t *testing.T) {
	t.Parallel()
	for mode, only := range map[account.Mode]string{
		account.ModeNone: account.LocalID, account.ModeToken: account.LocalID, account.ModeKeys: "",
	} {
		require.Equal(t, only, mode.OnlyAccount(), mode)
	}
}
