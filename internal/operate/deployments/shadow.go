package deployments

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/fault/pause"
	"github.com/millrace-dev/millrace/internal/operate"
	"github.com/millrace-dev/millrace/internal/operate/action"
	"github.com/millrace-dev/millrace/internal/operate/terminal"
	"github.com/millrace-dev/millrace/projections/jobs"
)

// Shadowing selects recorded calls of the version that answers, and the version that runs their inputs again.
type Shadowing struct {
	Version int
	Since   time.Time
	Limit   int // calls, the newest
}

// MaxShadowed bounds the calls of one run.
const MaxShadowed = 200

// Outcome is what running the inputs of a call again has shown.
type Outcome string

// The outcomes.
const (
	Identical Outcome = "identical" // equal outputs, or the same failure
	Differs   Outcome = "differs"
	Broken    Outcome = "failed"  // failed, where the original succeeded
	Repaired  Outcome = "works"   // succeeded, where the original failed
	Refused   Outcome = "refused" // the version does not accept the inputs
	Unended   Outcome = "waiting" // has not ended
)

// Pair is a recorded call beside the job that ran its inputs again.
type Pair struct {
	Call     job.PublicID `json:"call"`
	Job      job.PublicID `json:"-"` // that ran the inputs again
	Outcome  Outcome      `json:"outcome"`
	Detail   string       `json:"detail,omitempty"`
	SlowerMS int64        `json:"slower_ms"` // negative = faster
	Outputs  []Compared   `json:"outputs,omitempty"`
}

// Compared is a file of an output, before and now. One of the two may be missing.
type Compared struct {
	Output     string          `json:"output"`
	Difference float64         `json:"difference"` // mean difference of the pixels of two pictures, 0 to 1; 1 for other files that differ
	Before     *job.OutputFile `json:"before,omitempty"`
	Now        *job.OutputFile `json:"now,omitempty"`
}

// ShadowReport pairs recorded calls with the jobs of a run.
type ShadowReport struct {
	Run       string          `json:"run"`
	Name      string          `json:"name"`
	Version   int             `json:"version"`
	Calls     int             `json:"calls"`
	Counts    map[Outcome]int `json:"outcomes"`
	SlowerP50 int64           `json:"slower_p50_ms"`
	Pairs     []Pair          `json:"pairs"`
}

// Differences returns the number of calls that have ended otherwise than before.
func (r ShadowReport) Differences() int {
	return r.Calls - r.Counts[Identical] - r.Counts[Unended]
}

// Shadow begins a run: it submits the inputs of recorded calls to another version. It returns the run and the calls that are refused.
func (o *Service) Shadow(
	ctx context.Context, d deployment.Deployment, s Shadowing, by operate.Attribution,
) (run string, refused []Pair, err error) {
	calls, err := o.recorded(ctx, d, s)
	if err != nil {
		return "", nil, err
	}
	if len(calls) == 0 {
		return "", nil, fault.New(fault.Conflict, fault.CodeInvalidDeployment, "%s@%d has no ended calls since %s", d.Name, d.Live,
			s.Since.UTC().Format(time.DateTime))
	}
	run = uuid.NewString()
	for _, j := range calls {
		source, err := o.Sources.Load(ctx, d.Account, j.ID)
		if fault.Is(err, fault.NotFound) {
			refused = append(refused, Pair{Call: j.PublicID(), Outcome: Refused, Detail: "its inputs are no longer stored"})
			continue
		}
		if err != nil {
			return run, refused, err
		}
		err = o.Deployments.Repeat(ctx, d, s.Version, run, deployment.Recorded{Job: j.ID, Inputs: source.Inputs, ExtraData: source.ExtraData}, by)
		switch {
		case fault.Is(err, fault.Invalid):
			refused = append(refused, Pair{Call: j.PublicID(), Outcome: Refused, Detail: operate.ErrorLine(err)})
		case err != nil:
			return run, refused, err
		}
	}
	return run, refused, nil
}

