package deployments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/engine/uiworkflow"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
)

// maxDocument bounds a file with a graph, in bytes.
const maxDocument = 32 << 20

// document is a drawing or a graph: a JSON document in a request, the name of a file on the command line.
type document json.RawMessage

// SetTexts reads the file that a command names, "-" for its standard input.
func (d *document) SetTexts(words []string) (err error) {
	if len(words) == 0 {
		return nil
	}
	*d, err = readDocument(words[0])
	return action.Explain(err)
}

func readDocument(name string) (document, error) {
	var in io.Reader = os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err == nil && len(raw) > maxDocument {
		err = fmt.Errorf("a graph may have at most %d bytes", maxDocument)
	}
	if err == nil {
		raw, err = uiworkflow.Text(raw)
	}
	return raw, err
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *document) UnmarshalJSON(raw []byte) error {
	*d = bytes.Clone(raw)
	if raw[0] != '{' {
		return errors.New("not an object")
	}
	return nil
}

// Takes describes the values.
func (*document) Takes() string {
	return "a file with a workflow as the editor saves it, or a graph in API format"
}

// Schema describes the values in the OpenAPI document.
func (*document) Schema() map[string]any { return map[string]any{"type": "object"} }

// manifest is a YAML file that describes a deployment.
type manifest struct {
	Name    string  `yaml:"name"`
	Account string  `yaml:"account"`
	Graph   string  `yaml:"graph"` // path, relative to the manifest
	Pin     string  `yaml:"pin"`
	Promote bool    `yaml:"promote"`
	Inputs  yamlAny `yaml:"inputs"`
	Outputs yamlAny `yaml:"outputs"`

	named    callable.Named
	document document
}

// yamlAny is read by package callable.
type yamlAny struct{}

// UnmarshalYAML implements yaml.Unmarshaler.
func (yamlAny) UnmarshalYAML(*yaml.Node) error { return nil }

// UnmarshalText reads the manifest that a command names, with its graph.
func (m *manifest) UnmarshalText(name []byte) error { return action.Explain(m.read(name)) }

func (m *manifest) read(name []byte) error {
	text, err := os.ReadFile(string(name))
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(m); err != nil {
		return err
	}
	if m.Name == "" || m.Graph == "" {
		return errors.New("it must have a name and a graph")
	}
	if m.named, err = callable.ParseNamed(text); err != nil {
		return err
	}
	m.document, err = readDocument(filepath.Join(filepath.Dir(string(name)), m.Graph))
	return err
}

// Takes describes the values.
func (*manifest) Takes() string {
	return "a YAML file with name and graph, and if needed account, inputs, outputs, pin and promote"
}

type deployParams struct {
	Account  string   `name:"account" resolve:"account" default:"local" help:"name or id of the account"`
	Name     string   `name:"name" required:"route" help:"name of the deployment, a DNS label; default: the name of the file"`
	Document document `name:"document" arg:"[FILE]" required:"route"`
	Manifest manifest `name:"file" short:"f" route:"-" help:"YAML file that describes the deployment, for use in CI"`
	Inputs   []string `name:"inputs" flag:"input" help:"an input, as prompt=6.text (name=NODE.WIDGET), in place of those of the drawing"`
	Outputs  []string `name:"outputs" flag:"output" help:"an output, as picture=9 or 9 (name=NODE)"`
	Pin      string   `name:"pin" choices:",strict" help:"strict = refuse calls when the definition of a class has changed"`
	Promote  bool     `name:"promote" help:"let the version answer all calls at once"`
}

// deployed is the answer of Deploy.
type deployed struct {
	Deployment

	Version  int      `json:"version"`
	Created  bool     `json:"created"` // the deployment is new
	Same     bool     `json:"same"`    // the deployment had this version already
	From     string   `json:"from"`    // where inputs and outputs come from: app, subgraph or named
	Warnings []string `json:"warnings,omitempty"`
}

// merge takes what the manifest says.
func (p deployParams) merge() deployParams {
	m := p.Manifest
	if m.Name == "" {
		return p
	}
	p.Name, p.Document, p.Promote = m.Name, m.document, p.Promote || m.Promote
	p.Inputs, p.Outputs = append(p.Inputs, m.named.Inputs...), append(p.Outputs, m.named.Outputs...)
	if m.Pin != "" {
		p.Pin = m.Pin
	}
	return p
}

