package console

import (
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/content"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
	"github.com/millrace-dev/millrace/projections/jobindex"
)

// GalleryPage shows the pictures and films of jobs.
type GalleryPage struct {
	console.Frame
	Text  string // search text
	Shown []Shown
	Next  template.URL // query of the next page, "" = this is the last
}

// Shown is a picture or a film.
type Shown struct {
	Job               job.PublicID
	Asset, Name, Kind string
	At                time.Time
	Query             template.URL // query of the job's page, with "?", or ""
	More              int          // outputs of the job that are not shown
}

// UsePage lists jobs that may use an output as an input.
type UsePage struct {
	console.Frame
	Of          job.PublicID
	Asset, Name string
	Input       string // name by which nodes load the output
	Jobs        []ListedJob
}

// ShownPage shows one output large.
type ShownPage struct {
	console.Frame
	Job           job.Job
	Asset, Name   string
	Node, Kind    string
	Size          int64
	Before, After string // previous and next asset of the job, or ""
	Values        []MainValue
	Omitted       int // values that are not shown
}

// MainValue is one of the main inputs of the graph, by which people distinguish pictures.
type MainValue struct{ Node, Input, Value string }

const (
	galleryJobs = 48 // jobs that a page of the gallery reads
	perJob      = 12 // outputs that the gallery shows of a job
	maxValues   = 60 // values on the page of an output: graphs have up to thousands of nodes
	usersShown  = 20 // jobs of the page "Use as input"
)

// gallery shows the pictures and films of jobs, newest first: GET /console/gallery. Its query parameters are those of
// the list of jobs.
func (s *Surface) gallery(c *gin.Context, v page.Visitor) (console.Page, error) {
	f, err := readFilter(c, v)
	if err != nil {
		return nil, err
	}
	f.Limit = galleryJobs
	found, next, err := s.search(c.Request.Context(), f)
	if err != nil {
		return nil, err
	}
	shown := &GalleryPage{Frame: console.Frame{Title: "Gallery", Scripts: []string{"gallery.js"}}, Text: f.Text}
	if next > 0 {
		shown.Next = f.query(v, "before", strconv.FormatInt(next, 10))
	}
	for _, j := range found {
		shown.Shown = append(shown.Shown, shownOf(v, j)...)
	}
	return shown, nil
}

// shownOf returns the first pictures and films of a job. The last one holds the number of those that are left out.
func shownOf(v page.Visitor, j job.Job) []Shown {
	var all []Shown
	more := 0
	for _, o := range jobio.Outputs(j) {
		if kind := jobio.OutputType(o.File); kind != "image" && kind != "video" {
			continue
		} else if len(all) == perJob {
			more++
		} else {
			all = append(all, Shown{
				Job: j.PublicID(), Asset: o.File.Asset, Name: o.File.Filename, Kind: kind, At: o.File.SavedAt, Query: jobQuery(v, j),
			})
		}
	}
	if more > 0 {
		all[len(all)-1].More = more
	}
	return all
}

// use lists the latest jobs that load a picture and can be run again with an output in its place: GET
// /console/jobs/{id}/outputs/{asset}/use.
func (s *Surface) use(c *gin.Context, v page.Visitor) (console.Page, error) {
	j, o, err := s.output(c, v)
	if err != nil {
		return nil, err
	}
	shown := &UsePage{
		Frame: console.Frame{Title: "Use as input"}, Of: j.PublicID(), Asset: o.File.Asset, Name: o.File.Filename,
		Input: inputName(o.File),
	}
	if jobio.OutputType(o.File) != "image" {
		return shown, nil
	}
	for _, class := range loaders {
		found, err := s.Index.Find(c.Request.Context(), jobindex.Query{Account: v.Account, Class: class, Limit: usersShown})
		if err != nil {
			return nil, err
		}
		lines, err := s.listed(c.Request.Context(), found.Jobs, v)
		if err != nil {
			return nil, err
		}
		shown.Jobs = append(shown.Jobs, lines...)
	}
	for i := range shown.Jobs {
		shown.Jobs[i].Query = "?" + v.Query(url.Values{"input": {shown.Input}})
	}
	return shown, nil
}

// loaders are the classes whose input "image" names a file.
var loaders = []string{"LoadImage", "LoadImageMask"}

// inputName returns the name by which nodes load an output.
func inputName(f job.OutputFile) string {
	name := f.Filename
	if f.Subfolder != "" {
		name = f.Subfolder + "/" + name
	}
	return name + " [" + f.Folder + "]"
}

