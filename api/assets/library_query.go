package assets

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
	"github.com/millrace-dev/millrace/projections/assets"
)

// Bounds of listings.
const (
	maxBrowseOffset  = 10_000_000
	maxFilterTags    = 100
	maxMetadataTerms = 16
	maxTermValues    = 64
	maxFilterText    = 8 << 10
)

type libraryList struct {
	Assets     []libraryAsset `json:"assets"`
	Total      int64          `json:"total"`
	HasMore    bool           `json:"has_more"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// list lists the caller's files: GET /assets. A page is selected by an offset, or by the cursor of the page before.
func (s *library) list(c *gin.Context) error {
	q, none, err := browseOf(c)
	if err != nil {
		return err
	}
	body := libraryList{Assets: []libraryAsset{}}
	if none {
		return edge.OK(c, body, nil)
	}
	page, err := s.View.Browse(c.Request.Context(), edge.Caller(c).Account, q)
	if err != nil {
		return err
	}
	body.Total, body.HasMore = page.Total, page.Next != nil
	if page.Next != nil {
		body.NextCursor = cursorOf(q, *page.Next)
	}
	if body.Assets, err = s.bodies(c, page.Assets); err != nil {
		return err
	}
	return edge.OK(c, body, nil)
}

// browseOf parses a listing from the query. none is true when nothing can match.
func browseOf(c *gin.Context) (q assets.Browse, none bool, err error) {
	if q.Filter, none, err = filterOf(c); err != nil {
		return q, none, err
	}
	if q.Limit, err = request.Number(c, "limit", assets.DefaultLimit, 1, assets.MaxLimit); err != nil {
		return q, none, err
	}
	if q.Offset, err = request.Number(c, "offset", 0, 0, maxBrowseOffset); err != nil {
		return q, none, err
	}
	if q.Sort, err = parseSort(c.DefaultQuery("sort", string(assets.ByCreation))); err != nil {
		return q, none, err
	}
	switch strings.ToLower(c.DefaultQuery("order", "desc")) {
	case "asc":
		q.Ascending = true
	case "desc":
	default:
		return q, none, httperr.Invalidf("order must be asc or desc")
	}
	if after := c.Query("after"); after != "" {
		q.After, err = parseCursor(q, after)
	}
	return q, none, err
}

// parseSort parses an order. Reads of a file are not recorded, so last_access_time sorts by the last change.
func parseSort(text string) (assets.Sort, error) {
	switch sort := assets.Sort(strings.ToLower(text)); sort {
	case assets.ByCreation, assets.ByChange, assets.ByName, assets.BySize:
		return sort, nil
	case "last_access_time":
		return assets.ByChange, nil
	}
	return "", httperr.Invalidf("sort must be name, created_at, updated_at, size or last_access_time")
}

// filterOf parses a filter in both spellings that clients use. A malformed hash selects nothing, because editors
// search for any value that a graph contains.
func filterOf(c *gin.Context) (f assets.Filter, none bool, err error) {
	for _, list := range []struct {
		into  *[]string
		names []string
	}{{&f.All, []string{"include_tags", "tags_all"}}, {&f.Any, []string{"tags_any"}}, {&f.None, []string{"exclude_tags", "tags_none"}}} {
		for _, name := range list.names {
			*list.into = append(*list.into, commaList(c.QueryArray(name))...)
		}
		if len(*list.into) > maxFilterTags {
			return f, false, httperr.Invalidf("at most %d tags select files", maxFilterTags)
		}
		for _, tag := range *list.into {
			if err := checkText("a tag", tag); err != nil || !utf8.ValidString(tag) {
				return f, false, httperr.Invalidf("a tag must have 1 to %d bytes and no control characters", maxTagLength)
			}
		}
	}
	f.Name = c.Query("name_contains")
	if err := checkText("name_contains", f.Name); err != nil || !utf8.ValidString(f.Name) {
		return f, false, httperr.Invalidf("name_contains must have at most %d bytes and no NUL characters", maxTagLength)
	}
	if hash := c.Query("hash"); hash != "" {
		ref, err := blob.ParseRef(strings.ToLower(hash))
		if f.Hash = ref; err != nil || ref.IsZero() {
			none = true
		}
	}
	f.Metadata, err = termsOf(c.Query("metadata_filter"))
	return f, none, err
}

func commaList(values []string) []string {
	var tags []string
	for _, v := range values {
		tags = append(tags, trimmed(strings.Split(v, ","))...)
	}
	return tags
}

// trimmed returns the texts that are not blank, without the space around them.
func trimmed(texts []string) []string {
	var left []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			left = append(left, t)
		}
	}
	return left
}

// others returns the texts that are not in but, each once.
func others(texts, but []string) []string {
	left := []string{}
	for _, t := range texts {
		if !slices.Contains(but, t) && !slices.Contains(left, t) {
			left = append(left, t)
		}
	}
	return left
}

// termsOf parses a metadata filter: a JSON object whose values are scalars, or lists of scalars of which one must
// match.
func termsOf(text string) ([]assets.Term, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	bad := httperr.Invalidf("metadata_filter must be a JSON object of at most %d keys with scalars or lists of them", maxMetadataTerms)
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var object map[string]any
	if len(text) > maxFilterText || d.Decode(&object) != nil || object == nil || d.More() || len(object) > maxMetadataTerms {
		return nil, bad
	}
	var terms []assets.Term
	for key, value := range object {
		list, several := value.([]any)
		if !several {
			list = []any{value}
		}
		if len(list) == 0 || len(list) > maxTermValues || strings.ContainsRune(key, 0) || slices.ContainsFunc(list, noScalar) {
			return nil, bad
		}
		terms = append(terms, assets.Term{Key: key, AnyOf: list})
	}
	slices.SortFunc(terms, func(a, b assets.Term) int { return strings.Compare(a.Key, b.Key) })
	return terms, nil
}

// noScalar reports whether a value cannot be compared with metadata.
func noScalar(v any) bool {
	switch v := v.(type) {
	case nil, bool:
		return false
	case string:
		return strings.ContainsRune(v, 0)
	case json.Number:
		return !asset.IsDouble(v)
	}
	return true
}

// libraryCursor is the content of a cursor: the end of a page and the order of the listing.
type libraryCursor struct {
	Sort      assets.Sort `json:"s"`
	Ascending bool        `json:"a,omitempty"`
	Name      string      `json:"t,omitempty"`
	Number    int64       `json:"n,omitempty"`
	Created   int64       `json:"c"`
}

// libraryListing makes the cursors of the library's listing.
var libraryListing = request.Listing[libraryCursor]{Valid: func(c libraryCursor) bool {
	return c.Created >= 1 && !strings.ContainsRune(c.Name, 0)
}}

func cursorOf(q assets.Browse, end assets.Place) string {
	return libraryListing.Format(libraryCursor{q.Sort, q.Ascending, end.Name, end.Number, end.Created})
}

// parseCursor parses a cursor, which must have the order that q asks for.
func parseCursor(q assets.Browse, text string) (*assets.Place, error) {
	end, err := libraryListing.Parse(text)
	if err == nil && (end.Sort != q.Sort || end.Ascending != q.Ascending) {
		err = fault.New(fault.Invalid, fault.CodeInvalidCursor, "the cursor belongs to a listing in another order")
	}
	if err != nil {
		return nil, err
	}
	return &assets.Place{Name: end.Name, Number: end.Number, Created: end.Created}, nil
}
