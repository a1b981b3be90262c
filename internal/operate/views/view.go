package views

// View is the progress of a view, with its halted streams.
type View struct {
	Name     string   `json:"name"`
	Position int64    `json:"position"`
	Behind   int64    `json:"behind"`
	Halted   []Halted `json:"halted"`
}

// Halted is a stream that a view could not fold.
type Halted struct {
	Stream   string `json:"stream"`
	Position int64  `json:"position"`
	Error    string `json:"error"`
}
