package assets

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/postgres"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// Filter selects assets for the hosted surface: by labels (asset.Labels), title, content and their owner's metadata.
// The zero Filter selects all assets.
type Filter struct {
	All      []string // each of these labels
	Any      []string // at least one of these
	None     []string // none of these
	Name     string   // contained in asset.Title, ignoring case
	Hash     blob.Ref // zero = any
	Metadata []Term   // all of these
}

// Term requires that metadata have, under a key, one of some scalars, or a list with one of them.
type Term struct {
	Key   string
	AnyOf []any // string, bool, json.Number, or nil for an absent or null key
}

// onlyLabels reports whether a filter consists of labels.
func (f Filter) onlyLabels() bool { return f.Name == "" && f.Hash.IsZero() && len(f.Metadata) == 0 }

// matches reports whether f selects an asset, with the same result as sql.
func (f Filter) matches(a asset.Asset) bool {
	labels := a.Labels()
	has := func(label string) bool { return slices.Contains(labels, label) }
	switch {
	case !f.Hash.IsZero() && f.Hash != a.Hash, !strings.Contains(label(a), strings.ToLower(f.Name)):
		return false
	case slices.ContainsFunc(f.All, func(l string) bool { return !has(l) }), slices.ContainsFunc(f.None, has):
		return false
	case len(f.Any) > 0 && !slices.ContainsFunc(f.Any, has):
		return false
	}
	return f.metadataMatches(a.Metadata)
}

func (f Filter) metadataMatches(raw json.RawMessage) bool {
	if len(f.Metadata) == 0 {
		return true
	}
	stored := map[string]any{}
	if raw != nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&stored); err != nil {
			return false // stored metadata was checked before it was recorded
		}
	}
	return !slices.ContainsFunc(f.Metadata, func(t Term) bool {
		return !slices.ContainsFunc(t.AnyOf, func(want any) bool { return holds(stored[t.Key], want) })
	})
}

func holds(stored, want any) bool {
	if list, ok := stored.([]any); ok && want != nil {
		return slices.ContainsFunc(list, func(one any) bool { return same(one, want) })
	}
	return same(stored, want)
}

// same compares scalars as jsonb does: numbers by their value.
func same(stored, want any) bool {
	a, isNumber := stored.(json.Number)
	b, alike := want.(json.Number)
	if isNumber && alike {
		x, xOK := new(big.Rat).SetString(a.String())
		y, yOK := new(big.Rat).SetString(b.String())
		return xOK && yOK && x.Cmp(y) == 0
	}
	switch stored.(type) {
	case nil, string, bool:
		return stored == want
	}
	return false
}

// sql returns the condition on rows v of the view. It contains only the requested conditions, so that each form of
// query keeps the plan of its index. but is a label that the caller checks.
func (f Filter) sql(b *postgres.Binder, now time.Time, except []string, but string) (string, error) {
	sql := ` v.account = $1 and v.state in ('live', 'rejected') and (v.expires_at is null or v.expires_at > ` + b.Bind(now) + `)`
	if len(except) > 0 {
		sql += ` and v.id <> all(` + b.Bind(except) + `)`
	}
	if !f.Hash.IsZero() {
		sql += ` and v.hash = ` + b.Bind(f.Hash[:])
	}
	if f.Name != "" {
		sql += ` and strpos(v.label, ` + b.Bind(strings.ToLower(f.Name)) + `) > 0`
	}
	if rest := slices.DeleteFunc(slices.Clone(f.All), func(l string) bool { return l == but }); len(rest) > 0 {
		sql += ` and v.labels @> ` + b.Bind(rest) + `::text[]`
	}
	if len(f.None) > 0 {
		sql += ` and not v.labels && ` + b.Bind(f.None) + `::text[]`
	}
	for _, t := range f.Metadata {
		term, err := t.sql(b)
		if err != nil {
			return "", err
		}
		sql += term
	}
	return sql, nil
}

// sql returns the condition of a term. The presence of metadata is a condition of its own, for the index of rows with
// metadata.
func (t Term) sql(b *postgres.Binder) (string, error) {
	var ways []string
	absent := false
	for _, want := range t.AnyOf {
		if want == nil {
			absent = true
			ways = append(ways, `coalesce(v.metadata -> `+b.Bind(t.Key)+`::text, 'null') = 'null'`)
			continue
		}
		for _, shape := range []any{want, []any{want}} {
			raw, err := json.Marshal(map[string]any{t.Key: shape})
			if err != nil {
				return "", err
			}
			ways = append(ways, `v.metadata @> `+b.Bind(string(raw))+`::jsonb`)
		}
	}
	sql := ` and (` + strings.Join(ways, ` or `) + `)`
	if !absent {
		sql = ` and v.metadata is not null` + sql
	}
	return sql, nil
}
