package deployments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/millrace-dev/millrace/api/console/form"
	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/outbound/dataurl"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// address returns the address of the API of a deployment.
func (s *Section) address(c *gin.Context, f Found) string {
	return s.Page.Edge.BaseURL(c.Request) + strings.TrimSuffix("/deployment"+strings.TrimPrefix(f.path(), "/deployments"), "/") + "/api/v2"
}

// snippets returns programs that make a call, and the configuration of an MCP client, whose tool has the name of the deployment.
func (s *Section) snippets(c *gin.Context, f Found, inputs json.RawMessage) []form.Snippet {
	body := append(append([]byte(`{"inputs":`), inputs...), '}')
	keyed := s.Page.Edge.Mode() != account.ModeNone
	server := map[string]any{"type": "http", "url": s.Page.Edge.BaseURL(c.Request) + "/mcp"}
	if keyed {
		server["headers"] = map[string]string{"Authorization": "Bearer ${MILLRACE_API_KEY}"}
	}
	config, err := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"millrace": server}}, "", "  ")
	if err != nil {
		return nil
	}
	return append(form.Snippets(s.address(c, f)+"/jobs", body, keyed), form.Snippet{Language: "MCP", Text: string(config) + "\n"})
}

// sent returns the form with the values that a browser sent, and the inputs that they are, nil if one has the wrong type.
func (s *Section) sent(c *gin.Context, f Found) (*form.Form, json.RawMessage, error) {
	inputs, err := s.form(c, f)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Request.ParseMultipartForm(maxForm); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return nil, nil, fault.Wrap(err, fault.Invalid, fault.CodeInvalidRequest,
			"The form cannot be read: its values may have at most %d MiB.", maxForm>>20)
	}
	values := c.Request.PostForm
	for _, one := range inputs.Fields {
		if header, err := c.FormFile("file:" + one.Name); one.Kind == "file" && err == nil && header.Size > 0 {
			f, err := header.Open()
			if err != nil {
				return nil, nil, err
			}
			data, err := io.ReadAll(f)
			if err = errors.Join(err, f.Close()); err != nil {
				return nil, nil, err
			}
			values.Set(form.InputField+one.Name, dataurl.Format("", data))
		}
	}
	body, err := inputs.Read(values)
	return inputs, body, err
}

// code shows programs that make the call of a form, and runs nothing: POST /console/deployments/{name}/code.
func (s *Section) code(c *gin.Context, v page.Visitor, f Found) (console.Page, error) {
	inputs, body, err := s.sent(c, f)
	if err != nil {
		return nil, err
	}
	return s.again(c, v, f, inputs, body, nil)
}

// again shows a form as it was sent, with why it is refused.
func (s *Section) again(c *gin.Context, v page.Visitor, f Found, inputs *form.Form, body json.RawMessage,
	refused *callable.Invalid,
) (console.Page, error) {
	shown, err := s.page(c, v, f, inputs)
	if err != nil {
		return nil, err
	}
	shown.Live = false // a refreshed page would lose the values
	if token := c.PostForm("token"); token != "" && len(token) <= maxToken {
		shown.Token = token
	}
	switch {
	case body == nil:
		shown.Problem = "Some values do not have the type that their inputs accept."
	case refused != nil:
		shown.Problem = "Some values are not accepted."
		for _, p := range refused.Problems {
			if p.Input == "" {
				shown.Problem = page.Sentence(p.String())
			}
			inputs.Refuse(p.Input, page.Sentence(p.Reason))
		}
	}
	if body != nil {
		shown.Code = s.snippets(c, f, body)
	}
	return shown, nil
}

// maxToken bounds the token of a form, in bytes.
const maxToken = 64

// run calls the deployment with the values of the form: POST /console/deployments/{name}/run. The answer is the page with the call
// beside the form, or the form with what is wrong.
func (s *Section) run(c *gin.Context, v page.Visitor, f Found) (console.Page, error) {
	inputs, body, err := s.sent(c, f)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return s.again(c, v, f, inputs, nil, nil)
	}
	made, err := s.call(c, v, f, body)
	var refused *callable.Invalid
	if errors.As(err, &refused) {
		return s.again(c, v, f, inputs, body, refused)
	}
	if err != nil {
		return nil, err
	}
	s.Page.Redirect(c, v, f.path()+"?job="+string(made))
	return nil, nil
}

// call records the call of a form. A form that is sent twice names the same job, and is one call.
func (s *Section) call(c *gin.Context, v page.Visitor, f Found, body json.RawMessage) (job.PublicID, error) {
	if err := s.Page.Edge.CheckSpace(c, v.Account); err != nil {
		return "", err
	}
	sub := job.Submission{Surface: job.SurfaceV2, ExtraData: map[string]json.RawMessage{}, Actor: v.Actor()}
	if err := json.Unmarshal(body, &sub.Inputs); err != nil {
		return "", fmt.Errorf("read the values of a form: %w", err)
	}
	if token := c.PostForm("token"); token != "" && len(token) <= maxToken {
		sub.PublicID = job.PublicID(uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(token+"\x00"), body...)).String())
	}
	sub, err := jobio.PrepareFor(v.Identity, v.Key(), edge.RequestID(c), sub)
	if err != nil {
		return "", err
	}
	asked := deployment.Call{Deployment: string(f.ID), Submission: sub}
	if f.Pinned {
		asked.Version = f.Shown
	}
	called, err := s.Deployments.Call(c.Request.Context(), asked)
	if fault.CodeOf(err) == fault.CodeCredentialRequired && v.Key() != "" { // partner nodes use the key with which the visitor signed in
		asked.Submission.Credential = v.Key()
		called, err = s.Deployments.Call(c.Request.Context(), asked)
	}
	if fault.CodeOf(err) == fault.CodeDuplicateJob {
		return sub.PublicID, nil
	}
	return called.Job.PublicID(), err
}
