package deployment_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/eventlog"
	"github.com/millrace-dev/millrace/internal/fault"
)

// events returns the data of the last change, or nothing.
func (k *kept) events() (all []any) {
	for _, e := range k.last.Events {
		all = append(all, e.Data)
	}
	return all
}

// A version is added once, and becomes the one that answers only if it is the first.
func TestAVersionIsAddedOnce(t *testing.T) {
	t.Parallel()
	f, _ := newCalls(t)
	content := func(size int) deployment.Content {
		return deployment.Content{Graph: fmt.Appendf(nil, `{"2":{"class_type":"Paint","inputs":{"size":%d}}}`, size), Schema: sized()}
	}
	first, err := f.Add(t.Context(), "acme", "portrait", content(1), ada)
	require.NoError(t, err)
	require.True(t, first.Created)
	require.False(t, first.Same)
	require.Equal(t, ada.Meta(), f.store.last.Meta)
	require.Zero(t, f.store.last.Expected)
	events := f.store.events()
	require.Len(t, events, 3)
	made, ok := events[0].(deployment.CreatedV1)
	require.True(t, ok)
	require.NotEmpty(t, made.Salt)
	require.Equal(t, []any{
		deployment.CreatedV1{Name: "portrait", Salt: made.Salt},
		deployment.VersionAddedV1{Version: 1, Digest: first.Version.Digest.String(), Inputs: 1, Outputs: 2},
		deployment.PromotedV1{Version: 1},
	}, events)
	require.Equal(t, 1, first.Version.Number)
	require.Equal(t, 1, first.Deployment.Live)

	commits := f.store.commits
	same, err := f.Add(t.Context(), "acme", "portrait", content(1), ada)
	require.NoError(t, err)
	require.Equal(t, deployment.Added{Deployment: first.Deployment, Version: first.Version, Same: true}, same)
	require.Equal(t, commits, f.store.commits)

	second, err := f.Add(t.Context(), "acme", "portrait", content(2), ada)
	require.NoError(t, err)
	require.False(t, second.Created || second.Same)
	digest := second.Version.Digest.String()
	require.Equal(t, []any{deployment.VersionAddedV1{Version: 2, Digest: digest, Inputs: 1, Outputs: 2}}, f.store.events())
	require.EqualValues(t, 3, f.store.last.Expected)
	require.Equal(t, 2, second.Version.Number)
	require.Equal(t, 1, second.Deployment.Live)

	for len(f.store.all[0].Versions) < 1000 {
		f.store.all[0].Versions = append(f.store.all[0].Versions, deployment.Version{Number: len(f.store.all[0].Versions) + 1})
	}
	_, err = f.Add(t.Context(), "acme", "portrait", content(3), ada)
	require.True(t, fault.Is(err, fault.Exhausted), err)
	f.store.all[0].Versions = f.store.all[0].Versions[:999]
	last, err := f.Add(t.Context(), "acme", "portrait", content(3), ada)
	require.NoError(t, err)
	require.Equal(t, 1000, last.Version.Number)

	for name, c := range map[string]struct {
		name    string
		by      eventlog.By
		content deployment.Content
		code    fault.Code
	}{
		"a name that is none": {"Portrait", ada, content(1), fault.CodeInvalidDeployment},
		"a long reason":       {"portrait", eventlog.By{Reason: strings.Repeat("x", 1001)}, content(1), fault.CodeInvalidRequest},
		"a large content": {
			"portrait", ada, deployment.Content{Graph: json.RawMessage(`"` + strings.Repeat("x", 32<<20) + `"`)}, fault.CodeInvalidDeployment,
		},
	} {
		_, err := f.Add(t.Context(), "acme", c.name, c.content, c.by)
		require.Equal(t, c.code, fault.CodeOf(err), name)
	}
}