// recorded returns the newest ended calls of the version that answers.
func (o *Service) recorded(ctx context.Context, d deployment.Deployment, s Shadowing) (calls []job.Job, err error) {
	limit := min(cmp.Or(s.Limit, MaxShadowed), MaxShadowed)
	q := jobs.Query{Deployed: string(d.ID), States: []job.State{job.Succeeded, job.Failed}, Limit: MaxShadowed}
	for {
		page, err := o.Jobs.List(ctx, d.Account, q)
		if err != nil {
			return nil, err
		}
		for _, j := range page.Jobs {
			if j.SubmittedAt.Before(s.Since) || len(calls) == limit {
				return calls, nil
			}
			if j.Deployment.Version == d.Live {
				calls = append(calls, j)
			}
		}
		if q.Before = page.Next; q.Before == 0 {
			return calls, nil
		}
	}
}

// jobsOf selects jobs of a run.
func jobsOf(d deployment.Deployment, run string, limit int, states ...job.State) jobs.Query {
	return jobs.Query{Deployed: string(d.ID), Metadata: map[string]string{deployment.ShadowRun: run}, States: states, Limit: limit}
}

// Report pairs the calls of a run with its jobs. A run of which nothing is stored is NotFound.
func (o *Service) Report(ctx context.Context, d deployment.Deployment, run string) (ShadowReport, error) {
	r := ShadowReport{Run: run, Name: d.Name}
	page, err := o.Jobs.List(ctx, account.Shadow(d.Account), jobsOf(d, run, MaxShadowed))
	if err == nil && len(page.Jobs) == 0 {
		err = fault.New(fault.NotFound, fault.CodeNotFound, "%s has no such run", d.Name)
	}
	if err != nil {
		return r, err
	}
	r.Version = page.Jobs[0].Deployment.Version
	for _, j := range page.Jobs {
		of, err := o.Jobs.Job(ctx, d.Account, job.ID(j.Metadata[deployment.ShadowOf]))
		if fault.Is(err, fault.NotFound) {
			continue // was retired meanwhile
		}
		if err != nil {
			return r, err
		}
		pair, err := o.pair(ctx, of, j)
		if err != nil {
			return r, err
		}
		r.Pairs = append(r.Pairs, pair)
	}
	return r.summed(), nil
}

// summed counts the pairs.
func (r ShadowReport) summed() ShadowReport {
	r.Calls, r.Counts = len(r.Pairs), map[Outcome]int{}
	var slower []int64
	for _, p := range r.Pairs {
		r.Counts[p.Outcome]++
		if p.Outcome == Identical || p.Outcome == Differs {
			slower = append(slower, p.SlowerMS)
		}
	}
	if slices.Sort(slower); len(slower) > 0 {
		r.SlowerP50 = slower[len(slower)/2]
	}
	return r
}

// pair compares the ends of a call and of the job that ran its inputs again.
func (o *Service) pair(ctx context.Context, of, now job.Job) (Pair, error) {
	p := Pair{Call: of.PublicID(), Job: now.PublicID(), Outcome: Identical}
	switch {
	case !now.State.Final():
		p.Outcome = Unended
		return p, nil
	case now.State != job.Succeeded && of.State == job.Succeeded:
		p.Outcome, p.Detail = Broken, reasonOf(now)
		return p, nil
	case now.State == job.Succeeded && of.State != job.Succeeded:
		p.Outcome, p.Detail = Repaired, "it failed before: "+reasonOf(of)
		return p, nil
	case now.State != job.Succeeded:
		if reasonOf(now) != reasonOf(of) {
			p.Outcome, p.Detail = Differs, fmt.Sprintf("it fails with %q, and failed with %q", reasonOf(now), reasonOf(of))
		}
		return p, nil
	}
	p.SlowerMS = (ran(now) - ran(of)).Milliseconds()
	var err error
	if p.Outputs, err = o.compare(ctx, of, now); err != nil {
		return p, err
	}
	worst := 0.0
	for _, c := range p.Outputs {
		worst = max(worst, c.Difference)
	}
	switch {
	case worst > 0:
		p.Outcome, p.Detail = Differs, fmt.Sprintf("by %.2f %%", 100*worst)
	case textsOf(of) != textsOf(now):
		p.Outcome, p.Detail = Differs, "its texts and values differ"
	}
	return p, nil
}

func reasonOf(j job.Job) string {
	if j.Error == nil {
		return string(j.State)
	}
	return j.Error.Message
}

// ran returns how long a job ran after it was admitted: a job of a hidden account waits longer.
func ran(j job.Job) time.Duration {
	if j.EndedAt == nil || j.StartedAt == nil {
		return 0
	}
	return j.EndedAt.Sub(*j.StartedAt)
}

