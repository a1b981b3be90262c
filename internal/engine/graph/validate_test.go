package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

func TestPromptErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prompt  string
		targets []string
		want    string
	}{
		"node without a class": {
			prompt: `{"7":{"inputs":{}}}`,
			want: `{"Type":"missing_node_type","Message":"Node 'ID #7' has no class_type. The workflow may be corrupted or a custom ` +
				`node is missing.",
				"Details":"Node ID '#7'","ExtraInfo":{"node_id":"7","class_type":null,"node_title":null},"NodeErrors":{}}`,
		},
		"node that is no object": {
			prompt: `{"7":5}`,
			want: `{"Type":"missing_node_type","Message":"Node 'ID #7' has no class_type. The workflow may be corrupted or a custom ` +
				`node is missing.",
				"Details":"Node ID '#7'","ExtraInfo":{"node_id":"7","class_type":null,"node_title":null},"NodeErrors":{}}`,
		},
		"unknown class, named by its title": {
			prompt: `{"1":{"class_type":"Image","inputs":{}},"2":{"class_type":"Nope","inputs":{},"_meta":{"title":"My node"}},"3":{"inputs":{}}}`,
			want: `{"Type":"missing_node_type","Message":"Node 'My node' not found. The custom node may not be installed.",
				"Details":"Node ID '#2'","ExtraInfo":{"node_id":"2","class_type":"Nope","node_title":"My node"},"NodeErrors":{}}`,
		},
		"unknown class without a title": {
			prompt: `{"2":{"class_type":"Nope","inputs":{}}}`,
			want: `{"Type":"missing_node_type","Message":"Node 'Nope' not found. The custom node may not be installed.",
				"Details":"Node ID '#2'","ExtraInfo":{"node_id":"2","class_type":"Nope","node_title":"Nope"},"NodeErrors":{}}`,
		},
		"no outputs": {
			prompt: `{"1":{"class_type":"Image","inputs":{}}}`,
			want:   `{"Type":"prompt_no_outputs","Message":"Prompt has no outputs","Details":"","ExtraInfo":{},"NodeErrors":{}}`,
		},
		"empty graph": {
			prompt: `{}`,
			want:   `{"Type":"prompt_no_outputs","Message":"Prompt has no outputs","Details":"","ExtraInfo":{},"NodeErrors":{}}`,
		},
		"targets that are no outputs": {
			prompt: `{"1":{"class_type":"Image","inputs":{}},"2":{"class_type":"Save","inputs":{"images":["1",0]}}}`, targets: []string{"1"},
			want: `{"Type":"prompt_no_outputs","Message":"Prompt has no outputs","Details":"","ExtraInfo":{},"NodeErrors":{}}`,
		},
		"no valid output": {
			prompt: `{"2":{"class_type":"Save","inputs":{}}}`,
			want: `{"Type":"prompt_outputs_failed_validation","Message":"Prompt outputs failed validation",
				"Details":"Required input is missing: images","ExtraInfo":{},"NodeErrors":{"2":{"errors":[{"type":"required_input_missing",` +
				`
				"message":"Required input is missing","details":"images","extra_info":{"input_name":"images"}}],"dependent_outputs":["2"],` +
				`"class_type":"Save"}}}`,
		},
		"error above the output: no details": {
			prompt: `{"1":{"class_type":"Text","inputs":{}},"2":{"class_type":"Show","inputs":{"source":["1",0]}}}`,
			want: `{"Type":"prompt_outputs_failed_validation","Message":"Prompt outputs failed validation",
				"Details":"","ExtraInfo":{},"NodeErrors":{"1":{"errors":[{"type":"required_input_missing",
				"message":"Required input is missing","details":"value","extra_info":{"input_name":"value"}}],"dependent_outputs":["2"],` +
				`"class_type":"Text"}}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.JSONEq(t, tt.want, toJSON(t, refused(t, tt.prompt, tt.targets...)))
		})
	}
}

// TestNodeErrors validates graphs with one output node "1" of class Set with the given inputs, and an Image node "9".
func TestNodeErrors(t *testing.T) {
	t.Parallel()
	const (
		ints   = `["INT",{"default":5,"min":1,"max":10,"step":3}]`
		floats = `["FLOAT",{"default":0.5,"min":-1.0,"max":1.5}]`
		picks  = `[["a","b'c"],{}]`
	)
	tests := map[string]struct{ inputs, want string }{
		"list of one is a bad link": {`{"int":[1]}`, `{"type":"bad_linked_input","message":"Bad linked input, must be a length-2 ` +
			`list of [node_id, slot_index]",
			"details":"int","extra_info":{"input_name":"int","input_config":` + ints + `,"received_value":[1]}}`},
		"slot of another type": {`{"int":["9","0"]}`, `{"type":"exception_during_validation","message":"Exception when validating node",
			"details":"tuple indices must be integers or slices, not str","extra_info":{"exception_type":"TypeError","traceback":[]}}`},
		"slot with a point": {`{"int":["9",1.0]}`, `{"type":"exception_during_validation","message":"Exception when validating node",
			"details":"tuple indices must be integers or slices, not float","extra_info":{"exception_type":"TypeError","traceback":[]}}`},
		"slot before the first": {`{"int":["9",-3]}`, `{"type":"exception_during_validation","message":"Exception when validating node",
			"details":"tuple index out of range","extra_info":{"exception_type":"IndexError","traceback":[]}}`},
		"node that is a number": {`{"int":[9,0]}`, `{"type":"exception_during_validation","message":"Exception when validating node",
			"details":"9","extra_info":{"exception_type":"KeyError","traceback":[]}}`},
		"types do not match": {`{"int":["9",1]}`, `{"type":"return_type_mismatch","message":"Return type mismatch between linked nodes",
			"details":"int, received_type(MASK) mismatch input_type(INT)","extra_info":{"input_name":"int","input_config":` + ints +
			`,"received_type":"MASK","linked_node":["9",1]}}`},
		"text that is no integer": {`{"int":"3.7"}`, `{"type":"invalid_input_type","message":"Failed to convert an input value to a INT value",
			"details":"int, 3.7, invalid literal for int() with base 10: '3.7'","extra_info":{"input_name":"int","input_config":` + ints +
			`,"received_value":"3.7",
			"exception_message":"invalid literal for int() with base 10: '3.7'"}}`},
		"null is no integer": {`{"int":null}`, `{"type":"invalid_input_type","message":"Failed to convert an input value to ` +
			`a INT value",
			"details":"int, None, int() argument must be a string, a bytes-like object or a real number, not 'NoneType'",` +
			`"extra_info":{"input_name":"int",` +
			`"input_config":` + ints + `,"received_value":null,
			"exception_message":"int() argument must be a string, a bytes-like object or a real number, not 'NoneType'"}}`},
		"an object is no float": {
			`{"float":{"a":[true,1.0]}}`,
			`{"type":"invalid_input_type","message":"Failed to convert an input value to a FLOAT value",
			"details":"float, {'a': [True, 1.0]}, float() argument must be a string or a real number, not 'dict'",` +
				`"extra_info":{"input_name":"float",` +
				`"input_config":` + floats + `,"received_value":{"a":[true,1.0]},
			"exception_message":"float() argument must be a string or a real number, not 'dict'"}}`,
		},
		"text that is no float": {`{"float":"it's"}`, `{"type":"invalid_input_type","message":"Failed to convert an input value to a FLOAT value",
			"details":"float, it's, could not convert string to float: \"it's\"","extra_info":{"input_name":"float","input_config":` + floats +
			`,"received_value":"it's",
			"exception_message":"could not convert string to float: \"it's\""}}`},
		"infinity": {`{"float":"inf"}`, `{"type":"invalid_input_type","message":"Failed to convert an input value to a FLOAT value",
			"details":"float, inf, the number is not finite","extra_info":{"input_name":"float","input_config":` + floats +
			`,"received_value":"inf","exception_message":"the number is not finite"}}`},
		"too small": {`{"int":0}`, `{"type":"value_smaller_than_min","message":"Value 0 smaller than min of 1","details":"int",
			"extra_info":{"input_name":"int","input_config":` + ints + `,"received_value":0}}`},
		"too big after conversion": {`{"float":"1.75"}`, `{"type":"value_bigger_than_max","message":"Value 1.75 bigger than ` +
			`max of 1.5","details":"float",
			"extra_info":{"input_name":"float","input_config":` + floats + `,"received_value":1.75}}`},
		"floats look like floats": {`{"float":-2}`, `{"type":"value_smaller_than_min","message":"Value -2.0 smaller than min ` +
			`of -1.0","details":"float",
			"extra_info":{"input_name":"float","input_config":` + floats + `,"received_value":-2}}`},
		"not an option": {`{"pick":"c"}`, `{"type":"value_not_in_list","message":"Value not in list","details":"pick: 'c' not in ['a', \"b'c\"]",
			"extra_info":{"input_name":"pick","input_config":` + picks + `,"received_value":"c"}}`},
		"a number is not an option": {`{"pick":1}`, `{"type":"value_not_in_list","message":"Value not in list","details":"pick: ` +
			`1 not in ['a', \"b'c\"]",
			"extra_info":{"input_name":"pick","input_config":` + picks + `,"received_value":1}}`},
		"long lists are not repeated": {`{"many":"y"}`, `{"type":"value_not_in_list","message":"Value not in list","details":"many: ` +
			`'y' not in (list of length 21)",
			"extra_info":{"input_name":"many","input_config":null,"received_value":"y"}}`},
		"link to nowhere": {`{"int":["no'pe",0]}`, `{"type":"exception_during_validation","message":"Exception when validating ` +
			`node","details":"\"no'pe\"",
			"extra_info":{"exception_type":"KeyError","traceback":[]}}`},
		"slot out of range": {`{"int":["9",2]}`, `{"type":"exception_during_validation","message":"Exception when validating ` +
			`node",
			"details":"tuple index out of range","extra_info":{"exception_type":"IndexError","traceback":[]}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := refused(t, `{"1":{"class_type":"Set","inputs":`+tt.inputs+`},"9":{"class_type":"Image","inputs":{}}}`)
			require.Len(t, e.NodeErrors, 1)
			require.Equal(t, "1", e.NodeErrors[0].Node)
			require.Equal(t, "Set", e.NodeErrors[0].Class)
			require.Equal(t, []string{"1"}, e.NodeErrors[0].DependentOutputs)
			require.Len(t, e.NodeErrors[0].Errors, 1)
			require.JSONEq(t, tt.want, toJSON(t, e.NodeErrors[0].Errors[0]))
			require.Equal(t, e.NodeErrors[0].Errors[0].Message+": "+e.NodeErrors[0].Errors[0].Details, e.Details)
		})
	}
}

func TestSlotOutOfRangeOfTheNewerSchema(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Show","inputs":{"source":["1",1]}}}`)
	require.Equal(t, "list index out of range", e.NodeErrors[0].Errors[0].Details)
}

func TestMissingInputsKeyIsAnException(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Save"}}`)
	require.JSONEq(t, `{"1":{"errors":[{"type":"exception_during_validation","message":"Exception when validating node",
		"details":"'inputs'","extra_info":{"exception_type":"KeyError","traceback":[]}}],"dependent_outputs":["1"],"class_type":"Save"}}`,
		toJSON(t, e.NodeErrors))
}

func TestInnerExceptionNamesTheLink(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Save","inputs":{"images":["2",0]}},"2":{"class_type":"Through","inputs":{"in":["404",0]}}}`)
	require.JSONEq(t, `{"2":{"errors":[{"type":"exception_during_inner_validation","message":"Exception when validating inner node",
		"details":"'404'","extra_info":{"exception_type":"KeyError","traceback":[],"input_name":"images","input_config":["IMAGE",{}],
		"exception_message":"'404'","linked_node":["2",0]}}],"dependent_outputs":["1"],"class_type":"Through"}}`, toJSON(t, e.NodeErrors))
}

func TestInputConfigOfTheNewerSchema(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"SetV3","inputs":{"pick":"z"}}}`)
	require.JSONEq(t, `["COMBO",{"options":["a"],"multiselect":false}]`, toJSON(t, e.NodeErrors[0].Errors[0].ExtraInfo["input_config"]))
}

// ComfyUI shows the options of an input also where its class declares a type only.
func TestInputConfigOfAClassOfAServer(t *testing.T) {
	t.Parallel()
	registry := classes(t)
	require.NoError(t, registry.Extend(&node.Class{
		Name: "Remote", Module: "nodes", OutputNode: true, Run: nothing,
		Inputs: []node.Input{{Name: "model", Type: "MODEL", Declared: []json.RawMessage{json.RawMessage(`"MODEL"`)}}},
	}))
	prompt := `{"1":{"class_type":"Remote","inputs":{"model":["2",0]}},"2":{"class_type":"Image","inputs":{}}}`
	v := graph.Validator{Classes: registry}
	_, err := v.Validate(t.Context(), parse(t, prompt), nil, nil)
	var refusal *graph.PromptError
	require.ErrorAs(t, err, &refusal)
	require.JSONEq(t, `["MODEL",{}]`, toJSON(t, refusal.NodeErrors[0].Errors[0].ExtraInfo["input_config"]))
}

func TestCycleIsReportedWithItsPath(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"5":{"class_type":"Show","inputs":{"source":["1",0]}},
		"1":{"class_type":"Through","inputs":{"in":["2",0]}},"2":{"class_type":"Through","inputs":{"in":["1",0]}}}`)
	require.JSONEq(t, `{"1":{"errors":[{"type":"dependency_cycle","message":"Dependency cycle detected",
		"details":"1 (Through) -> 2 (Through) -> 1 (Through)","extra_info":{"node_id":"1","cycle_nodes":["1","2"]}}],
		"dependent_outputs":["5"],"class_type":"Through"},
		"2":{"errors":[{"type":"dependency_cycle","message":"Dependency cycle detected",
		"details":"1 (Through) -> 2 (Through) -> 1 (Through)","extra_info":{"node_id":"2","cycle_nodes":["1","2"]}}],
		"dependent_outputs":["5"],"class_type":"Through"}}`, toJSON(t, e.NodeErrors))
}

