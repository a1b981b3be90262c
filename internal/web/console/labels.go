package console

import (
	"html/template"
	"regexp"
	"strings"
)

var (
	tables     = regexp.MustCompile(`(?s)<table[^>]*>.*?</table>`)
	rows       = regexp.MustCompile(`(?s)<tr\b.*?</tr>`)
	headers    = regexp.MustCompile(`(?s)<th\b[^>]*>(.*?)</th>`)
	cells      = regexp.MustCompile(`<td\b`)
	unreadable = regexp.MustCompile(`<[^>]*>|\{\{.*\}\}`)
)

// labelled adds the header of its column to each cell of the tables in the text of a template. The style shows it where a
// row is a card, as on a phone. A row with more or fewer cells than columns has no labels, nor has a column whose header
// is hidden or is data of the page.
func labelled(text string) string {
	return tables.ReplaceAllStringFunc(text, func(table string) string {
		found := headers.FindAllStringSubmatch(table, -1)
		return rows.ReplaceAllStringFunc(table, func(row string) string {
			if len(cells.FindAllString(row, -1)) != len(found) {
				return row
			}
			column := -1
			return cells.ReplaceAllStringFunc(row, func(cell string) string {
				column++
				name := strings.TrimSpace(found[column][1])
				if name == "" || unreadable.MatchString(name) {
					return cell
				}
				return cell + ` data-label="` + template.HTMLEscapeString(name) + `"`
			})
		})
	})
}
