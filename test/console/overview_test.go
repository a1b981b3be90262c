package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheOverviewCountsWhatHappened(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for i := range 2 {
		p.run(picture("counted", 0x336600+i))
	}
	p.run(strings.ReplaceAll(failing, "%d", "5"))
	p.api(http.MethodPost, "/v2/models/sim/echo", `{"prompt":"hello"}`)
	var shown string
	p.await("the counts", func() bool {
		shown = p.page("/console/overview?range=15m")
		return strings.Contains(shown, "<dt>Submitted</dt><dd>3</dd>") && strings.Contains(shown, "sim/echo") &&
			strings.Contains(shown, ">failed</dt>")
	})
	require.Regexp(t, `<dt>succeeded</dt><dd><a href="[^"]+">2</a>`, shown)
	require.Regexp(t, `class="number">1</td><td data-label="Cause" class="long">[^<]+</td>`, shown,
		"the cause of the failure")
	require.Contains(t, shown, `data-series="[[`)
	require.Less(t, p.wire("/console/overview?range=15m"), 60_000, "bytes of the page")
	for _, chosen := range []string{"1h", "6h", "24h", "7d", "30d"} {
		require.Contains(t, p.page("/console/overview?range="+chosen), "<dt>Submitted</dt><dd>3</dd>", chosen)
	}
	require.Equal(t, http.StatusBadRequest, p.get("/console/overview?range=1y").status)
	require.Contains(t, newPerson(t).page("/console/overview"), "<dt>Submitted</dt><dd>0</dd>", "an account sees its own")
	require.NotContains(t, newOperator(t).page("/console/overview?range=1h"), "<dt>Submitted</dt><dd>0</dd>", "an operator sees all")

	b := p.open()
	b.looks("overview", "/console/overview?range=1h")
	b.visit("/console/overview?range=1h")
	b.await("the drawings", `document.querySelectorAll(".plot canvas").length === 3`)
	b.picture("overview-drawn")
	require.False(t, eval[bool](b, `document.querySelector(".chart details").open`), "with drawings, the tables are folded")
	b.clean()
}