// A link may read more outputs than a class of a node pack declares: the server knows how many values the class returns.
func TestSlotThatAClassOfAPackMayHave(t *testing.T) {
	t.Parallel()
	const prompt = `{"1":{"class_type":"Remote","inputs":{}},"3":{"class_type":"Save","inputs":{"images":["1",4]}}}`
	for _, more := range []bool{true, false} {
		registry := classes(t)
		require.NoError(t, registry.Extend(&node.Class{
			Name: "Remote", Outputs: []node.Output{{Type: node.Mask}}, Remote: true, MoreOutputs: more, Run: nothing,
		}))
		accepted, err := (&graph.Validator{Classes: registry}).Validate(t.Context(), parse(t, prompt), nil, nil)
		require.Equal(t, more, err == nil, "%v", err)
		if more {
			plan, err := graph.BuildPlan(parse(t, prompt), registry, accepted.Outputs, nil)
			require.NoError(t, err)
			require.Equal(t, 4, plan.Nodes[1].Links["images"].Slot)
		}
	}
}

// A negative slot counts from the last output, as an index in Python does.
func TestSlotFromTheEnd(t *testing.T) {
	t.Parallel()
	const prompt = `{"1":{"class_type":"Image","inputs":{}},"3":{"class_type":"Save","inputs":{"images":["1",-2]}}}`
	_, err := validate(t, prompt)
	require.NoError(t, err)
	plan := planOf(t, prompt, "3")
	require.Equal(t, 0, plan.Nodes[1].Links["images"].Slot)
}

