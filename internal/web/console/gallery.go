package console

import (
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// GalleryPage shows what jobs made.
type GalleryPage struct {
	Frame
	Text  string // that is looked for
	Shown []Shown
	Next  template.URL // query of the next page, "" = this is the last
}

// Template implements Page.
func (*GalleryPage) Template() string { return "gallery" }

// Shown is a picture or a film.
type Shown struct {
	Job               job.PublicID
	Asset, Name, Kind string
	At                time.Time
	Query             template.URL // of the job's page, with "?"; "" = none
	More              int          // outputs of the job that are not shown
}

// UsePage lists jobs that an output may become an input of.
type UsePage struct {
	Frame
	Of          job.PublicID
	Asset, Name string
	Input       string // what nodes that load files call the output
	Jobs        []ListedJob
}

// Template implements Page.
func (*UsePage) Template() string { return "use" }

// ShownPage shows one output large.
type ShownPage struct {
	Frame
	Job           job.Job
	Asset, Name   string
	Node, Kind    string
	Size          int64
	Before, After string // assets beside it in the job, "" = none
	Values        []MainValue
	Omitted       int // values that are not shown
}

// MainValue is an input of the graph by which people tell pictures apart.
type MainValue struct{ Node, Input, Value string }

// Template implements Page.
func (*ShownPage) Template() string { return "shown" }
