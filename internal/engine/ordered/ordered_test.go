package ordered_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/ordered"
)

func TestMembersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for _, object := range []string{`{}`, `{"b":1,"a":{"z":[1,2],"y":null},"<&>":"\u003c"}`, `{"a":1,"a":2}`} {
		members, err := ordered.Members(json.RawMessage(object))
		require.NoError(t, err)
		require.Equal(t, object, string(ordered.Object(members)))
	}
	for _, nothing := range []string{"", "null"} {
		members, err := ordered.Members(json.RawMessage(nothing))
		require.NoError(t, err)
		require.Empty(t, members)
	}
	for _, wrong := range []string{`[]`, `"a"`, `1`, `{"a"`, `{"a":}`, `{"a":1,]`} {
		_, err := ordered.Members(json.RawMessage(wrong))
		require.Error(t, err, wrong)
	}
}