func TestOutputInACycleWithItself(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Show","inputs":{"source":["1",0]}}}`)
	require.Equal(t, "1 (Show) -> 1 (Show)", e.NodeErrors[0].Errors[0].Details)
}

func TestCustomValidation(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Load","inputs":{"image":"gone.png"}},"2":{"class_type":"Save","inputs":{"images":["1",0]}}}`)
	require.JSONEq(t, `{"1":{"errors":[{"type":"custom_validation_failed","message":"Custom validation failed for node",
		"details":"image - Invalid image file: gone.png","extra_info":{"input_name":"image"}}],"dependent_outputs":["2"],"class_type":"Load"}}`,
		toJSON(t, e.NodeErrors))
	_, err := validate(t, `{"1":{"class_type":"Load","inputs":{"image":"a.png"}},"2":{"class_type":"Save","inputs":{"images":["1",0]}}}`)
	require.NoError(t, err)
}

// ComfyUI's check of an inner node that raises an exception is an error of another type.
func TestCustomValidationThatRaises(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Load","inputs":{"image":1000000000}},"2":{"class_type":"Save","inputs":{"images":["1",0]}}}`)
	failed := e.NodeErrors[0].Errors[0]
	require.Equal(t, "exception_during_inner_validation", failed.Type)
	require.Equal(t, "'int' object has no attribute 'endswith'", failed.Details)
	require.Equal(t, "AttributeError", failed.ExtraInfo["exception_type"])
}

