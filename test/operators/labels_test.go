package operators_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/sim/comfyui"
	"github.com/millrace-dev/millrace/test/served"
)

func TestAnAccountAsksOnlyForTheLabelsItMayAskFor(t *testing.T) {
	b := start(t)
	b.server(comfyui.Options{}, nil)
	other := "o-" + b.label // no server has it
	labels := "/accounts/" + b.account + "/labels"
	v2 := func(labels any) map[string]any {
		return map[string]any{"workflow": served.Text2Img(1, 1), "extra_data": map[string]any{"millrace": map[string]any{"labels": labels}}}
	}

	status, body := b.admin(http.MethodGet, labels, nil)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"account":"`+b.account+`","name":"`+b.name+`","labels":null}`, body, "without a setting every label")
	_, named := b.admin(http.MethodGet, "/accounts/"+b.name+"/labels", nil)
	require.JSONEq(t, body, named, "an account has a name and an id")
	require.Equal(t, "completed", b.ended(b.submit(served.Text2Img(1, 1))))
	status, body = b.do(http.MethodPost, "/api/prompt", asking(served.Text2Img(1, 1), other))
	require.Equal(t, []any{http.StatusBadRequest, "unknown_label"}, []any{status, errorOf(t, body)}, body)
	status, body = b.do(http.MethodPost, "/api/v2/jobs", v2([]string{other}))
	require.Equal(t, []any{http.StatusUnprocessableEntity, "unknown_label"}, []any{status, errorOf(t, body)}, body)

	status, body = b.admin(http.MethodPut, labels, by(map[string]any{"labels": []string{other}}))
	require.Equal(t, http.StatusOK, status, body)
	status, body = b.do(http.MethodPost, "/api/prompt", asking(served.Text2Img(1, 1), b.label))
	require.Equal(t, []any{http.StatusForbidden, "label_not_allowed"}, []any{status, errorOf(t, body)}, body)
	require.Contains(t, body, b.label, "it names the label")
	require.Contains(t, body, other, "and what may be asked for")
	status, body = b.do(http.MethodPost, "/api/v2/jobs", v2([]string{b.label}))
	require.Equal(t, []any{http.StatusForbidden, "label_not_allowed"}, []any{status, errorOf(t, body)}, body)
	status, body = b.do(http.MethodPost, "/api/prompt", asking(served.Text2Img(1, 1), "l-nobody"))
	require.Equal(t, []any{http.StatusForbidden, "label_not_allowed"}, []any{status, errorOf(t, body)}, "what no server has does not show: %s",
		body)

	b.command("accounts", "labels", b.name, "--allow", b.label, "--reason", "a contract")
	require.Equal(t, "completed", b.ended(b.submit(served.Text2Img(2, 1))))
	require.Contains(t, b.command("accounts", "show", b.name), b.label)
	events := b.command("events", "list", "--account", b.name, "--type", "account.server_labels_changed.v1", "--json")
	require.Contains(t, events, "a contract")
	require.Contains(t, events, "admin:ana")

	for _, wrong := range []any{"sdxl", []any{1}, []string{"a b"}, []string{""}} {
		status, body = b.do(http.MethodPost, "/api/prompt", map[string]any{
			"prompt": served.Text2Img(3, 1), "extra_data": map[string]any{"millrace": map[string]any{"labels": wrong}},
		})
		require.Equal(t, []any{http.StatusBadRequest, "invalid_request"}, []any{status, errorOf(t, body)}, body)
		status, body = b.do(http.MethodPost, "/api/v2/jobs", v2(wrong))
		require.Equal(t, []any{http.StatusBadRequest, "invalid_request"}, []any{status, errorOf(t, body)}, body)
	}
	for _, wrong := range []map[string]any{{}, {"labels": "sdxl"}, {"labels": []string{"a b"}}} {
		status, body = b.admin(http.MethodPut, labels, by(wrong))
		require.Equal(t, http.StatusBadRequest, status, body)
	}
	status, _ = b.admin(http.MethodPut, labels, map[string]any{"labels": []string{"eu"}})
	require.Equal(t, http.StatusBadRequest, status, "who and why")
}
