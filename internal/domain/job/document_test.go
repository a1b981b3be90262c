package job_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestIDOfAnEditorsWorkflowIsBounded(t *testing.T) {
	t.Parallel()
	id := func(workflow string) string {
		return job.Source{ExtraData: map[string]json.RawMessage{"extra_pnginfo": json.RawMessage(`{"workflow":` + workflow + `}`)}}.WorkflowID()
	}
	most := strings.Repeat("x", 256)
	require.Equal(t, most, id(fmt.Sprintf(`{"id":%q}`, most)))
	for _, none := range []string{fmt.Sprintf(`{"id":"x%s"}`, most), `{"id":7}`, `{}`, `[]`, `null`} {
		require.Empty(t, id(none), none)
	}
	require.Empty(t, job.Source{}.WorkflowID())
}

func TestAssignmentNeedsTheObjectsOnItsWay(t *testing.T) {
	t.Parallel()
	assign := func(prompt, target string) (string, error) {
		raw, _, err := job.Assign(json.RawMessage(prompt), []job.Assignment{{Target: target, Value: json.RawMessage("7")}})
		return string(raw), err
	}
	got, err := assign(`{"1":{"inputs":{"a":1}}}`, "1.b")
	require.NoError(t, err)
	require.JSONEq(t, `{"1":{"inputs":{"a":1,"b":7}}}`, got, "an absent input is added")
	got, err = assign(`{"1":{"inputs":{"a":1}}}`, "1.a")
	require.NoError(t, err)
	require.JSONEq(t, `{"1":{"inputs":{"a":7}}}`, got)
	for _, wrong := range []string{`{"1":{}}`, `{"1":{"inputs":3}}`, `{"2":{"inputs":{}}}`, `{"1":3}`} {
		_, err := assign(wrong, "1.a")
		require.Equal(t, fault.Invalid, fault.KindOf(err), wrong)
	}
}