func TestAFileLookupThatFailsFailsTheValidation(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.Unavailable, "", "the database is away")
	v := graph.Validator{Classes: classes(t)}
	for _, prompt := range []string{
		`{"1":{"class_type":"Load","inputs":{"image":"a.png"}},"2":{"class_type":"Save","inputs":{"images":["1",0]}}}`,
		`{"1":{"class_type":"Offer","inputs":{"file":"a.png"}}}`,
	} {
		accepted, err := v.Validate(t.Context(), parse(t, prompt), shelf{err: down}, nil)
		require.Nil(t, accepted)
		require.ErrorIs(t, err, down)
		var refusal *graph.PromptError
		require.False(t, errors.As(err, &refusal))
	}
}

func TestFilesOfAFolderAreOptions(t *testing.T) {
	t.Parallel()
	_, err := validate(t, `{"1":{"class_type":"Offer","inputs":{"file":"a.png"}}}`)
	require.NoError(t, err)
	e := refused(t, `{"1":{"class_type":"Offer","inputs":{"file":"b.png"}}}`)
	require.Equal(t, "file: 'b.png' not in ['a.png']", e.NodeErrors[0].Errors[0].Details)
}

// counted counts the lookups of files.
type counted struct {
	shelf
	looks *int
}

func (c counted) Stat(ctx context.Context, name string) (node.Info, error) {
	*c.looks++
	return c.shelf.Stat(ctx, name)
}

