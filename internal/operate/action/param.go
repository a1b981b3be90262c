package action

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace-dev/millrace/internal/fault"
)

// Place is where a request has a parameter.
type Place string

// The places.
const (
	InPath  Place = "path"
	InQuery Place = "query"
	InBody  Place = "body"
)

// Param is a parameter of an action.
type Param struct {
	Name, Form, Arg, Flag, Short, Help, Label, Resolve string

	In       Place // "" = a command alone has it
	Choices  []string
	Min, Max int64 // of a number, or of a duration in seconds; Max 0 = no bound
	Required bool  // of a request
	Asked    bool  // a command without it is refused
	Commas   bool  // several values of a flag may be separated by commas
	Secret   bool  // errors do not repeat its value

	index            []int
	kind             reflect.Type
	standard, served string
}

// paramsOf returns the parameters that the fields of P describe.
func paramsOf[P any](route string) []Param {
	var all []Param
	of := reflect.TypeFor[P]()
	for _, f := range reflect.VisibleFields(of) {
		name, ok := f.Tag.Lookup("name")
		if !ok {
			continue
		}
		alone := false
		for i := range f.Index {
			alone = alone || of.FieldByIndex(f.Index[:i+1]).Tag.Get("route") == "-"
		}
		p := Param{
			Name: name, Form: cmp.Or(f.Tag.Get("form"), name), Arg: f.Tag.Get("arg"), Flag: f.Tag.Get("flag"), Short: f.Tag.Get("short"),
			Help: f.Tag.Get("help"), Label: f.Tag.Get("label"),
			Resolve: f.Tag.Get("resolve"), In: InBody, Required: f.Tag.Get("required") != "", Commas: f.Tag.Get("commas") == "true",
			Secret: f.Tag.Get("secret") == "true",
			index:  f.Index, kind: f.Type, standard: f.Tag.Get("default"), served: f.Tag.Get("served"),
		}
		if choices := f.Tag.Get("choices"); choices != "" {
			p.Choices = strings.Split(choices, ",")
		}
		p.Min, p.Max = bound(f.Tag.Get("min")), bound(f.Tag.Get("max"))
		if p.Flag == "" && p.Arg == "" {
			p.Flag = strings.ReplaceAll(name, "_", "-")
		}
		switch {
		case alone:
			p.In = ""
		case strings.Contains(route, "{"+name+"}"):
			p.In, p.Required = InPath, true
		case strings.HasPrefix(route, "GET "):
			p.In = InQuery
		}
		p.Asked = f.Tag.Get("required") == "true" && p.standard == ""
		all = append(all, p)
	}
	return all
}

func bound(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err) // a mistake in a tag
	}
	return n
}

func (p Param) defaultFor(served bool) string {
	if served && p.served != "" {
		return p.served
	}
	return p.standard
}

// target returns a pointer to the parameter's field.
func (p Param) target(params any) any {
	return reflect.ValueOf(params).Elem().FieldByIndex(p.index).Addr().Interface()
}

// Value returns the value of the parameter.
func (p Param) Value(params any) any {
	return reflect.ValueOf(params).Elem().FieldByIndex(p.index).Interface()
}

// Many reports whether the parameter has several values.
func (p Param) Many() bool {
	return p.kind.Kind() == reflect.Slice || p.kind == reflect.TypeFor[map[string]string]() || p.setsMany()
}

// manySetter is a parameter that is read from several texts.
type manySetter interface{ SetTexts(texts []string) error }

func (p Param) setsMany() bool {
	return reflect.PointerTo(p.kind).Implements(reflect.TypeFor[manySetter]())
}

// Optional reports whether the argument of a command may be left out.
func (p Param) Optional() bool { return strings.HasPrefix(p.Arg, "[") }

// Bool reports whether the parameter is true or false.
func (p Param) Bool() bool {
	return p.kind == reflect.TypeFor[*bool]() || p.kind.Kind() == reflect.Bool
}

