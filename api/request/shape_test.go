package request_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestANullInAListOfTextsIsRefusedByName(t *testing.T) {
	t.Parallel()
	var body struct{ Tags request.Texts }
	err := request.Decode(json.RawMessage(`{"tags":["a",null]}`), &body)
	require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
	require.Contains(t, fault.Sentence(err), "a list element cannot be a JSON null")
	require.NotContains(t, fmt.Sprint(err), "PANIC", "what the log has of it")
}