func (c counted) List(ctx context.Context, folder node.Folder, limit int) ([]string, error) {
	*c.looks++
	return c.shelf.List(ctx, folder, limit)
}

func TestEachFileIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"0":{"class_type":"Offer","inputs":{"file":"a.png"}}`)
	for i := range 20 {
		fmt.Fprintf(&b, `,"a%d":{"class_type":"Load","inputs":{"image":"a.png"}},"b%d":{"class_type":"Save","inputs":{"images":["a%d",0]}}`, i, i,
			i)
		fmt.Fprintf(&b, `,"c%d":{"class_type":"Load","inputs":{"image":"gone"}},"d%d":{"class_type":"Save","inputs":{"images":["c%d",0]}}`, i, i,
			i)
		fmt.Fprintf(&b, `,"e%d":{"class_type":"Offer","inputs":{"file":"a.png"}}`, i)
	}
	looks := 0
	v := graph.Validator{Classes: classes(t)}
	accepted, err := v.Validate(t.Context(), parse(t, b.String()+"}"), counted{shelf{names: []string{"a.png"}}, &looks}, nil)
	require.NoError(t, err)
	require.Len(t, accepted.Outputs, 41)
	require.Len(t, accepted.NodeErrors, 20)
	require.Equal(t, 3, looks)
}

func TestBadOutputsAreDroppedWhenOneIsGood(t *testing.T) {
	t.Parallel()
	accepted, err := validate(t, `{
		"4":{"class_type":"Save","inputs":{"images":["1",1]}},
		"3":{"class_type":"Show","inputs":{"source":["2",0]}},
		"2":{"class_type":"Text","inputs":{}},
		"1":{"class_type":"Image","inputs":{}},
		"6":{"class_type":"Through","inputs":{"in":["404",0]}},
		"5":{"class_type":"Save","inputs":{"images":["1",0]},"extra":true,"_meta":7}}`)
	require.NoError(t, err)
	require.Equal(t, []string{"5"}, accepted.Outputs)
	require.Equal(t, 2, accepted.NodeCount())
	require.Len(t, accepted.NodeErrors, 2)
	require.Equal(t, []string{"4"}, accepted.NodeErrors[0].DependentOutputs)
	require.Equal(t, "2", accepted.NodeErrors[1].Node)
	require.Equal(t, []string{"3"}, accepted.NodeErrors[1].DependentOutputs)
	require.Equal(t, map[string][]graph.FieldError{
		"4": {{Field: "images", Reason: "Return type mismatch between linked nodes: images, received_type(MASK) mismatch input_type(IMAGE)"}},
		"2": {{Field: "value", Reason: "Required input is missing"}},
	}, accepted.NodeErrors.ByField())
}

func TestTargetsRestrictTheOutputs(t *testing.T) {
	t.Parallel()
	prompt := `{"1":{"class_type":"Image","inputs":{}},"2":{"class_type":"Save","inputs":{"images":["1",0]}},"3":{"class_type":"Save",` +
		`"inputs":{}}}`
	accepted, err := validate(t, prompt, "2", "77")
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, accepted.Outputs)
	require.Empty(t, accepted.NodeErrors)
	require.Equal(t, "{}", toJSON(t, accepted.NodeErrors))
}

func TestWildTypesMatchEverything(t *testing.T) {
	t.Parallel()
	for slot, fits := range map[int]bool{0: true, 1: true, 2: false} {
		_, err := validate(t, fmt.Sprintf(`{"1":{"class_type":"Wild","inputs":{}},"2":{"class_type":"Save","inputs":{"images":["1",%d]}}}`, slot))
		require.Equal(t, fits, err == nil, slot)
	}
	for _, input := range []string{"int", "text"} {
		_, err := validate(t, `{"1":{"class_type":"Wild","inputs":{}},"2":{"class_type":"Set","inputs":{"`+input+`":["1",2]}}}`)
		require.NoError(t, err, "lists of types overlap")
	}
}

func TestOneErrorUnderSeveralOutputsNamesThemAll(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Text","inputs":{}},
		"2":{"class_type":"Show","inputs":{"source":["1",0]}},"3":{"class_type":"Show","inputs":{"source":["2",0]}},
		"4":{"class_type":"Save","inputs":{}}}`)
	require.Equal(t, []string{"2", "3"}, e.NodeErrors[0].DependentOutputs)
	require.Equal(t, []string{"4"}, e.NodeErrors[1].DependentOutputs)
	require.Equal(t, "Required input is missing: images", e.Details)
}

