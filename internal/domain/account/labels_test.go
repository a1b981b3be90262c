package account_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestLabelsThatAnAccountMayAskFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels  account.Labels
		asked   []string
		refused bool
	}{
		"without a setting every label":        {account.Labels{}, []string{"sdxl", "eu"}, false},
		"no label is none too many":            {account.Labels{Allowed: []string{}}, nil, false},
		"an empty list is no label":            {account.Labels{Allowed: []string{}}, []string{"eu"}, true},
		"what is in the list":                  {account.Labels{Allowed: []string{"eu", "sdxl"}}, []string{"sdxl"}, false},
		"one that is not in the list":          {account.Labels{Allowed: []string{"eu"}}, []string{"eu", "sdxl"}, true},
		"labels are compared as a whole":       {account.Labels{Allowed: []string{"eu-1"}}, []string{"eu"}, true},
		"labels are compared letter by letter": {account.Labels{Allowed: []string{"EU"}}, []string{"eu"}, true},
	} {
		err := c.labels.Check(c.asked)
		require.Equal(t, c.refused, err != nil, name)
		if c.refused {
			require.Equal(t, fault.Denied, fault.KindOf(err), name)
			require.Equal(t, fault.CodeLabelNotAllowed, fault.CodeOf(err), name)
		}
	}
}

func TestListsOfLabelsAreChecked(t *testing.T) {
	t.Parallel()
	check := func(labels ...string) error {
		return account.Change{Account: "a", Actor: "ops", Labels: &account.Labels{Allowed: labels}}.Check()
	}
	require.NoError(t, check("sdxl", "gpu:24gb", "eu/west.1"))
	for _, wrong := range []string{"", " ", "a b", "-a", "ü", "a,b"} {
		require.Equal(t, fault.Invalid, fault.KindOf(check(wrong)), wrong)
	}
	require.Error(t, check(make([]string, 33)...))
}

func TestRefusedLabelIsNamedWithThoseThatAreAllowed(t *testing.T) {
	t.Parallel()
	err := account.Labels{Allowed: []string{"eu", "sdxl"}}.Check([]string{"eu", "us"})
	require.ErrorContains(t, err, `"us": it may use eu, sdxl`)
	var refused *fault.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, map[string]any{"label": "us"}, refused.Details)
	require.ErrorContains(t, account.Labels{Allowed: []string{}}.Check([]string{"eu"}), `"eu": it may not use labels`)
}

// No list allows all labels, and an empty one allows none.
func TestLabelsAreEqualIfTheyAllowTheSame(t *testing.T) {
	t.Parallel()
	all := []account.Labels{{}, {Allowed: []string{}}, {Allowed: []string{"a"}}, {Allowed: []string{"a", "b"}}}
	for i, one := range all {
		for k, other := range all {
			require.Equal(t, i == k, one.Equal(other), "%v and %v", one, other)
		}
	}
}
