package console

import (
	"html/template"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/job"
)

// GalleryPage shows the pictures and films of jobs.
type GalleryPage struct {
	Frame
	Text  string // search text
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
	Query             template.URL // query of the job's page, with "?", or ""
	More              int          // outputs of the job that are not shown
}

// UsePage lists jobs that may use an output as an input.
type UsePage struct {
	Frame
	Of          job.PublicID
	Asset, Name string
	Input       string // name by which nodes load the output
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
	Before, After string // previous and next asset of the job, or ""
	Values        []MainValue
	Omitted       int // values that are not shown
}

// MainValue is one of the main inputs of the graph, by which people distinguish pictures.
type MainValue struct{ Node, Input, Value string }

// Template implements Page.
func (*ShownPage) Template() string { return "shown" }
