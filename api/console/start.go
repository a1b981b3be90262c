package console

import (
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/domain/account"
)

// Example is a graph that an account without jobs runs with one click.
type Example struct {
	Title, About, Prompt string
}

// examples need neither a ComfyUI server nor a provider. The second one fails, so that its page shows why.
var examples = []Example{
	{"Paint a sunset", "Two colours, one fading into the other: five nodes that run in this service.", `{
 "1": {"class_type": "EmptyImage", "inputs": {"width": 768, "height": 512, "batch_size": 1, "color": 2372436}, "_meta": {"title": "Sky"}},
 "2": {"class_type": "EmptyImage", "inputs": {"width": 768, "height": 384, "batch_size": 1, "color": 15632981}, "_meta": {"title": "Glow"}},
 "3": {"class_type": "SolidMask", "inputs": {"value": 1.0, "width": 768, "height": 384}},
 "4": {"class_type": "FeatherMask", "inputs": {"mask": ["3", 0], "left": 0, "top": 384, "right": 0, "bottom": 0}},
 "5": {"class_type": "ImageCompositeMasked", "inputs": {
  "destination": ["1", 0], "source": ["2", 0], "x": 0, "y": 128, "resize_source": false, "mask": ["4", 0]}},
 "6": {"class_type": "SaveImage", "inputs": {"images": ["5", 0], "filename_prefix": "sunset"}}}`},
	{"See a job fail", "A node gets a wrong pattern: the page of the job names the node, its inputs and the mistake.", `{
 "1": {"class_type": "RegexReplace", "inputs": {"string": "a", "regex_pattern": "(", "replace": "b"}},
 "2": {"class_type": "PreviewAny", "inputs": {"source": ["1", 0]}}}`},
}

// Start is what the list shows to an account without jobs.
type Start struct {
	Refusal  string // why the account may not submit, or ""
	Examples []Example
	Model    string // id of a simulated model, or ""
	URL      string // base of the API
}

// start returns what an account without jobs may do first.
func (s *Surface) start(base string, v page.Visitor) *Start {
	if v.All() {
		return nil
	}
	first := &Start{URL: base}
	switch {
	case !v.ByToken() && (!v.Active || v.Tier == account.TierFree):
		first.Refusal = "This account has no active subscription, so it can read but not submit. An operator can change that."
	case v.Allows(account.ScopeWrite):
		first.Examples, first.Model = examples, "sim/image"
	}
	return first
}
