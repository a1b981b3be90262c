package assets

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/asset"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/projections/assets"
)

// tagCount is a label and the number of its files. This surface calls labels tags.
type tagCount struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

type tagsResponse struct {
	Tags    []tagCount `json:"tags"`
	Total   int64      `json:"total"`
	HasMore bool       `json:"has_more"`
}

// Bounds of lists of tags.
const (
	defaultTagLimit = 100
	maxTagLimit     = 1000
)

// listTags lists the tags of the account's files, each with the number of its files: GET /tags.
func (s *library) listTags(c *gin.Context) error {
	offset, err := request.Number(c, "offset", 0, 0, maxBrowseOffset)
	if err != nil {
		return err
	}
	limit, err := request.Number(c, "limit", defaultTagLimit, 1, maxTagLimit)
	if err != nil {
		return err
	}
	order := c.DefaultQuery("order", "count_desc")
	if order != "count_desc" && order != "name_asc" {
		return httperr.Invalidf("order must be count_desc or name_asc")
	}
	prefix := strings.TrimSpace(c.Query("prefix"))
	if err := checkText("prefix", prefix); err != nil {
		return err
	}
	q := assets.LabelQuery{Prefix: prefix, ByName: order == "name_asc", Offset: offset, Limit: limit}
	page, total, more, err := s.View.Labels(c.Request.Context(), edge.Caller(c).Account, q)
	if err != nil {
		return err
	}
	body := tagsResponse{Tags: make([]tagCount, len(page)), Total: total, HasMore: more}
	for i, l := range page {
		body.Tags[i] = tagCount{l.Label, l.Count}
	}
	return edge.OK(c, body, nil)
}

// countTags counts the tags of the files that a filter selects: GET /assets/tags/refine.
func (s *library) countTags(c *gin.Context) error {
	f, none, err := filterOf(c)
	if err != nil {
		return err
	}
	limit, err := request.Number(c, "limit", defaultTagLimit, 1, maxTagLimit)
	if err != nil {
		return err
	}
	counts := map[string]int64{}
	if !none {
		found, err := s.View.Refine(c.Request.Context(), edge.Caller(c).Account, f, limit)
		if err != nil {
			return err
		}
		for _, l := range found {
			counts[l.Label] = l.Count
		}
	}
	return edge.OK(c, gin.H{"tag_counts": counts}, nil)
}

// tagsRequest is the body of both tag routes.
type tagsRequest struct {
	Tags request.Texts `json:"tags"`
}

func (s *library) readTagsRequest(c *gin.Context) (asset.Asset, []string, error) {
	var req tagsRequest
	if err := request.JSON(c, &req); err != nil {
		return asset.Asset{}, nil, err
	}
	tags := trimmed(req.Tags)
	if len(tags) == 0 || len(tags) > asset.MaxTags {
		return asset.Asset{}, nil, httperr.Invalidf("tags must name 1 to %d tags", asset.MaxTags)
	}
	if _, err := cleanTags(tags); err != nil {
		return asset.Asset{}, nil, err
	}
	a, err := s.read(c)
	return a, tags, err
}

type tagsAdded struct {
	Added          []string `json:"added"`
	AlreadyPresent []string `json:"already_present"`
	TotalTags      []string `json:"total_tags"`
}

// addTags: POST /assets/{id}/tags.
func (s *library) addTags(c *gin.Context) error {
	a, tags, err := s.readTagsRequest(c)
	if err != nil {
		return err
	}
	own, err := ownTags(a, tags)
	if err != nil {
		return err
	}
	after, events, err := s.Assets.Change(c.Request.Context(), edge.Caller(c).Account, a.ID, asset.Change{Add: own}, edge.RequestID(c))
	if err != nil {
		return err
	}
	body := tagsAdded{Added: []string{}, TotalTags: after.Labels()}
	for _, f := range events {
		if added, ok := f.Data.(asset.TagsAddedV1); ok {
			body.Added = added.Tags
		}
	}
	body.AlreadyPresent = others(tags, body.Added)
	return edge.OK(c, body, nil)
}

type tagsRemoved struct {
	Removed    []string `json:"removed"`
	NotPresent []string `json:"not_present"`
	Protected  []string `json:"protected"` // tags that the folder of the file determines
	TotalTags  []string `json:"total_tags"`
}

// removeTags: DELETE /assets/{id}/tags.
func (s *library) removeTags(c *gin.Context) error {
	a, tags, err := s.readTagsRequest(c)
	if err != nil {
		return err
	}
	placed := a.Placed()
	body := tagsRemoved{Removed: []string{}, Protected: []string{}}
	var own []string
	for _, tag := range tags {
		if slices.Contains(placed, tag) {
			body.Protected = append(body.Protected, tag)
		} else {
			own = append(own, tag)
		}
	}
	after, events, err := s.Assets.Change(c.Request.Context(), edge.Caller(c).Account, a.ID, asset.Change{Remove: own}, edge.RequestID(c))
	if err != nil {
		return err
	}
	for _, f := range events {
		if removed, ok := f.Data.(asset.TagsRemovedV1); ok {
			body.Removed = removed.Tags
		}
	}
	body.NotPresent, body.TotalTags = others(own, body.Removed), after.Labels()
	return edge.OK(c, body, nil)
}

// replaceTags replaces the owner's tags. Tags that the folder of the file determines stay.
func (s *library) replaceTags(c *gin.Context, given []string, change *asset.Change) error {
	a, err := s.read(c)
	if err != nil {
		return err
	}
	tags, err := ownTags(a, given)
	if err != nil {
		return err
	}
	if a.Place == nil { // a tag names the folder of the file
		for _, tag := range a.Tags {
			if asset.IsPlaceLabel(tag) {
				tags = append(tags, tag)
			}
		}
	}
	if tags, err = cleanTags(tags); err != nil {
		return err
	}
	change.Tags = &tags
	return nil
}

// ownTags returns the tags that the owner may set. A tag that names another folder than the file's is refused.
func ownTags(a asset.Asset, tags []string) ([]string, error) {
	placed := a.Placed()
	var own []string
	for _, tag := range tags {
		tag = strings.TrimSpace(tag)
		switch {
		case tag == "", slices.Contains(placed, tag):
		case asset.IsPlaceLabel(tag):
			return nil, fault.New(fault.Invalid, fault.CodeProtectedTag, "the tag %s names another folder: this file belongs to %s", tag, placed[0])
		default:
			own = append(own, tag)
		}
	}
	return cleanTags(own)
}
