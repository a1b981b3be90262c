package console

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/config/amount"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// BulkPage shows what an action would do to the selected jobs.
type BulkPage struct {
	console.Frame
	Action  string // retry, cancel or export
	Lines   []BulkLine
	IDs     []job.PublicID // jobs that the action would change
	Count   int
	Allowed bool         // the visitor may carry out the action
	Archive template.URL // query of the archive, for an export
}

// BulkLine is one selected job.
type BulkLine struct {
	Job  job.Job
	Acts bool   // the action would change the job
	What string // description of the change
}

// http11Abort cuts the connection after an answer has begun, so that the client sees an incomplete answer.
var http11Abort = http.ErrAbortHandler

// maxBulk bounds the jobs of one action: a page of the list.
const maxBulk = pageSize

// chosen returns the jobs of the visitor's account with the given ids.
func (s *Surface) chosen(c *gin.Context, v page.Visitor, ids []string) ([]job.Job, error) {
	if len(ids) == 0 {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "No job is selected: go back and select some.")
	}
	if len(ids) > maxBulk {
		return nil, fault.New(fault.Invalid, fault.CodeInvalidRequest, "Select at most %d jobs.", maxBulk)
	}
	var found []job.Job
	for _, text := range ids {
		j, err := s.jobNamed(c, v, text)
		if err != nil {
			return nil, err
		}
		found = append(found, j)
	}
	return found, nil
}

// preview shows what an action would do to each selected job: GET /console/jobs/bulk. It changes nothing.
func (s *Surface) preview(c *gin.Context, v page.Visitor) (console.Page, error) {
	found, err := s.chosen(c, v, c.QueryArray("id"))
	if err != nil {
		return nil, err
	}
	shown := &BulkPage{Frame: console.Frame{Title: "Selected jobs"}, Action: c.Query("action")}
	for _, j := range found {
		line := BulkLine{Job: j}
		switch shown.Action {
		case "cancel":
			line.Acts, line.What = cancelChoice(j)
		case "retry":
			line.Acts, line.What, err = s.retryChoice(c.Request.Context(), v, j)
		case "export":
			line.Acts, line.What = exportChoice(j)
		default:
			err = fault.New(fault.Invalid, fault.CodeInvalidRequest, "There is no action %q.", shown.Action)
		}
		if err != nil {
			return nil, err
		}
		if line.Acts {
			shown.Count++
			shown.IDs = append(shown.IDs, j.PublicID())
		}
		shown.Lines = append(shown.Lines, line)
	}
	shown.Allowed = shown.Action == "export" || v.Allows(account.ScopeWrite)
	if shown.Action == "export" {
		shown.Archive = v.Query(url.Values{"id": texts(shown.IDs)})
	}
	return shown, nil
}

func texts(ids []job.PublicID) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(id)
	}
	return all
}

func cancelChoice(j job.Job) (bool, string) {
	switch {
	case j.State.Final():
		return false, "The job has ended: it cannot be canceled."
	case j.State == job.Queued:
		return true, "The job leaves the queue and never runs."
	case j.State == job.Canceling:
		return false, "A cancel was already requested."
	}
	return true, fmt.Sprintf("The job stops. %d of %d nodes are done; their saved files stay.", j.NodesDone, j.NodesTotal)
}

// retryChoice returns the outcome that a retry would have, without making one.
func (s *Surface) retryChoice(ctx context.Context, v page.Visitor, j job.Job) (bool, string, error) {
	err := s.Retry.Check(ctx, job.Retry{Of: j.ID, Account: v.Account, Actor: v.Actor(), Credential: v.Key()})
	if err == nil {
		return true, "The job runs again as a new job. Nodes with cached results do not run again; this job stays as it is.", nil
	}
	if message, ok := refusal(err); ok {
		return false, "The job cannot be run again: " + message, nil
	}
	return false, "", err
}

func exportChoice(j job.Job) (bool, string) {
	var bytes int64
	all := jobio.Outputs(j)
	for _, o := range all {
		bytes += o.File.Size
	}
	if len(all) == 0 {
		return false, "The job has no files."
	}
	return true, fmt.Sprintf("%d files, %s.", len(all), amount.Bytes(bytes))
}

// bulk applies the action of the preview to the selected jobs: POST /console/jobs/bulk. A job that has ended or
// changed since then is skipped.
func (s *Surface) bulk(c *gin.Context, v page.Visitor) (string, error) {
	found, err := s.chosen(c, v, c.PostFormArray("id"))
	if err != nil {
		return "", err
	}
	var done int
	switch action := c.PostForm("action"); action {
	case "cancel":
		ids := make([]job.ID, len(found))
		for i, j := range found {
			ids[i] = j.ID
		}
		request, err := cancellation(c, v, ids...)
		if err != nil {
			return "", err
		}
		stopped, err := s.Jobs.CancelAs(c.Request.Context(), request)
		if err != nil {
			return "", err
		}
		done = len(stopped)
	case "retry":
		if done, err = s.retryMany(c, v, found); err != nil {
			return "", err
		}
	default:
		return "", fault.New(fault.Invalid, fault.CodeInvalidRequest, "There is no action %q.", action)
	}
	return "?" + url.Values{"done": {fmt.Sprintf("%s %d of %d", c.PostForm("action"), done, len(found))}}.Encode(), nil
}

// cancellation is a visitor's request to cancel jobs, with the actor and the reason to record.
func cancellation(c *gin.Context, v page.Visitor, ids ...job.ID) (job.CancelRequest, error) {
	reason, err := page.Reason(c)
	if err != nil {
		return job.CancelRequest{}, err
	}
	return job.CancelRequest{Account: v.Account, IDs: ids, Actor: v.Actor(), Reason: reason, RequestID: edge.RequestID(c)}, nil
}

func (s *Surface) retryMany(c *gin.Context, v page.Visitor, found []job.Job) (int, error) {
	reason, err := page.Reason(c)
	if err != nil {
		return 0, err
	}
	done := 0
	for _, j := range found {
		if err := s.Edge.CheckSpace(c, v.Account); err != nil {
			return done, err
		}
		_, err := s.retryAs(c, v, job.Retry{
			Of: j.ID, Account: v.Account, Reason: reason, Actor: v.Actor(), RequestID: edge.RequestID(c),
		})
		if _, refused := refusal(err); err != nil && !refused {
			return done, err
		}
		if err == nil {
			done++
		}
	}
	return done, nil
}
