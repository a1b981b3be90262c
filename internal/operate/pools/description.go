package pools

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/operate/action"
)

// description is the description of a pool: a YAML file on the command line, an object with the same keys in a request.
type description struct {
	Pool          string `json:"pool" yaml:"pool"`
	pool.Provider `yaml:",inline"`

	Min     int      `json:"min" yaml:"min"`
	Max     int      `json:"max" yaml:"max"`
	Idle    duration `json:"idle" yaml:"idle"`
	Wait    duration `json:"wait" yaml:"wait"`
	Join    duration `json:"join" yaml:"join"`
	Budget  perDay   `json:"budget" yaml:"budget"`
	Price   perHour  `json:"price" yaml:"price"`
	Labels  []string `json:"labels" yaml:"labels"`
	Hosts   []string `json:"hosts" yaml:"hosts"`
	Recycle struct {
		Memory  share `json:"memory" yaml:"memory"`
		Prompts int   `json:"prompts" yaml:"prompts"`
	} `json:"recycle" yaml:"recycle"`
	Definitions definitions `json:"definitions" yaml:"definitions"`
}

// spec returns the description in the form of the domain.
func (d *description) spec() pool.Spec {
	return pool.Spec{
		Terms: pool.Terms{
			Min: d.Min, Max: d.Max, Idle: time.Duration(d.Idle), Wait: time.Duration(d.Wait), Join: time.Duration(d.Join),
			Budget: int64(d.Budget), Price: int64(d.Price), Labels: d.Labels, Hosts: d.Hosts, Prompts: d.Recycle.Prompts,
			Memory: int(d.Recycle.Memory),
		},
		Provider: d.Provider,
	}
}

// maxFile bounds the files of a description, in bytes.
const maxFile = 64 << 20

// unknownKey is the error of package yaml for a key that a description does not have.
var unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)

// UnmarshalText reads the file that a command names.
func (d *description) UnmarshalText(name []byte) error { return action.Explain(d.read(string(name))) }

func (d *description) read(name string) error {
	text, err := readFile(name)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(d); err != nil {
		return errors.New(unknownKey.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "a pool has no key $1"))
	}
	if path := d.Definitions.file; path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		d.Definitions.body, err = readFile(path)
	}
	return err
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = errors.New("the file " + name + " is too large")
	}
	return text, err
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *description) UnmarshalJSON(raw []byte) error {
	type plain description
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return action.Explain(decoder.Decode((*plain)(d)))
}

// Takes describes the values.
func (*description) Takes() string {
	return "a YAML file with pool, max and the keys of its kind (start, stop and list, or deployment), and if needed min, idle, wait, join, " +
		"budget, price, labels, hosts, recycle and definitions"
}

// Schema describes the values in the OpenAPI document.
func (*description) Schema() map[string]any { return map[string]any{"type": "object"} }

// duration is a time such as 3m.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	if err != nil {
		return errors.New(strconv.Quote(string(text)) + " is no time such as 20s or 3m")
	}
	return nil
}

// perDay and perHour are amounts such as 40 USD/day, in USD millionths.
type (
	perDay  int64
	perHour int64
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *perDay) UnmarshalText(text []byte) (err error) {
	*m, err = money[perDay](string(text), "USD/day")
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *perHour) UnmarshalText(text []byte) (err error) {
	*m, err = money[perHour](string(text), "USD/hour")
	return err
}

func money[M ~int64](text, unit string) (M, error) {
	number, ok := strings.CutSuffix(text, unit)
	micros, err := amount.ParseDollars(strings.TrimSpace(number))
	if !ok || err != nil {
		return 0, errors.New(strconv.Quote(text) + " is no amount such as 0.69 " + unit)
	}
	return M(micros), nil
}

// share is a percentage such as 90%.
type share int

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *share) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	n, err := strconv.Atoi(number)
	if *s = share(n); !ok || err != nil {
		return errors.New(strconv.Quote(string(text)) + " is no share such as 90%")
	}
	return nil
}

// definitions are the definitions of the classes of machines: the name of a file in a file, and the object itself in a request.
type definitions struct {
	file string
	body []byte
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *definitions) UnmarshalYAML(n *yaml.Node) error { return n.Decode(&d.file) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *definitions) UnmarshalJSON(raw []byte) error {
	d.body = bytes.Clone(raw)
	return nil
}