// A command is decided again after a concurrent change, ten times at most, and a command that changes nothing records nothing.
func TestACommandIsDecidedAgainAfterAConcurrentOne(t *testing.T) {
	t.Parallel()
	for _, do := range []func(filling) error{
		func(f filling) error { _, err := f.Stop(t.Context(), "acme", "portrait", ada); return err },
		func(f filling) error {
			_, err := f.Add(t.Context(), "acme", "portrait", deployment.Content{Graph: json.RawMessage(`{}`)}, ada)
			return err
		},
	} {
		for others, fails := range map[int]bool{1: false, 9: false, 10: true} {
			f, _ := newCalls(t)
			f.put("portrait", sizedPaint, sized())
			f.store.others = others
			err := do(f)
			if fails {
				require.ErrorIs(t, err, eventlog.ErrVersion)
				require.Equal(t, 10, f.store.commits)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, others+1, f.store.commits)
		}
	}
}

// Which version answers is decided by promotions and rollbacks, each recorded as what it changes.
func TestPromotionsAndRollbacksDecideWhichVersionAnswers(t *testing.T) {
	t.Parallel()
	type d = deployment.Routing
	ready := func(live, shared, percent int) d {
		return d{State: deployment.Ready, Live: live, Share: deployment.Share{Version: shared, Percent: percent}}
	}
	promote := func(version, percent int) func(filling) (deployment.Deployment, error) {
		return func(f filling) (deployment.Deployment, error) {
			return f.Promote(t.Context(), deployment.Promotion{Account: "acme", Name: "portrait", Version: version, Percent: percent, By: ada})
		}
	}
	back := func(f filling) (deployment.Deployment, error) {
		return f.RollBack(t.Context(), "acme", "portrait", ada)
	}
	stop := func(f filling) (deployment.Deployment, error) { return f.Stop(t.Context(), "acme", "portrait", ada) }
	start := func(f filling) (deployment.Deployment, error) { return f.Start(t.Context(), "acme", "portrait", ada) }
	remove := func(f filling) (deployment.Deployment, error) { return f.Delete(t.Context(), "acme", "portrait", ada) }
	stopped := ready(1, 0, 0)
	stopped.State = deployment.Stopped
	gone := ready(1, 0, 0)
	gone.State = deployment.Deleted
	for name, c := range map[string]struct {
		given  d
		before []int
		do     func(filling) (deployment.Deployment, error)
		event  any // nil = nothing is recorded
		want   d
		code   fault.Code
		says   string
	}{
		"all calls":               {ready(1, 0, 0), nil, promote(2, 100), deployment.PromotedV1{Version: 2}, ready(2, 0, 0), "", ""},
		"all calls again":         {ready(1, 0, 0), nil, promote(1, 100), nil, ready(1, 0, 0), "", ""},
		"all calls, and no share": {ready(1, 2, 5), nil, promote(1, 100), deployment.PromotedV1{Version: 1}, ready(1, 0, 0), "", ""},
		"all calls after a share": {ready(1, 2, 5), nil, promote(2, 100), deployment.PromotedV1{Version: 2}, ready(2, 0, 0), "", ""},
		"a share":                 {ready(1, 0, 0), nil, promote(2, 1), deployment.SharedV1{Version: 2, Percent: 1}, ready(1, 2, 1), "", ""},
		"a large share":           {ready(1, 0, 0), nil, promote(2, 99), deployment.SharedV1{Version: 2, Percent: 99}, ready(1, 2, 99), "", ""},
		"another share":           {ready(1, 2, 5), nil, promote(2, 6), deployment.SharedV1{Version: 2, Percent: 6}, ready(1, 2, 6), "", ""},
		"the same share":          {ready(1, 2, 5), nil, promote(2, 5), nil, ready(1, 2, 5), "", ""},
		"the end of a share":      {ready(1, 2, 5), nil, promote(2, 0), deployment.SharedV1{}, ready(1, 0, 0), "", ""},
		"the end of no share":     {ready(1, 0, 0), nil, promote(2, 0), nil, ready(1, 0, 0), "", ""},
		"the end of another share": {
			ready(1, 2, 5), nil, promote(1, 0), nil, d{}, fault.CodeInvalidDeployment, "portrait@1 has no share; portrait@2 has one",
		},
		"a share of what answers": {
			ready(1, 0, 0), nil, promote(1, 5), nil, d{}, fault.CodeInvalidDeployment, "portrait@1 answers already; give a share to another version",
		},
		"too much":             {ready(1, 0, 0), nil, promote(2, 101), nil, d{}, fault.CodeInvalidDeployment, "from 0 to 100, not 101"},
		"less than nothing":    {ready(1, 0, 0), nil, promote(2, -1), nil, d{}, fault.CodeInvalidDeployment, "from 0 to 100, not -1"},
		"no version":           {ready(1, 0, 0), nil, promote(3, 100), nil, d{}, fault.CodeVersionNotFound, "its versions are 1 to 2"},
		"version 0":            {ready(1, 0, 0), nil, promote(0, 0), nil, d{}, fault.CodeVersionNotFound, "its versions are 1 to 2"},
		"a rollback":           {ready(2, 0, 0), []int{2, 1}, back, deployment.RolledBackV1{Version: 1, From: 2}, ready(1, 0, 0), "", ""},
		"a rollback of shares": {ready(1, 2, 5), []int{2}, back, deployment.RolledBackV1{Version: 1, From: 2}, ready(1, 0, 0), "", ""},
		"a rollback to none": {
			ready(1, 0, 0), nil, back, nil, d{}, fault.CodeInvalidDeployment, "no version of portrait answered before portrait@1",
		},
		"a stop":    {ready(1, 0, 0), nil, stop, deployment.StoppedV1{}, stopped, "", ""},
		"two stops": {stopped, nil, stop, nil, stopped, "", ""},
		"a start":   {stopped, nil, start, deployment.StartedV1{}, ready(1, 0, 0), "", ""},
		"no start":  {ready(1, 0, 0), nil, start, nil, ready(1, 0, 0), "", ""},
		"an end":    {ready(1, 0, 0), nil, remove, deployment.DeletedV1{}, gone, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := newCalls(t)
			f.put("portrait", sizedPaint, sized())
			f.version("portrait", strings.Replace(sizedPaint, "1", "1", 1), pictured())
			f.store.all[0].Routing, f.store.all[0].Before, f.store.all[0].Revision = c.given, c.before, 7
			got, err := c.do(f)
			if c.code != "" {
				require.Equal(t, c.code, fault.CodeOf(err))
				require.ErrorContains(t, err, c.says)
				require.Zero(t, f.store.commits)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got.Routing)
			require.Equal(t, "portrait", got.Name)
			if c.event == nil {
				require.Zero(t, f.store.commits)
				return
			}
			require.Equal(t, []any{c.event}, f.store.events())
			require.Equal(t, ada.Meta(), f.store.last.Meta)
			require.EqualValues(t, 7, f.store.last.Expected)
		})
	}
}