func TestDependentOutputsBehindACycle(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"a":{"class_type":"Show","inputs":{"source":["1",0]}},
		"1":{"class_type":"Through","inputs":{"in":["2",0]}},"2":{"class_type":"Through","inputs":{"in":["1",0]}},
		"b":{"class_type":"Show","inputs":{"source":["2",0]}}}`)
	require.Equal(t, []string{"a", "b"}, e.NodeErrors[0].DependentOutputs)
}

func TestChainOf5000NodesIsAcceptedAndPlanned(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"0":{"class_type":"Text","inputs":{"value":"x"}}`)
	for i := 1; i < 4999; i++ {
		fmt.Fprintf(&b, `,"%d":{"class_type":"Through","inputs":{"in":["%d",0]}}`, i, i-1)
	}
	b.WriteString(`,"end":{"class_type":"Show","inputs":{"source":["4998",0]}}}`)
	accepted, err := validate(t, b.String())
	require.NoError(t, err)
	require.Equal(t, 5000, accepted.NodeCount())
	plan, err := graph.BuildPlan(accepted.Graph, classes(t), accepted.Outputs, nil)
	require.NoError(t, err)
	require.Len(t, plan.Nodes, 5000)
}

func TestManyFailingOutputsStayBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"0":{"class_type":"Text","inputs":{}}`)
	for i := 1; i < 2500; i++ {
		fmt.Fprintf(&b, `,"%d":{"class_type":"Show","inputs":{"source":["%d",0]}}`, i, i-1)
	}
	b.WriteString(`}`)
	e := refused(t, b.String())
	require.Len(t, e.NodeErrors, 1)
	require.Len(t, e.NodeErrors[0].DependentOutputs, 100)
}

// TestHostileCyclesAreRefusedQuickly validates a long path with thousands of links back into it and an output for
// every node of the path, so that the total length of the cycles grows with the square of the size of the graph.
func TestHostileCyclesAreRefusedQuickly(t *testing.T) {
	t.Parallel()
	const n = 1600
	var b strings.Builder
	b.WriteString(`{"out":{"class_type":"Show","inputs":{"source":["0",0]}}`)
	for i := range n {
		back := max(0, n/2-i/2)
		if i < n/2 {
			back = n - 1
		}
		fmt.Fprintf(&b, `,"%d":{"class_type":"Both","inputs":{"b":["%d",0],"a":["%d",0]}},"o%d":{"class_type":"Show","inputs":{"source":["%d",`+
			`0]}}`,
			i, back, (i+1)%n, i, i)
	}
	b.WriteString("}")
	started := time.Now()
	e := refused(t, b.String())
	require.Less(t, time.Since(started), time.Minute) // a tenth of a second on an idle machine
	require.Less(t, len(toJSON(t, e)), 4<<20)
	require.NotEmpty(t, e.NodeErrors)
	dependents := 0
	for _, ne := range e.NodeErrors {
		require.NotEmpty(t, ne.DependentOutputs)
		dependents += len(ne.DependentOutputs)
	}
	require.LessOrEqual(t, dependents, 50_000)
}

func TestCyclesThatShareANodeAreReportedOnce(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"out":{"class_type":"Show","inputs":{"source":["1",0]}},
		"1":{"class_type":"Both","inputs":{"a":["2",0],"b":["1",0]}},"2":{"class_type":"Both","inputs":{"a":["1",0],"b":["3",0]}},
		"3":{"class_type":"Both","inputs":{"a":["1",0],"b":["3",0]}}}`)
	details := map[string]string{}
	for _, ne := range e.NodeErrors {
		require.Len(t, ne.Errors, 1)
		details[ne.Node] = ne.Errors[0].Details
	}
	shared := "1 (Both) -> 2 (Both) -> 1 (Both)"
	require.Equal(t, map[string]string{"1": shared, "2": shared, "3": "3 (Both) -> 3 (Both)"}, details)
}

