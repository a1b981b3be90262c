package graph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/engine/node"
	"github.com/millrace-dev/millrace/internal/fault"
)

func planOf(t *testing.T, prompt string, outputs ...string) *graph.Plan {
	t.Helper()
	plan, err := graph.BuildPlan(parse(t, prompt), classes(t), outputs, nil)
	require.NoError(t, err)
	return plan
}

func ids(plan *graph.Plan) []string {
	var out []string
	for _, n := range plan.Nodes {
		out = append(out, n.ID)
	}
	return out
}

func TestPlanHoldsTheNeededNodesInOrder(t *testing.T) {
	t.Parallel()
	plan := planOf(t, `{
		"out":{"class_type":"Save","inputs":{"images":["mid",0],"unknown":["idle",0]}},
		"mid":{"class_type":"Through","inputs":{"in":["src",1]}},
		"idle":{"class_type":"Image","inputs":{}},
		"src":{"class_type":"Image","inputs":{}},
		"other":{"class_type":"Save","inputs":{"images":["src",0]}}}`, "out")
	require.Equal(t, []string{"src", "mid", "out"}, ids(plan))
	require.Equal(t, map[string]graph.Link{"in": {Unit: 0, Slot: 1}}, plan.Nodes[1].Links)
	require.True(t, plan.Nodes[2].Output)
	require.False(t, plan.Nodes[0].Output)
	require.Equal(t, int64(1<<20), plan.Nodes[2].Pixels)
	require.Equal(t, (1<<20)*100*time.Nanosecond, plan.Nodes[0].Cost)
	require.Equal(t, graph.Shape{Units: []graph.Unit{{Millis: 105}, {Deps: []int{0}}, {Deps: []int{1}, Output: true}}}, plan.Shape())
}

// The expected order is that of ComfyUI, simulated node by node: among the ready nodes, an output node comes first,
// then a node that an output node reads, then a node two links from an output node, then the node that is discovered
// first from the outputs.
func TestNodesRunInTheOrderOfComfyUI(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		from := map[string][]string{} // in the order of the inputs
		var nodes, outputs []string
		for i := range 2 + r.IntN(25) {
			id := "n" + strconv.Itoa(i)
			class := `"Image","inputs":{}`
			if i > 0 && r.IntN(4) > 0 {
				from[id] = []string{"n" + strconv.Itoa(r.IntN(i))}
				class = `"Through","inputs":{"in":["` + from[id][0] + `",0]}`
			}
			nodes = append(nodes, `"`+id+`":{"class_type":`+class+`}`)
			if r.IntN(3) == 0 || i == 0 {
				out := "out" + strconv.Itoa(i)
				from[out], outputs = []string{id}, append(outputs, out)
				nodes = append(nodes, `"`+out+`":{"class_type":"Save","inputs":{"images":["`+id+`",0]}}`)
			}
		}
		r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		r.Shuffle(len(outputs), func(i, j int) { outputs[i], outputs[j] = outputs[j], outputs[i] })
		require.Equal(t, comfyOrder(from, outputs), ids(planOf(t, "{"+strings.Join(nodes, ",")+"}", outputs...)), "seed %d", seed)
	}
}

// comfyOrder lists the nodes that the outputs need in the order in which ComfyUI runs them. Ids of outputs begin with "out".
func comfyOrder(from map[string][]string, outputs []string) (order []string) {
	var pending []string
	for _, out := range outputs {
		for stack := []string{out}; len(stack) > 0; {
			id := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !slices.Contains(pending, id) {
				pending = append(pending, id)
				stack = append(stack, from[id]...)
			}
		}
	}
	isOutput := func(id string) bool { return strings.HasPrefix(id, "out") }
	anyReader := func(id string, matches func(string) bool) bool {
		return slices.ContainsFunc(pending, func(r string) bool { return slices.Contains(from[r], id) && matches(r) })
	}
	readByOutput := func(id string) bool { return anyReader(id, isOutput) }
	preferences := []func(string) bool{
		isOutput, readByOutput,
		func(id string) bool { return anyReader(id, readByOutput) },
		func(string) bool { return true },
	}
	for len(pending) > 0 {
		ready := slices.DeleteFunc(slices.Clone(pending), func(id string) bool {
			return slices.ContainsFunc(from[id], func(f string) bool { return slices.Contains(pending, f) })
		})
		for _, preferred := range preferences {
			if i := slices.IndexFunc(ready, preferred); i >= 0 {
				order = append(order, ready[i])
				pending = slices.DeleteFunc(pending, func(id string) bool { return id == ready[i] })
				break
			}
		}
	}
	return order
}