// A version that cannot run now is promoted only by force, and what it lacks is recorded. The end of a share needs no server.
func TestAVersionThatCannotRunIsPromotedByForce(t *testing.T) {
	t.Parallel()
	f, _ := newCalls(t)
	f.put("portrait", sizedPaint, sized())
	f.version("portrait", `{"1":{"class_type":"Gone","inputs":{}},"2":{"class_type":"Missing","inputs":{}}}`,
		callable.Schema{Outputs: []callable.Output{{Name: "a", Node: "1"}, {Name: "b", Node: "2"}}})
	missing := []string{"no server has the class Gone", "no server has the class Missing"}
	p := deployment.Promotion{Account: "acme", Name: "portrait", Version: 2, Percent: 100, By: ada}
	_, err := f.Promote(t.Context(), p)
	require.Equal(t, fault.CodeDeploymentNotReady, fault.CodeOf(err))
	require.True(t, fault.Is(err, fault.Conflict))
	var refused *fault.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, map[string]any{"missing": missing}, refused.Details)
	require.Equal(t, "portrait@2 cannot run now: "+strings.Join(missing, "; "), refused.Message)
	require.Zero(t, f.store.commits)
	p.Force = true
	p.Percent = 5
	_, err = f.Promote(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, []any{deployment.SharedV1{Version: 2, Percent: 5, Missing: missing}}, f.store.events())
	p.Percent, p.Force = 0, false
	_, err = f.Promote(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, []any{deployment.SharedV1{}}, f.store.events())
	p.Percent, p.Force = 100, true
	_, err = f.Promote(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, []any{deployment.PromotedV1{Version: 2, Missing: missing}}, f.store.events())
	f.put("round", `{"1":{"class_type":"Deployment.round","inputs":{}}}`, callable.Schema{})
	_, err = f.Promote(t.Context(), deployment.Promotion{Account: "acme", Name: "round", Version: 1, Percent: 100, Force: true, By: ada})
	require.ErrorContains(t, err, "would call itself")
}

