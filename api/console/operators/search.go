package operators

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/web/console"
)

// pageRows is the most accounts or queues on a page.
const pageRows = 100

// accountName is a row that is looked for by the name or the id of its account.
type accountName struct{ name, id string }

// matches reports whether a row is what text looks for: a part of its name, or the beginning of its id.
func (n accountName) matches(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(strings.ToLower(n.name), text) || strings.HasPrefix(n.id, text)
}

// before orders rows by name.
func (n accountName) before(other accountName) int {
	if by := strings.Compare(n.name, other.name); by != 0 {
		return by
	}
	return strings.Compare(n.id, other.id)
}

// searched returns the rows of a page by its address: those that match "q", after the row of account "after".
func searched[T any](c *gin.Context, all []T, of func(T) accountName) ([]T, Search) {
	q, after := strings.TrimSpace(c.Query("q")), c.Query("after")
	search := Search{Text: q, All: len(all)}
	rows := slices.Clone(all)
	slices.SortStableFunc(rows, func(a, b T) int { return of(a).before(of(b)) })
	if at := slices.IndexFunc(rows, func(row T) bool { return of(row).id == after }); after != "" && at >= 0 {
		rows = rows[at+1:]
	}
	if q != "" {
		rows = slices.DeleteFunc(rows, func(row T) bool { return !of(row).matches(q) })
	}
	if len(rows) > pageRows {
		rows = rows[:pageRows]
		next := url.Values{"after": {of(rows[pageRows-1]).id}}
		if q != "" {
			next.Set("q", q)
		}
		search.Next = console.Query(next)
	}
	return rows, search
}