// Text returns the value of the parameter as text; "" = it has none.
func (p Param) Text(params any) string {
	v := reflect.ValueOf(params).Elem().FieldByIndex(p.index)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// Type returns the name of the parameter's type in the help of a command.
func (p Param) Type() string {
	switch {
	case p.Bool():
		return "bool"
	case p.kind == reflect.TypeFor[time.Duration]():
		return "duration"
	case p.Commas:
		return "strings"
	case p.Many():
		return "stringArray"
	case reflect.PointerTo(p.kind).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "string"
	case p.kind.Kind() == reflect.Int || p.kind.Kind() == reflect.Int64:
		return "int"
	}
	return "string"
}

// Set reads the parameter from texts. An error does not name the parameter.
func (p Param) Set(params any, texts ...string) error {
	text := ""
	if len(texts) > 0 {
		text = texts[0]
	}
	for _, t := range texts {
		if len(p.Choices) > 0 && !slices.Contains(p.Choices, t) {
			return p.wrong(t)
		}
	}
	var err error
	switch into := p.target(params).(type) {
	case manySetter:
		err = into.SetTexts(texts)
	case encoding.TextUnmarshaler:
		err = into.UnmarshalText([]byte(text))
	case *[]string:
		*into = texts
	case *map[string]string:
		*into, err = pairs(texts)
	case *time.Duration:
		*into, err = time.ParseDuration(text)
	case **bool:
		is := false
		is, err = strconv.ParseBool(text)
		*into = &is
	case **string:
		*into = &text
	case *bool:
		*into, err = strconv.ParseBool(text)
	default:
		err = p.setNumber(into, text)
	}
	if err != nil {
		return p.because(text, err)
	}
	return p.check(params)
}

// setNumber sets a number, or a text of any type.
func (p Param) setNumber(into any, text string) error {
	v := reflect.ValueOf(into).Elem()
	if v.Kind() == reflect.String {
		v.SetString(text)
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && v.OverflowInt(n) {
		err = strconv.ErrRange
	}
	v.SetInt(n)
	return err
}

// check checks the bounds of a number.
func (p Param) check(params any) error {
	v := reflect.ValueOf(params).Elem().FieldByIndex(p.index)
	if !v.CanInt() || p.Min == 0 && p.Max == 0 {
		return nil
	}
	unit := int64(1)
	if p.kind == reflect.TypeFor[time.Duration]() {
		unit = int64(time.Second)
	}
	if n := v.Int(); n < p.Min*unit || p.Max > 0 && n > p.Max*unit {
		return p.wrong(fmt.Sprint(v.Interface()))
	}
	return nil
}

// Wrong is a text that is no value of a parameter. Not is the text as the end of a sentence, or "" if it may be a secret.
type Wrong struct{ Takes, Not string }

// Error implements error.
func (w *Wrong) Error() string { return "it takes " + w.Takes + w.Not }

func (p Param) wrong(text string) error { return p.wrongFor(p.Takes(), text) }

// Explained is the error of a text that says what is wrong with it, such as with the content of a file.
type Explained struct{ error }

// because returns the error of a text, with its reason if there is one.
func (p Param) because(text string, err error) error {
	var reason Explained
	if !errors.As(err, &reason) || p.Secret {
		return p.wrong(text)
	}
	return &Wrong{p.Takes(), fmt.Sprintf(", not %.64q: %s", text, reason.Error())}
}

// Explain returns err as an Explained error.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	return Explained{err}
}

func (p Param) wrongFor(takes, text string) error {
	if p.Secret {
		return &Wrong{takes, ""}
	}
	return &Wrong{takes, fmt.Sprintf(", not %.64q", text)}
}

// Refused returns err as an answer to a request, in which verb joins the name of the parameter and what it takes.
func Refused(name, verb string, err error) error {
	var wrong *Wrong
	if errors.As(err, &wrong) {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "%s %s %s%s", name, verb, wrong.Takes, wrong.Not)
	}
	return err
}

// Takes describes the values of the parameter.
func (p Param) Takes() string {
	if t, ok := reflect.New(p.kind).Interface().(interface{ Takes() string }); ok {
		return t.Takes()
	}
	switch {
	case len(p.Choices) > 1:
		return strings.Join(p.Choices[:len(p.Choices)-1], ", ") + " or " + p.Choices[len(p.Choices)-1]
	case p.Bool():
		return "true or false"
	case p.kind == reflect.TypeFor[time.Duration]():
		return "a duration such as 30s or 720h"
	case p.kind == reflect.TypeFor[map[string]string]():
		return `"NAME: VALUE"`
	case p.kind.Kind() == reflect.Slice:
		return "a list"
	case p.kind.Kind() == reflect.String || p.kind.Kind() == reflect.Pointer:
		return "a text"
	case p.Max > 0:
		return fmt.Sprintf("a whole number between %d and %d", p.Min, p.Max)
	case p.Min > 0:
		return fmt.Sprintf("a whole number of at least %d", p.Min)
	}
	return "a whole number"
}

// Decode reads the parameter from JSON. A duration is a number of seconds. null is a value of the types alone whose
// schema has it: to others it would mean that the parameter is not given, or that it is to be emptied.
func (p Param) Decode(params any, raw json.RawMessage) error {
	into := p.target(params)
	if d, ok := into.(*time.Duration); ok {
		var seconds int64
		if err := json.Unmarshal(raw, &seconds); err != nil || string(raw) == "null" || seconds > p.Max || seconds < p.Min {
			return p.wrongFor(fmt.Sprintf("a number of seconds between %d and %d", p.Min, p.Max), string(raw))
		}
		*d = time.Duration(seconds) * time.Second
		return nil
	}
	if string(raw) == "null" && p.schema()["nullable"] != true {
		return p.wrong("null")
	}
	if err := json.Unmarshal(raw, into); err != nil {
		if p.kind == reflect.TypeFor[map[string]string]() {
			return p.wrongFor("an object of texts", string(raw))
		}
		return p.wrong(string(raw))
	}
	for _, text := range p.texts(params) {
		if !IsText(text) {
			return p.wrongFor("a text without NUL characters", text)
		}
		if len(p.Choices) > 0 && !slices.Contains(p.Choices, text) {
			return p.wrong(text)
		}
	}
	return p.check(params)
}

// texts returns the texts of a value that is a text, or several of them.
func (p Param) texts(params any) (all []string) {
	value := reflect.ValueOf(p.Value(params))
	if text, ok := p.Value(params).(*string); ok && text != nil {
		value = value.Elem()
	}
	if value.Kind() == reflect.String {
		return []string{value.String()}
	}
	if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.String {
		for i := range value.Len() {
			all = append(all, value.Index(i).String())
		}
	}
	return all
}

// IsText reports whether PostgreSQL can store a text.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// pairs reads lines such as "NAME: VALUE".
func pairs(lines []string) (map[string]string, error) {
	all := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, errors.New("no colon")
		}
		all[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return all, nil
}
