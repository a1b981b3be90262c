package catalog

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// file is one YAML file: a provider with its models.
type file struct {
	Provider string
	Title    string
	Base     string
	Hosts    []string
	Settings map[string]string
	Auth     Auth
	Defaults yaml.Node
	Models   []yaml.Node
}

// entry is a model as written in an entry file. The provider's defaults are decoded first; the model's own fields
// overwrite them.
type entry struct {
	Model       string
	Variant     string
	Aliases     []string
	Title       string
	Docs        string
	Protocol    Protocol
	Submit      Endpoint
	Accepted    Expr
	Handle      Expr
	Poll        Endpoint
	Done        Expr
	Failed      Expr
	Result      Endpoint
	Cancel      Endpoint
	Encoding    string
	Task        Task
	Idempotency string `yaml:"idempotency_header"`
	Limits      limits
	Message     Expr
	Errors      []ErrorRule
	Charges     Charges `yaml:"charges_on_policy_rejection"`
	Price       pricing
	Hosting     hosting
	Media       map[string]string
	Node        NodeRule
	ContentType string `yaml:"content_type"`
	Input       yaml.Node
	Output      yaml.Node
	Rules       []rule
	Example     yaml.Node
	Alternates  []alternate
}

type limits struct {
	Answer, Stall, Total duration
	FirstPoll            duration `yaml:"first_poll"`
	PollEvery            duration `yaml:"poll_every"`
	Bytes                size
}

type hosting struct {
	Assets   []string
	Lifetime duration
	Links    []string
}

type rule struct {
	Refuse   Expr
	Loc      []any
	Msg      string
	Type     string
	Unpriced bool
}

// duration is a time.Duration written as "90s".
type duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if err != nil || v <= 0 {
		return &problem{n, "takes a positive duration such as 500ms, 90s or 24h"}
	}
	*d = duration(v)
	return nil
}

// size is a number of bytes written as "64MiB".
type size int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *size) UnmarshalYAML(n *yaml.Node) error {
	for suffix, shift := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		digits, found := strings.CutSuffix(n.Value, suffix)
		v, err := strconv.ParseInt(digits, 10, 32)
		if found && err == nil && v > 0 {
			*s = size(v << shift)
			return nil
		}
	}
	return &problem{n, "takes a size such as 512KiB or 64MiB"}
}

// UnmarshalYAML implements yaml.Unmarshaler. It compiles the expression, so that errors contain its line.
func (e *Expr) UnmarshalYAML(n *yaml.Node) error {
	compiled, err := compileExpr(n.Value)
	if err != nil {
		return &problem{n, "the expression " + strconv.Quote(n.Value) + " does not compile: " + err.Error()}
	}
	*e = compiled
	return nil
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Template) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := parseTemplate(n.Value)
	if err != nil {
		return &problem{n, "the address " + strconv.Quote(n.Value) + " does not compile: " + err.Error()}
	}
	*t = parsed
	return nil
}