// Deploy publishes a graph.
var Deploy = action.Of[*Service, deployParams, deployed]{
	Spec: action.Spec{
		ID: "adminDeploy", Route: "POST /accounts/{account}/deployments", Reason: action.Optional, Schema: "AdminDeployed",
		Summary: "Publish a graph under a name: the first version answers calls, a later one answers nothing until it is promoted.",
		Commands: []action.Command{{
			Use: "deploy [FILE] --name NAME", Short: "Publish a graph under a name, with inputs and outputs by name",
			Long: `Publish a graph: a workflow as the editor saved it, or a graph in API format. Its inputs and outputs are those
of the editor's App Mode, those of a subgraph that stands alone, or those that --input and --output name.

The first version of a name answers calls at once. A changed graph is the next version, which answers nothing
until it is promoted. The same graph again is the same version, so that the command can be repeated.`,
			Example: `  millrace deploy portrait.json --name portrait
  millrace deploy graph.json --name portrait --input prompt=6.text --output picture=9
  millrace deploy -f deployment.yaml`,
		}},
	},
	Do: func(ctx context.Context, o *Service, p deployParams, by operate.Attribution) (deployed, error) {
		owner := p.Manifest.Account
		if p = p.merge(); owner != "" {
			var err error
			if p.Account, err = o.Resolve(ctx, "account", owner); err != nil {
				return deployed{}, err
			}
		}
		return o.deploy(ctx, p, by)
	},
	Show: showDeployed,
}.Untyped()

func (o *Service) deploy(ctx context.Context, p deployParams, by operate.Attribution) (deployed, error) {
	if len(p.Document) == 0 {
		return deployed{}, fault.New(fault.Invalid, fault.CodeInvalidDeployment, "a graph is missing: name its file, or a manifest with --file")
	}
	if err := deployment.CheckName(p.Name); err != nil {
		return deployed{}, err
	}
	made, err := o.Deployments.Derive(ctx, p.Account, deployment.Source{
		Document: p.Document, Named: callable.Named{Inputs: p.Inputs, Outputs: p.Outputs}, Pin: deployment.Pin(p.Pin),
	})
	if err != nil {
		return deployed{}, err
	}
	added, err := o.Deployments.Add(ctx, p.Account, p.Name, made.Content, by)
	if err != nil {
		return deployed{}, err
	}
	d := added.Deployment
	if p.Promote {
		promotion := deployment.Promotion{Account: p.Account, Name: string(d.ID), Version: added.Version.Number, Percent: 100, By: by}
		if d, err = o.Deployments.Promote(ctx, promotion); err != nil {
			return deployed{}, action.AfterSome(err)
		}
	}
	shown, err := o.described(ctx, d, added.Version.Number)
	return deployed{
		Deployment: shown, Version: added.Version.Number, Created: added.Created, Same: added.Same, From: string(made.Source),
		Warnings: made.Warnings,
	}, err
}

func showDeployed(out *terminal.Printer, _ deployParams, d deployed) {
	switch {
	case d.Same:
		out.Printf("%s@%d: this is version %d already; nothing changed\n", d.Name, d.Version, d.Version)
	case d.Live == d.Version:
		out.Printf("%s@%d: answers calls\n", d.Name, d.Version)
	default:
		out.Printf("%s@%d: answers nothing yet; next:  millrace deployments promote %s@%d --percent 10\n", d.Name, d.Version, d.Name, d.Version)
	}
	for _, w := range d.Warnings {
		out.Printf("warning: %s\n", w)
	}
	showMissing(out, d.Deployment)
	showSchema(out, d.Deployment)
	out.Printf("address: %s\n", d.Address)
}

func showMissing(out *terminal.Printer, d Deployment) {
	for _, text := range d.Missing {
		out.Printf("cannot run now: %s\n", text)
	}
}

// showSchema shows inputs and outputs as tables.
func showSchema(out *terminal.Printer, d Deployment) {
	var inputs [][]terminal.Cell
	for _, in := range d.Inputs {
		value := "required"
		if !in.Required() {
			value = "default " + terminal.Clip(string(in.Default), 40)
		}
		bounds := ""
		switch {
		case len(in.Choices) > 0:
			bounds = "one of " + terminal.Clip(strings.Join(in.Choices, ", "), 40)
		case in.Minimum != "" || in.Maximum != "":
			bounds = in.Minimum.String() + " to " + in.Maximum.String()
		}
		inputs = append(inputs, terminal.Cells(in.Name, string(in.Kind), value, bounds))
	}
	out.Table([]string{"INPUT", "KIND", "VALUE", ""}, inputs)
	var outputs [][]terminal.Cell
	for _, o := range d.Outputs {
		outputs = append(outputs, terminal.Cells(o.Name, string(o.Kind)))
	}
	out.Table([]string{"OUTPUT", "KIND"}, outputs)
}
