package models

import (
	"bytes"
	"context"
	"encoding/json"
	"html/template"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/internal/domain/call"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate/inspect"
	"github.com/millrace-dev/millrace/internal/partner/jsondoc"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/calls"
)

// CallsPage lists calls of models.
type CallsPage struct {
	console.Frame
	Calls []ListedCall
	Names map[string]string // names of accounts by their ids
	Next  template.URL      // query of the next page, "" = this is the last
}

// ListedCall is one row of the list.
type ListedCall struct {
	call.Call
	Took  inspect.Millis
	Query template.URL // query of the call's page, with "?", or ""
}

// CallPage contains all data about one call of a model.
type CallPage struct {
	console.Frame
	*Outcome
}

// Result returns what the template of results shows.
func (p *CallPage) Result() *Outcome { return p.Outcome }

// Outcome is a call with the parts of its answer that a page can show.
type Outcome struct {
	Call     call.Call
	Took     inspect.Millis
	Ahead    int64 // waiting calls before this one
	Waits    bool
	Cancels  bool // the call can be canceled
	Failure  string
	Answered bool
	Media    []Medium
	Text     string // text of the answer, if it is a text
	Cut      bool   // Text is only the beginning
	Size     int64  // of the answer
	Gone     bool   // the answer is no longer stored
}

// Medium is a picture, a film or a sound in an answer.
type Medium struct {
	Kind    string       // image, video or audio
	Address template.URL // "" = the answer itself
}

const (
	callsShown   = 50
	refreshEvery = time.Second // how often the open page of an unfinished call is rebuilt
	maxShown     = 64 << 10    // bytes of an answer on a page
)

// calls lists the calls of the account, or of all accounts: GET /console/calls.
func (r *Section) calls(c *gin.Context, v page.Visitor) (console.Page, error) {
	before, err := page.Before(c)
	if err != nil {
		return nil, err
	}
	found, err := r.Listing.List(c.Request.Context(), calls.Query{Account: v.Account, Limit: callsShown, Before: before})
	if err != nil {
		return nil, err
	}
	shown := &CallsPage{Frame: console.Frame{Title: "Model calls", Live: true, Every: 2 * time.Second}}
	for _, one := range found.Calls {
		line := ListedCall{Call: one, Took: duration(one)}
		if v.All() || v.Named() != "" {
			line.Query = "?" + console.Query(url.Values{"account": {one.Account}})
		}
		shown.Calls = append(shown.Calls, line)
	}
	if found.Next > 0 {
		shown.Next = v.Query(url.Values{"before": {strconv.FormatInt(found.Next, 10)}})
	}
	if v.All() {
		shown.Names, err = r.page.Names(c.Request.Context())
	}
	return shown, err
}

func duration(one call.Call) inspect.Millis {
	if one.EndedAt == nil {
		return 0
	}
	return inspect.Millis(one.EndedAt.Sub(one.AcceptedAt))
}

func noCall() error {
	return fault.New(fault.NotFound, fault.CodeNotFound, "This call does not exist.")
}

// findCall returns the call of the visitor's account that the path names.
func (r *Section) findCall(c *gin.Context, v page.Visitor) (call.Call, error) {
	id, err := call.ParseID(c.Param("id"))
	if err != nil {
		return call.Call{}, noCall()
	}
	found, err := r.Record.Load(c.Request.Context(), v.Account, id)
	if fault.Is(err, fault.NotFound) {
		err = noCall()
	}
	return found, err
}

// expired reports whether the inputs and the answer of a call were deleted.
func expired(one call.Call) bool {
	return one.EndedAt != nil && time.Since(*one.EndedAt) >= call.Retention
}

// call shows a call and its answer, if it has one: GET /console/calls/{id}.
func (r *Section) call(c *gin.Context, _ page.Visitor, one call.Call) (console.Page, error) {
	o, err := r.outcome(c.Request.Context(), one)
	if err != nil {
		return nil, err
	}
	shown := &CallPage{Frame: console.Frame{Title: "Call of " + one.Model}, Outcome: o}
	if shown.Live = one.EndedAt == nil; shown.Live {
		shown.Every = refreshEvery
	}
	return shown, nil
}

func (r *Section) outcome(ctx context.Context, one call.Call) (o *Outcome, err error) {
	o = &Outcome{
		Call: one, Took: duration(one), Gone: expired(one), Waits: one.State == call.Waiting,
		Cancels: one.EndedAt == nil && one.Mode == call.Queued && !one.Canceling,
	}
	if o.Waits {
		if o.Ahead, err = r.Record.Ahead(ctx, one.Account, one.ID); err != nil {
			return nil, err
		}
	}
	if one.Failure != nil {
		o.Failure = describeFailure(*one.Failure)
	}
	// the files of an answer are copied before the call succeeds
	if o.Answered = one.State == call.Succeeded && one.Answer != nil; !o.Answered {
		return o, nil
	}
	o.Size = one.Answer.Size
	if !o.Gone {
		err = r.addAnswer(ctx, o, one)
	}
	return o, err
}