// A reason has at most a thousand bytes, and a name with a NUL character names no deployment.
func TestReasonsAreBoundedAndNamesAreText(t *testing.T) {
	t.Parallel()
	f, _ := newCalls(t)
	f.put("portrait", sizedPaint, sized())
	by := eventlog.By{Reason: strings.Repeat("x", 1001)}
	_, err := f.Stop(t.Context(), "acme", "portrait", by)
	require.Equal(t, fault.CodeInvalidRequest, fault.CodeOf(err))
	by.Reason = by.Reason[1:]
	_, err = f.Stop(t.Context(), "acme", "portrait", by)
	require.NoError(t, err)
	f.store.found = 0
	_, err = f.Find(t.Context(), "acme", "a\x00")
	require.Equal(t, fault.CodeDeploymentNotFound, fault.CodeOf(err))
	require.Zero(t, f.store.found)
}

// The schema, the content and the changes of a version are those that were stored, and a version that does not exist has none.
func TestAVersionShowsWhatWasStored(t *testing.T) {
	t.Parallel()
	f, _ := newCalls(t)
	f.put("portrait", sizedPaint, sized())
	f.version("portrait", sizedPaint, pictured())
	d, err := f.Find(t.Context(), "acme", "portrait")
	require.NoError(t, err)
	schema, err := f.Schema(t.Context(), d, 2)
	require.NoError(t, err)
	require.Equal(t, pictured(), *schema)
	content, err := f.Content(t.Context(), d, 1)
	require.NoError(t, err)
	require.JSONEq(t, sizedPaint, string(content.Graph))
	require.Equal(t, sized(), content.Schema)
	changes, err := f.Diff(t.Context(), d, 1, 2)
	require.NoError(t, err)
	require.NotEmpty(t, changes)
	again, err := f.Diff(t.Context(), d, 1, 2)
	require.NoError(t, err)
	require.Equal(t, changes, again)
	none, err := f.Diff(t.Context(), d, 1, 1)
	require.NoError(t, err)
	require.Empty(t, none)
	for _, number := range []int{0, 3} {
		_, err = f.Schema(t.Context(), d, number)
		require.Equal(t, fault.CodeVersionNotFound, fault.CodeOf(err))
		_, err = f.Content(t.Context(), d, number)
		require.Equal(t, fault.CodeVersionNotFound, fault.CodeOf(err))
		_, err = f.Diff(t.Context(), d, 1, number)
		require.Equal(t, fault.CodeVersionNotFound, fault.CodeOf(err))
		_, err = f.Diff(t.Context(), d, number, 1)
		require.Equal(t, fault.CodeVersionNotFound, fault.CodeOf(err))
		require.Equal(t, fault.CodeVersionNotFound, fault.CodeOf(f.Check(t.Context(), d, number, nil, false)))
	}
	require.NoError(t, f.Check(t.Context(), d, 1, map[string]json.RawMessage{"size": json.RawMessage("3")}, false))
	err = f.Check(t.Context(), d, 1, map[string]json.RawMessage{"size": json.RawMessage(`"x"`)}, false)
	require.Equal(t, fault.CodeInvalidInput, fault.CodeOf(err))
	d.State = deployment.Stopped
	require.Equal(t, fault.CodeDeploymentStopped, fault.CodeOf(f.Check(t.Context(), d, 1, nil, false)))
}

