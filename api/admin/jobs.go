package admin

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	operatejobs "github.com/millrace-dev/millrace/internal/operate/jobs"
)

// searchJobs serves GET /admin/jobs.
func (s *server) searchJobs(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := operatejobs.Filter{States: q["status"], Account: q.Get("account"), Since: q.Get("since"), Class: q.Get("class")}
	var err error
	if f.Limit, err = count(q, "limit"); err != nil {
		return err
	}
	found, err := s.Jobs.Search(r.Context(), f)
	return respond(w, http.StatusOK, map[string]any{"jobs": found}, err)
}

// showJob serves GET /admin/jobs/{id}. A state at an earlier version or time does not list the retries of the job.
func (s *server) showJob(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Query().Has("at") {
		return past{"job", s.JobHistories}.state(w, r)
	}
	id, err := s.JobHistories.Find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	state, retries, err := s.Jobs.State(r.Context(), job.ID(id))
	return respond(w, http.StatusOK, map[string]any{"job": state, "retries": retries}, err)
}

// retryBody holds the changes that a retry of one job may make.
type retryBody struct {
	change
	FromNode     string                     `json:"from_node"`
	Set          map[string]json.RawMessage `json:"set"` // node.input → value
	Credential   string                     `json:"credential"`
	NoCredential bool                       `json:"no_credential"`
}

// changeJob serves POST /admin/jobs/{id}/retry, …/cancel and …/requeue.
func (s *server) changeJob(w http.ResponseWriter, r *http.Request, verb string) error {
	id, err := s.jobNamed(r)
	if err != nil {
		return err
	}
	if verb == "retry" {
		return s.retryJob(w, r, id)
	}
	var body change
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	if _, _, err := s.Jobs.State(r.Context(), id); err != nil {
		return err
	}
	all, err := s.Jobs.Each(r.Context(), verb, []job.ID{id}, by)
	if err != nil {
		return err
	}
	if all[0].Done == "refused" {
		return fault.New(fault.Conflict, all[0].Code, "%s", all[0].Detail)
	}
	write(w, http.StatusOK, all[0])
	return nil
}

func (s *server) retryJob(w http.ResponseWriter, r *http.Request, id job.ID) error {
	var body retryBody
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	retry := job.Retry{
		Of: id, FromNode: body.FromNode, Credential: body.Credential, NoCredential: body.NoCredential,
		Actor: by.Actor, Reason: by.Reason, RequestID: by.RequestID,
	}
	targets := make([]string, 0, len(body.Set))
	for target := range body.Set {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	for _, target := range targets {
		retry.Set = append(retry.Set, job.Assignment{Target: target, Value: body.Set[target]})
	}
	out, err := s.Jobs.Retry(r.Context(), retry)
	return respond(w, http.StatusCreated, out, err)
}

// bulkBody selects jobs by filter. Without confirm, the request is a dry run.
type bulkBody struct {
	change
	Filter  operatejobs.Filter `json:"filter"`
	Confirm bool               `json:"confirm"`
}

// changeJobs serves POST /admin/jobs/retry, …/cancel and …/requeue for every job that the filter selects.
func (s *server) changeJobs(w http.ResponseWriter, r *http.Request, verb string) error {
	var body bulkBody
	by, err := decodeChange(r, &body)
	if err != nil {
		return err
	}
	f := body.Filter
	if len(f.States) == 0 && f.Account == "" && f.Since == "" && f.Class == "" {
		return fault.New(fault.Invalid, fault.CodeInvalidRequest, "the filter must name a status, an account, a class or a time")
	}
	found, err := s.Jobs.Search(r.Context(), f)
	if err != nil {
		return err
	}
	ids := make([]job.ID, len(found))
	for i, j := range found {
		ids[len(found)-1-i] = j.ID
	}
	if len(ids) == 0 {
		return fault.New(fault.NotFound, fault.CodeNoMatch, "no job matches the filter; nothing was changed")
	}
	if body.Confirm {
		all, err := s.Jobs.Each(r.Context(), verb, ids, by)
		if err != nil {
			return err
		}
		write(w, http.StatusOK, map[string]any{"outcomes": all})
		return nil
	}
	all, err := s.Jobs.Would(r.Context(), verb, ids, by)
	return respond(w, http.StatusOK, map[string]any{"outcomes": all, "confirm": "repeat with confirm: true"}, err)
}