// textsOf returns the values of a job's outputs that are not files, by name.
func textsOf(j job.Job) string {
	values := map[string]json.RawMessage{}
	for _, out := range j.Outputs {
		if name, inner := j.Deployment.OutputOf(out); name != "" && len(out.Files) == 0 {
			values[name+inner] = out.UI
		}
	}
	raw, _ := json.Marshal(values) // the values were read from JSON
	return string(raw)
}

type shadowParams struct {
	owned

	Since  time.Duration `name:"since" default:"24h" help:"how old the recorded calls may be"`
	Limit  int           `name:"limit" default:"200" min:"1" max:"200" help:"the most calls, the newest first"`
	Run    string        `name:"run" help:"report on this run in place of starting one"`
	NoWait bool          `name:"no_wait" help:"do not wait for the ends; --run reports on them later"`
}

// shadowPoll is how often a command asks whether a run has ended.
const shadowPoll = time.Second

var shadow = action.Of[*Service, shadowParams, ShadowReport]{
	Spec: action.Spec{Commands: []action.Command{{
		Use: "shadow NAME", Short: "Run recorded inputs of the version that answers through NAME@VERSION, and compare",
		Long: `Run the inputs of recorded calls through another version and pair each output with the original. The jobs are in no
list of the account, are billed to nobody, send no messages, and wait for all other jobs; their outputs are kept
for a day, and so long can --run report on a run. Calls whose inputs the version refuses make no jobs: only the
command that starts a run reports them.`,
		Example: "  millrace deployments shadow portrait@2 --since 24h",
	}}},
	Do: func(ctx context.Context, o *Service, p shadowParams, by operate.Attribution) (ShadowReport, error) {
		read := p.Deployment.version
		if p.Run != "" {
			read = p.Deployment.split
		}
		name, version, err := read()
		if err != nil {
			return ShadowReport{}, err
		}
		d, err := o.Deployments.Find(ctx, p.Account, name)
		if err != nil {
			return ShadowReport{}, err
		}
		run, refused := p.Run, []Pair(nil)
		if run == "" {
			run, refused, err = o.Shadow(ctx, d, Shadowing{Version: version, Since: time.Now().Add(-p.Since), Limit: p.Limit}, by)
		}
		if err == nil && !p.NoWait {
			err = o.await(ctx, d, run)
		}
		r := ShadowReport{}
		if err == nil {
			r, err = o.Report(ctx, d, run)
		}
		if fault.Is(err, fault.NotFound) && len(refused) > 0 { // every call is refused
			r.Version, err = version, nil
		}
		if err != nil && run != "" {
			err = fmt.Errorf("shadow run %s: %w", run, err)
		}
		r.Pairs = append(r.Pairs, refused...)
		return r.summed(), err
	},
	Show: showShadow,
}.Untyped()

// await returns when the jobs of a run have ended.
func (o *Service) await(ctx context.Context, d deployment.Deployment, run string) error {
	for {
		open, err := o.Jobs.List(ctx, account.Shadow(d.Account), jobsOf(d, run, 1, job.OpenStates()...))
		if err != nil || len(open.Jobs) == 0 {
			return err
		}
		if err := pause.For(ctx, shadowPoll); err != nil {
			return err
		}
	}
}

func showShadow(out *terminal.Printer, _ shadowParams, r ShadowReport) {
	out.Printf("run %s\n", r.Run)
	out.Printf("%d recorded calls through %s@%d: %d identical, %d differ, %d fail, %d work that failed, %d refused, %d not ended\n", r.Calls,
		r.Name, r.Version, r.Counts[Identical], r.Counts[Differs], r.Counts[Broken], r.Counts[Repaired], r.Counts[Refused], r.Counts[Unended])
	out.Printf("median change of the duration: %+d ms\n", r.SlowerP50)
	var rows [][]terminal.Cell
	for _, p := range r.Pairs {
		if p.Outcome != Identical {
			rows = append(rows, terminal.Cells(string(p.Call), string(p.Outcome), fmt.Sprintf("%+d ms", p.SlowerMS), p.Detail))
		}
	}
	if len(rows) > 0 {
		out.Table([]string{"CALL", "OUTCOME", "SLOWER BY", ""}, rows)
	}
}