// An output that is ready when another node fails is saved before the failure, because no node runs after the failed
// one.
func TestReadyOutputsRunBeforeNodesThatMayFail(t *testing.T) {
	t.Parallel()
	plan := planOf(t, `{"1":{"class_type":"Image","inputs":{}},"2":{"class_type":"Through","inputs":{"in":["1",0]}},
		"3":{"class_type":"Save","inputs":{"images":["2",0]}},"4":{"class_type":"Save","inputs":{"images":["1",0]}}}`, "3", "4")
	require.Equal(t, []string{"1", "4", "2", "3"}, ids(plan))
}

func TestConstantsAreConverted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		inputs string
		want   node.Args
	}{
		"floats are truncated":   {`{"int":3.7}`, node.Args{"int": int64(3)}},
		"digits in text":         {`{"int":" 7_0 ","float":"1_0.5e0"}`, node.Args{"int": int64(70), "float": 10.5}},
		"booleans are numbers":   {`{"int":true,"float":false}`, node.Args{"int": int64(1), "float": 0.0}},
		"integers become floats": {`{"float":1}`, node.Args{"float": 1.0}},
		"numbers become text":    {`{"text":1.0}`, node.Args{"text": "1.0"}},
		"big floats as Python's": {`{"text":1e22}`, node.Args{"text": "1e+22"}},
		"null becomes text":      {`{"text":null}`, node.Args{"text": "None"}},
		"structures become text": {`{"text":{"a":[1,"b",false]}}`, node.Args{"text": "{'a': [1, 'b', False]}"}},
		"other numbers are true": {`{"flag":0.5}`, node.Args{"flag": true}},
		"even infinite ones":     {`{"flag":1e400}`, node.Args{"flag": true}},
		"an empty list is false": {`{"flag":{"__value__":[]}}`, node.Args{"flag": false}},
		"a list is true":         {`{"flag":{"__value__":[0]}}`, node.Args{"flag": true}},
		"any text is true":       {`{"flag":"false"}`, node.Args{"flag": true}},
		"zero is false":          {`{"flag":0.0}`, node.Args{"flag": false}},
		"empty is false":         {`{"flag":{}}`, node.Args{"flag": false}},
		"lists come wrapped": {
			`{"box":{"__value__":[1,2.5,{"a":1}]}}`,
			node.Args{"box": []any{int64(1), 2.5, map[string]any{"a": int64(1)}}},
		},
		"structures pass":            {`{"box":{"x":1,"y":2.0}}`, node.Args{"box": map[string]any{"x": int64(1), "y": 2.0}}},
		"unknown inputs are dropped": {`{"nope":1}`, node.Args{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := planOf(t, `{"1":{"class_type":"Set","inputs":`+tt.inputs+`}}`, "1")
			require.Equal(t, tt.want, plan.Nodes[0].Constants)
		})
	}
}

func TestConstantsThatCannotBeConverted(t *testing.T) {
	t.Parallel()
	for _, inputs := range []string{
		`{"int":1e19}`, `{"int":9223372036854775808}`, `{"int":-1e400}`, `{"int":"99999999999999999999"}`, `{"int":"0x10"}`, `{"int":"1__0"}`,
		`{"int":""}`, `{"int":{"__value__":[1]}}`, `{"float":1e400}`, `{"float":"nan"}`, `{"float":"0x1p4"}`, `{"float":"_1"}`, `{"float":null}`,
	} {
		_, err := graph.BuildPlan(parse(t, `{"1":{"class_type":"Set","inputs":`+inputs+`}}`), classes(t), []string{"1"}, nil)
		require.Equal(t, fault.Invalid, fault.KindOf(err), inputs)
	}
}

const switched = `"t":{"class_type":"Text","inputs":{"value":"x"}},"a":{"class_type":"Text","inputs":{"value":"a"}},
	"b":{"class_type":"Through","inputs":{"in":["a",0]}},"out":{"class_type":"Show","inputs":{"source":["s",0]}}}`

func TestLazyInputsWaitForTheirSwitch(t *testing.T) {
	t.Parallel()
	plan := planOf(t, `{"s":{"class_type":"Switch","inputs":{"on":["w",0],"no":["t",0],"yes":["b",0]}},
		"w":{"class_type":"Wild","inputs":{}},`+switched, "out")
	require.Equal(t, []string{"w", "a", "b", "t", "s", "out"}, ids(plan))
	require.Equal(t, []string{"no", "yes"}, plan.Nodes[4].Lazy)
	require.True(t, plan.Nodes[4].IsLazy("yes"))
	require.False(t, plan.Nodes[4].IsLazy("on"))
	require.Equal(t, graph.Unit{Deps: []int{0}, Lazy: []graph.LazyDep{{Input: "no", Unit: 3}, {Input: "yes", Unit: 2}}}, plan.Shape().Units[4])
}