// A graph that cannot become a version is refused, and one that can keeps its pin.
func TestAGraphBecomesAVersion(t *testing.T) {
	t.Parallel()
	f, _ := newCalls(t)
	named := callable.Named{Inputs: []string{"size=2.size"}, Outputs: []string{"large=2"}}
	made, err := f.Derive(t.Context(), "acme", deployment.Source{Document: []byte(sizedPaint), Named: named, Pin: deployment.PinStrict})
	require.NoError(t, err)
	require.Equal(t, deployment.PinStrict, made.Content.Pin)
	require.Contains(t, made.Content.Classes, "Paint")
	require.Equal(t, "large", made.Content.Schema.Outputs[0].Name)
	for name, c := range map[string]struct {
		src  deployment.Source
		says string
	}{
		"a pin that is none": {deployment.Source{Document: []byte(sizedPaint), Named: named, Pin: "loose"}, `not "loose"`},
		"no graph":           {deployment.Source{Document: []byte("{"), Named: named}, ""},
		"a graph that is too large": {
			deployment.Source{Document: []byte(strings.Repeat(" ", 32<<20) + "x"), Named: named},
			"a graph may have at most 33554432 bytes, not 33554433",
		},
	} {
		_, err := f.Derive(t.Context(), "acme", c.src)
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", name, err)
		require.ErrorContains(t, err, c.says, name)
	}
	largest := []byte(sizedPaint + strings.Repeat(" ", 32<<20-len(sizedPaint)))
	_, err = f.Derive(t.Context(), "acme", deployment.Source{Document: largest, Named: named})
	require.NotContains(t, fmt.Sprint(err), "a graph may have at most", "as large as allowed")
}

// A version with a strict pin answers no call while the definition of a class differs, and another one does.
func TestAStrictPinRefusesCallsAfterAChange(t *testing.T) {
	t.Parallel()
	for pin, refused := range map[deployment.Pin]bool{deployment.PinStrict: true, deployment.PinWarn: false} {
		for digest, differs := range map[string]bool{"": false, "0": true} {
			f, in := newCalls(t)
			_, err := f.Add(t.Context(), "acme", "portrait", deployment.Content{
				Graph: json.RawMessage(sizedPaint), Schema: sized(), Pin: pin, Classes: map[string]string{"Paint": digest},
			}, ada)
			require.NoError(t, err)
			_, err = f.Call(t.Context(), deployment.Call{Deployment: "portrait", Submission: job.Submission{
				Account: "acme", Inputs: map[string]json.RawMessage{"size": json.RawMessage("1")},
			}})
			if !refused || !differs {
				require.NoError(t, err)
				require.Len(t, in.taken, 1)
				continue
			}
			require.Empty(t, in.taken)
			require.Equal(t, fault.CodeDeploymentNotReady, fault.CodeOf(err))
			require.EqualError(t, err, "portrait@1 cannot run now: the definitions of Paint have changed")
			require.NoError(t, f.NoteDrift(t.Context()))
			require.Equal(t, []any{deployment.DriftedV1{Version: 1, Classes: []string{"Paint"}}}, f.store.events())
			require.Equal(t, eventlog.Meta{Actor: "millrace"}, f.store.last.Meta)
			commits := f.store.commits
			require.NoError(t, f.NoteDrift(t.Context()))
			require.Equal(t, commits, f.store.commits, "it is recorded once")
		}
	}
}
