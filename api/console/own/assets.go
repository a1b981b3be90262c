package own

import (
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/domain/files"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/assets"
)

// AssetsPage lists assets of an account.
type AssetsPage struct {
	console.Frame
	Text, Tag string         // search text and tag
	Tags      []console.Chip // the most frequent tags
	Assets    []ListedAsset
	Total     int64
	AtLeast   bool // Total is a lower bound
	Kept      account.Storage
	Next      template.URL // query of the next page, "" = this is the last
}

// ListedAsset is one asset of a list.
type ListedAsset struct {
	ID, Name, Type string
	Size           int64
	Labels         []string
	At             time.Time
	Picture        bool // it has a thumbnail
	Rejected       bool // rejected by a scan
}

// AssetPage shows one asset.
type AssetPage struct {
	console.Frame
	Of        asset.Asset
	Line      ListedAsset
	Kind      string // image, video or audio; "" = not displayed
	Job       string // id of the job that made it, or ""
	Input     string // name by which nodes load it, or ""
	CanDelete bool
}

const (
	assetsShown = 48
	tagsShown   = 24
	maxText     = 512 // bytes of a search term
)

// assets lists the account's assets, newest first: GET /console/assets?q=&tag=.
func (r *Section) assets(c *gin.Context, v page.Visitor) (console.Page, error) {
	text, tag := strings.TrimSpace(c.Query("q")), strings.TrimSpace(c.Query("tag"))
	for _, given := range []string{text, tag} {
		if len(given) > maxText || !utf8.ValidString(given) || strings.ContainsRune(given, 0) {
			return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "A name or a tag may have at most %d bytes.", maxText)
		}
	}
	q := assets.Browse{Filter: assets.Filter{Name: text}, Sort: assets.ByCreation, Limit: assetsShown}
	if tag != "" {
		q.All = []string{tag}
	}
	before, err := page.Before(c)
	if err != nil {
		return nil, err
	}
	if before > 0 {
		q.After = &assets.Place{Created: before}
	}
	ctx := c.Request.Context()
	found, err := r.Assets.Browse(ctx, v.Account, q)
	if err != nil {
		return nil, err
	}
	shown := &AssetsPage{
		Frame: console.Frame{Title: "Files"}, Text: text, Tag: tag, Total: found.Total,
		AtLeast: found.Total >= assets.MaxTotal && text != "",
	}
	for _, a := range found.Assets {
		shown.Assets = append(shown.Assets, listed(a))
	}
	query := func(tag, before string) template.URL {
		values := url.Values{"q": {text}, "tag": {tag}, "before": {before}}
		maps.DeleteFunc(values, func(_ string, given []string) bool { return given[0] == "" })
		return v.Query(values)
	}
	if found.Next != nil {
		shown.Next = query(tag, strconv.FormatInt(found.Next.Created, 10))
	}
	labels, _, _, err := r.Assets.Labels(ctx, v.Account, assets.LabelQuery{Limit: tagsShown})
	if err != nil {
		return nil, err
	}
	for _, l := range labels {
		shown.Tags = append(shown.Tags, console.Chip{Text: l.Label, Query: query(l.Label, ""), Current: l.Label == tag})
	}
	shown.Kept, err = r.page.Edge.Storage.Usage(ctx, v.Account)
	return shown, err
}

func listed(a asset.Asset) ListedAsset {
	return ListedAsset{
		ID: string(a.PublicID()), Name: a.Title(), Type: a.ContentType, Size: a.Size, Labels: a.Labels(), At: a.CreatedAt,
		Picture: picture(a), Rejected: a.State == asset.Rejected,
	}
}

// picture reports whether a page can show a thumbnail of an asset.
func picture(a asset.Asset) bool {
	if a.State != asset.Live {
		return false
	}
	if a.Scan != nil && !a.Scan.Thumbnail.IsZero() {
		return true
	}
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}, a.ContentType)
}

func noAsset() error { return fault.New(fault.NotFound, fault.CodeNotFound, "There is no such asset.") }

// find returns the asset of the visitor's account that the path names.
func (r *Section) find(c *gin.Context, v page.Visitor) (asset.Asset, error) {
	id, err := asset.ParsePublicID(c.Param("id"))
	if err != nil {
		return asset.Asset{}, noAsset()
	}
	a, err := r.Assets.ByPublicID(c.Request.Context(), v.Account, id)
	if fault.Is(err, fault.NotFound) {
		err = noAsset()
	}
	return a, err
}

// asset shows an asset: GET /console/assets/{id}.
func (r *Section) asset(c *gin.Context, v page.Visitor, a asset.Asset) (console.Page, error) {
	shown := &AssetPage{Frame: console.Frame{Title: a.Title()}, Of: a, Line: listed(a), CanDelete: changes(v)}
	switch kind, _, _ := strings.Cut(a.ContentType, "/"); {
	case a.State != asset.Live:
	case kind == "image" && a.ContentType != "image/svg+xml", kind == "video", kind == "audio":
		shown.Kind = kind
	}
	if a.Producer != nil {
		shown.Job = a.Producer.Job
		if a.Producer.Chosen != "" {
			shown.Job = a.Producer.Chosen
		}
	}
	shown.Input = inputName(a)
	return shown, nil
}

// inputName returns the name by which nodes load an asset, or "" if no node can load it.
func inputName(a asset.Asset) string {
	if a.Place == nil {
		return ""
	}
	name := files.Join(*a.Place)
	if a.Place.Folder != "input" {
		name += " [" + a.Place.Folder + "]"
	}
	return name
}

func entry(a asset.Asset) files.Entry {
	return files.Entry{Asset: a.ID, Account: a.Account, Hash: a.Hash, Size: a.Size, ContentType: a.ContentType}
}

// file sends the bytes of an asset: GET /console/assets/{id}/file?save=. Content that a scan rejected is not sent.
func (r *Section) file(c *gin.Context, v page.Visitor) error {
	a, err := r.find(c, v)
	if err != nil {
		return err
	}
	if a.State == asset.Rejected {
		return fault.New(fault.NotFound, fault.CodeOutputUnavailable, "A scan rejected the content of this file.")
	}
	return content.Serve(c, r.Files, content.File{Entry: entry(a), Name: a.Title(), Save: c.Query("save") != ""})
}

// thumb sends a thumbnail of an asset: GET /console/assets/{id}/thumb. A picture that is too large for a thumbnail is
// sent whole.
func (r *Section) thumb(c *gin.Context, v page.Visitor) error {
	a, err := r.find(c, v)
	if err != nil {
		return err
	}
	if !picture(a) {
		return fault.New(fault.NotFound, fault.CodeNotFound, "This asset has no picture.")
	}
	of := entry(a)
	if a.Scan != nil && !a.Scan.Thumbnail.IsZero() {
		of.Hash = a.Scan.Thumbnail
	}
	if done, err := r.thumbs.Serve(c, r.Files, of); done || err != nil {
		return err
	}
	return content.Serve(c, r.Files, content.File{Entry: entry(a), Name: a.Title()})
}

// deleteAsset deletes an asset: POST /console/assets/{id}/delete.
func (r *Section) deleteAsset(c *gin.Context, v page.Visitor) (string, error) {
	if err := owner(v); err != nil {
		return "", err
	}
	a, err := r.find(c, v)
	if err != nil {
		return "", err
	}
	if c.PostForm("sure") != "yes" {
		return "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "Confirm the deletion: a deleted file cannot be restored.")
	}
	return "/assets", r.Deleter.Delete(c.Request.Context(), v.Account, a.ID, edge.RequestID(c))
}
