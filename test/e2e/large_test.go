package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chainOf is a graph of that many nodes, each of which waits for the one before.
func chainOf(nodes int) string {
	var b strings.Builder
	b.WriteString(`{"0":{"class_type":"PrimitiveString","inputs":{"value":"x"}}`)
	for i := 1; i < nodes-1; i++ {
		fmt.Fprintf(&b, `,"%d":{"class_type":"StringConcatenate","inputs":{"string_a":["%d",0],"string_b":"","delimiter":""}}`, i, i-1)
	}
	fmt.Fprintf(&b, `,"%d":{"class_type":"PreviewAny","inputs":{"source":["%d",0]}}}`, nodes-1, nodes-2)
	return b.String()
}

// W: a graph of exactly the largest size completes, one node more is refused.
func TestTheLargestGraphCompletes(t *testing.T) {
	t.Parallel()
	c := newClient(t, "pro")
	refused := c.do(http.MethodPost, "/api/prompt", `{"prompt":`+chainOf(5001)+`}`)
	require.Equal(t, http.StatusBadRequest, refused.status, refused.body)
	require.Contains(t, refused.body, "5001 nodes")
	id := c.submit(chainOf(5000))
	c.await(id, "completed")
	detail := c.do(http.MethodGet, "/api/jobs/"+id, "")
	require.Contains(t, detail.body, `"x"`)
}