func describeFailure(f call.Failure) string {
	text := f.Type + ": " + refusalText(f.Detail)
	if f.UpstreamDetail != "" {
		text += " The provider says: " + f.UpstreamDetail
	}
	return text
}

// addAnswer fills in the parts of an answer that a page can show: text, pictures, films and sounds.
func (r *Section) addAnswer(ctx context.Context, shown *Outcome, one call.Call) error {
	media, _, err := mime.ParseMediaType(one.Answer.ContentType)
	if err == nil && mediumOf(media) != "" {
		shown.Media = []Medium{{Kind: mediumOf(media)}}
		return nil
	}
	body, cut, err := r.read(ctx, *one.Answer, maxShown)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) && !cut {
		return nil // a page cannot show other types
	}
	var pretty bytes.Buffer
	if !cut && json.Indent(&pretty, body, "", "  ") == nil {
		shown.Media = r.mediaIn(one.Model, body)
		body = pretty.Bytes()
	}
	shown.Text, shown.Cut = strings.ToValidUTF8(string(body), "�"), cut
	return nil
}

// read returns the beginning of a stored body, and whether the body is longer.
func (r *Section) read(ctx context.Context, b call.Body, limit int64) ([]byte, bool, error) {
	f, err := r.Bodies.Open(ctx, b.Ref)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, limit))
	return body, b.Size > int64(len(body)), err
}

// mediumOf returns the kind of HTML element that shows a media type; "" = none.
func mediumOf(media string) string {
	switch kind, _, _ := strings.Cut(media, "/"); kind {
	case "image", "video", "audio":
		if media != "image/svg+xml" {
			return kind
		}
	}
	return ""
}

// mediaIn returns the files that an answer names and that this service has copied.
func (r *Section) mediaIn(model string, answer []byte) []Medium {
	m, ok := r.Models.Snapshot().Find(model)
	if !ok {
		return nil
	}
	found, err := jsondoc.Strings(answer, m.Hosting.Assets)
	if err != nil {
		return nil // an answer that is not JSON names no files
	}
	var all []Medium
	for _, one := range found {
		u, err := url.Parse(one.Value)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		kind := mediumOf(mime.TypeByExtension(path.Ext(u.Path)))
		if kind == "" {
			kind = "image" // most files are pictures
		}
		all = append(all, Medium{Kind: kind, Address: template.URL(u.String())})
	}
	return all
}

// downloadAnswer sends the answer of a call unchanged: GET /console/calls/{id}/answer. Its headers keep a browser from
// running the bytes as a page of this origin.
func (r *Section) downloadAnswer(c *gin.Context, v page.Visitor) error {
	one, err := r.findCall(c, v)
	if err != nil {
		return err
	}
	if one.State != call.Succeeded || one.Answer == nil || expired(one) {
		return fault.New(fault.NotFound, fault.CodeNotFound, "The answer of this call is not stored.")
	}
	f, err := r.Bodies.Open(c.Request.Context(), one.Answer.Ref)
	if err != nil {
		return err
	}
	defer f.Close()
	h := c.Writer.Header()
	media, _, err := mime.ParseMediaType(one.Answer.ContentType)
	disposition := "inline"
	if err != nil || mediumOf(media) == "" {
		media, disposition = "application/octet-stream", "attachment"
	}
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", content.Disposition(disposition, "answer-"+string(one.ID)[:8]+extension(one.Answer.ContentType)))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, f)
	return nil
}

// extension returns the file extension of a media type.
func extension(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	known := map[string]string{
		"application/json": ".json", "image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "audio/wav": ".wav",
		"audio/x-wav": ".wav", "audio/mpeg": ".mp3", "video/mp4": ".mp4", "text/plain": ".txt",
	}
	return known[media]
}

// inputs returns the inputs of a call, or nil if they are no longer stored, are a form with files, or are too large.
func (r *Section) inputs(ctx context.Context, one call.Call) (json.RawMessage, error) {
	if expired(one) {
		return nil, nil
	}
	raw, cut, err := r.read(ctx, one.Request, maxForm)
	if err != nil || cut || !jsondoc.IsObject(raw) {
		return nil, err
	}
	return raw, nil
}

// cancel requests that a call stop: POST /console/calls/{id}/cancel.
func (r *Section) cancel(c *gin.Context, v page.Visitor, one call.Call) (string, error) {
	if _, err := r.Calls.Cancel(c.Request.Context(), call.Handle{Account: v.Account, Call: one.ID}, edge.RequestID(c)); err != nil {
		return "", public(err)
	}
	return "/calls/" + string(one.ID), nil
}