func TestHugeValuesAreNotEchoed(t *testing.T) {
	t.Parallel()
	e := refused(t, `{"1":{"class_type":"Set","inputs":{"int":"`+strings.Repeat("é", 1<<20)+`"}}}`)
	require.Less(t, len(toJSON(t, e)), 10_000)
	require.True(t, json.Valid([]byte(toJSON(t, e))))
}

func TestBoundsAreInclusive(t *testing.T) {
	t.Parallel()
	for _, inputs := range []string{`{"int":1,"float":-1}`, `{"int":10,"float":1.5}`, `{"int":10.9}`} {
		_, err := validate(t, `{"1":{"class_type":"Set","inputs":`+inputs+`}}`)
		require.NoError(t, err, inputs)
	}
}

func TestListsOf20OptionsAreRepeated(t *testing.T) {
	t.Parallel()
	r, err := node.NewRegistry(&node.Class{
		Name: "Pick", Run: nothing, OutputNode: true, Inputs: []node.Input{{Name: "p", Type: node.Combo, Options: manyOptions(20)}},
	})
	require.NoError(t, err)
	v := graph.Validator{Classes: r}
	_, err = v.Validate(t.Context(), parse(t, `{"1":{"class_type":"Pick","inputs":{"p":"z"}}}`), shelf{}, nil)
	var refusal *graph.PromptError
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, refusal.Details, "not in ['x', 'xx', ")
	require.NotNil(t, refusal.NodeErrors[0].Errors[0].ExtraInfo["input_config"])
}

func TestLinkedInputsAreNotChecked(t *testing.T) {
	t.Parallel()
	_, err := validate(t, `{"0":{"class_type":"Wild","inputs":{}},"1":{"class_type":"Load","inputs":{"image":["0",0]}},
		"2":{"class_type":"Save","inputs":{"images":["1",0]}}}`)
	require.NoError(t, err)
}

// TestLadderGraphsTakePolynomialTime validates a graph with 2^2000 paths from top to bottom.
func TestLadderGraphsTakePolynomialTime(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"0":{"class_type":"Text","inputs":{"value":"x"}}`)
	for i := 1; i <= 2000; i++ {
		fmt.Fprintf(&b, `,"%d":{"class_type":"Switch","inputs":{"on":["%d",0],"no":["%d",0],"yes":["%d",0]}}`, i, i-1, i-1, i-1)
	}
	b.WriteString(`,"out":{"class_type":"Show","inputs":{"source":["2000",0]}}}`)
	prompt := strings.Replace(b.String(), `"on":["0",0]`, `"on":true`, 1)
	accepted, err := validate(t, prompt)
	require.NoError(t, err)
	require.Equal(t, 2002, accepted.NodeCount())
	plan, err := graph.BuildPlan(accepted.Graph, classes(t), accepted.Outputs, nil)
	require.NoError(t, err)
	require.Len(t, plan.Nodes, 2002)
}