// shown shows one output large, with the main values of its graph: GET /console/jobs/{id}/outputs/{asset}.
func (s *Surface) shown(c *gin.Context, v page.Visitor) (console.Page, error) {
	j, o, err := s.output(c, v)
	if err != nil {
		return nil, err
	}
	shown := &ShownPage{
		Frame: console.Frame{Title: o.File.Filename, Scripts: []string{"shown.js"}}, Job: j, Kind: jobio.OutputType(o.File),
		Size: o.File.Size, Node: o.Node,
	}
	shown.Asset, shown.Name = o.File.Asset, o.File.Filename
	all := jobio.Outputs(j)
	at := slices.IndexFunc(all, func(one jobio.Output) bool { return one.File.Asset == o.File.Asset })
	if at > 0 {
		shown.Before = all[at-1].File.Asset
	}
	if at+1 < len(all) {
		shown.After = all[at+1].File.Asset
	}
	g, err := s.graph(c, v, j)
	if fault.Is(err, fault.NotFound) {
		return shown, nil // the submission is no longer kept
	}
	if err != nil {
		return nil, err
	}
	for _, n := range formNodes(g) {
		for _, in := range n.Inputs {
			if !slices.Contains(mainInputs, in.Label) || in.Value == "" {
				continue
			}
			if len(shown.Values) == maxValues {
				shown.Omitted++
			} else {
				shown.Values = append(shown.Values, MainValue{Node: n.Title, Input: in.Label, Value: in.Value})
			}
		}
	}
	return shown, nil
}

// mainInputs are the inputs that the page of an output shows, in this order.
var mainInputs = []string{
	"text", "prompt", "negative_prompt", "seed", "noise_seed", "steps", "cfg", "sampler_name", "scheduler", "denoise",
	"ckpt_name", "unet_name", "lora_name", "vae_name", "model", "model_name", "width", "height",
}

// compareTwo redirects to the comparison of the two selected jobs: GET /console/gallery/compare?id=A&id=B.
func (s *Surface) compareTwo(c *gin.Context, v page.Visitor) error {
	var ids []job.PublicID
	for _, text := range c.QueryArray("id") {
		id, err := job.ParsePublicID(text)
		if err != nil {
			return noJob()
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) != 2 {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "Select pictures of two jobs: %d are selected.", len(ids))
	}
	s.page.Redirect(c, v, "/jobs/"+string(ids[0])+"?"+url.Values{"with": {string(ids[1])}}.Encode())
	return nil
}

// output returns a job of the visitor and the output file that the path names.
func (s *Surface) output(c *gin.Context, v page.Visitor) (job.Job, jobio.Output, error) {
	j, err := s.find(c, v)
	if err != nil {
		return j, jobio.Output{}, err
	}
	for _, o := range jobio.Outputs(j) {
		if o.File.Asset == c.Param("asset") {
			return j, o, nil
		}
	}
	return j, jobio.Output{}, fault.New(fault.NotFound, fault.CodeNotFound, "This job has no such file.")
}

// file redirects the browser to an output file of a job: GET /console/jobs/{id}/files/{asset}. Signed links expire,
// so pages link to this address.
func (s *Surface) file(c *gin.Context, v page.Visitor) error {
	j, o, err := s.output(c, v)
	if err != nil {
		return err
	}
	link := jobio.RenderOutput(s.Links, s.Edge.BaseURL(c.Request), j.PublicID(), o).URL
	e, err := s.pack(c.Request.Context(), j, o)
	if err != nil {
		return err
	}
	return content.Redirect(c, s.Files, content.File{Entry: e.Entry, Name: o.File.Filename}, link)
}

// shadowThumb is thumb for a job of a shadow, which is in no list of the account: GET /console/shadows/{id}/thumbs/{asset}.
func (s *Surface) shadowThumb(c *gin.Context, v page.Visitor) error {
	v.Account = account.Shadow(v.Account)
	return s.thumb(c, v)
}

// thumb answers with a thumbnail of an output: GET /console/jobs/{id}/thumbs/{asset}. An output that is not a
// picture, or too large for a thumbnail, is answered whole.
func (s *Surface) thumb(c *gin.Context, v page.Visitor) error {
	j, o, err := s.output(c, v)
	if err != nil {
		return err
	}
	e, err := s.pack(c.Request.Context(), j, o)
	if err != nil {
		return err
	}
	if done, err := s.thumbs.Serve(c, s.Files, e.Entry); done || err != nil {
		return err
	}
	return s.file(c, v)
}
