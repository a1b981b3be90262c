package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLabelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"each cell": {
			`<table><thead><tr><th>Name</th><th class="number">Jobs</th></tr></thead><tbody>{{range .All}}` +
				`<tr id="{{.ID}}"><td class="long">a</td><td>1</td></tr>{{end}}`,
			`<tr id="{{.ID}}"><td data-label="Name" class="long">a</td><td data-label="Jobs">1</td></tr>`,
		},
		"a column that some see": {
			`<table><tr><th>Name</th>{{if .All}}<th>Account</th>{{end}}</tr><tr><td>a</td>{{if $.All}}<td>b</td>{{end}}</tr>`,
			`<tr><td data-label="Name">a</td>{{if $.All}}<td data-label="Account">b</td>{{end}}</tr>`,
		},
		"headers that are no text": {
			`<table><tr><th><span class="sr">Select</span></th><th>{{.Label}}</th><th>"It"</th></tr><tr><td>a</td><td>b</td><td>c</td></tr>`,
			`<tr><td>a</td><td>b</td><td data-label="&#34;It&#34;">c</td></tr>`,
		},
		"another number of cells": {
			`<table><tr><th>Name</th><th>State</th></tr><tr><td>a</td></tr>`, `<tr><td>a</td></tr>`,
		},
		"no header": {`<table><tr><td>a</td></tr>`, `<tr><td>a</td></tr>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, labelled(c.text+"</table>"), c.want)
		})
	}
}