func TestConstantSwitchIsDecidedByThePlan(t *testing.T) {
	t.Parallel()
	plan := planOf(t, `{"s":{"class_type":"Switch","inputs":{"on":true,"no":["t",0],"yes":["b",0]}},`+switched, "out")
	require.Equal(t, []string{"a", "b", "s", "out"}, ids(plan))
	require.Empty(t, plan.Nodes[2].Lazy)
	require.Equal(t, map[string]graph.Link{"yes": {Unit: 1}}, plan.Nodes[2].Links)
}

func TestPlanSizesNamedFiles(t *testing.T) {
	t.Parallel()
	r, err := node.NewRegistry(&node.Class{
		Name: "Load", Run: nothing, OutputNode: true, Inputs: []node.Input{{Name: "image", Type: node.Combo, Folder: node.FolderInput}},
		Cost: func(_ node.Args, pixels int64) time.Duration { return time.Duration(pixels) },
	})
	require.NoError(t, err)
	g := parse(t, `{"1":{"class_type":"Load","inputs":{"image":"a.png"}}}`)
	plan, err := graph.BuildPlan(g, r, []string{"1"}, func(name string) int64 { return int64(len(name)) })
	require.NoError(t, err)
	require.Equal(t, time.Duration(5), plan.Nodes[0].Cost)
	unsized, err := graph.BuildPlan(g, r, []string{"1"}, nil)
	require.NoError(t, err)
	require.Equal(t, toJSON(t, unsized), toJSON(t, plan), "estimates are not part of a plan's identity")
}

func TestPlanRefusesAGraphThatDoesNotFitTheClasses(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{
		"missing node":  `{"1":{"class_type":"Show","inputs":{"source":["2",0]}}}`,
		"unknown class": `{"1":{"class_type":"Nope","inputs":{}}}`,
		"no such slot":  `{"2":{"class_type":"Text","inputs":{"value":""}},"1":{"class_type":"Show","inputs":{"source":["2",1]}}}`,
		"bad constant":  `{"1":{"class_type":"Set","inputs":{"int":"x"}}}`,
		"cycle":         `{"1":{"class_type":"Show","inputs":{"source":["1",0]}}}`,
	} {
		_, err := graph.BuildPlan(parse(t, prompt), classes(t), []string{"1"}, nil)
		require.Equal(t, fault.Invalid, fault.KindOf(err), name)
	}
}

// TestEstimatesNeverOverflow multiplies a size along a chain of nodes, as repeated batching does.
func TestEstimatesNeverOverflow(t *testing.T) {
	t.Parallel()
	r, err := node.NewRegistry(&node.Class{
		Name: "Repeat", Run: nothing, OutputNode: true, Outputs: []node.Output{{Type: node.Image}},
		Inputs: []node.Input{{Name: "in", Type: node.Image, Section: node.Optional}},
		Pixels: func(_ node.Args, upstream int64) int64 { return max(upstream, 1<<30) * (1<<20 + 1) },
		Cost:   func(_ node.Args, pixels int64) time.Duration { return time.Duration(pixels) * 1000 },
	})
	require.NoError(t, err)
	g := parse(t, `{"1":{"class_type":"Repeat","inputs":{}},"2":{"class_type":"Repeat","inputs":{"in":["1",0]}},"3":{"class_type":"Repeat",`+
		`"inputs":{"in":["2",0]}}}`)
	plan, err := graph.BuildPlan(g, r, []string{"3"}, nil)
	require.NoError(t, err)
	for _, n := range plan.Nodes {
		require.Equal(t, int64(1<<40), n.Pixels)
		require.Equal(t, (1<<40)*time.Microsecond, n.Cost)
	}
}

func TestSegmentKeyDependsOnItsNodes(t *testing.T) {
	t.Parallel()
	key := func(s graph.Segment) int {
		k, err := s.Key()
		require.NoError(t, err)
		require.GreaterOrEqual(t, k, 0)
		require.LessOrEqual(t, k, math.MaxInt32)
		return k
	}
	segment := func(id, class string) graph.Segment {
		return graph.Segment{Nodes: []graph.PlanNode{{ID: id, Class: class, Constants: node.Args{"a": 1, "b": "x"}}}}
	}
	require.Equal(t, key(segment("1", "KSampler")), key(segment("1", "KSampler")))
	require.NotEqual(t, key(segment("1", "KSampler")), key(segment("2", "KSampler")))
	require.NotEqual(t, key(segment("1", "KSampler")), key(segment("1", "VAEDecode")))
}
