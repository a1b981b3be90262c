package openai

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/called"
	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/jobio"
	"github.com/millrace-dev/millrace/api/request"
	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/domain/job"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/storage/blob"
)

// generate makes pictures from a text: POST /openai/v1/images/generations.
func (s *Surface) generate(c *gin.Context) error {
	p, err := readJSON(c)
	if err != nil {
		return err
	}
	return s.answer(c, p)
}

// edit makes pictures from pictures: POST /openai/v1/images/edits.
func (s *Surface) edit(c *gin.Context) error {
	p, err := readForm(c)
	if err != nil {
		return err
	}
	return s.answer(c, p)
}

// answer runs a request and answers with its pictures.
func (s *Surface) answer(c *gin.Context, p params) error {
	if p.text("model") == "" {
		return refuse("model", "model takes the name of a deployment")
	}
	key, err := request.IdempotencyKey(c.Request)
	if err != nil {
		return err
	}
	leave, err := s.Called.Enter(edge.Caller(c).Account)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.opts.Wait)
	defer cancel()
	d, err := s.Called.Find(ctx, s.caller(c), p.text("model"))
	if err != nil {
		return &paramError{"model", err}
	}
	schema, err := s.Called.Deployments.Schema(ctx, d, d.Live)
	if err != nil {
		return err
	}
	r, err := p.understand(schema)
	if err != nil {
		return err
	}
	if r.n > 1 && len(key) > maxKey {
		return refuse("n", "the Idempotency-Key of a request for several pictures has at most %d characters", maxKey)
	}
	made, own, err := s.submit(c, ctx, d, &r, key)
	failed := false
	for i := 0; i < len(made) && err == nil; i++ {
		if made[i], err = s.Called.Wait(ctx, made[i]); err == nil && made[i].State != job.Succeeded {
			failed, err = true, s.unfinished(ctx, d, made[i])
		}
	}
	if err != nil {
		if key == "" || failed { // else the client can collect the pictures by its key
			s.Called.Abandon(ctx, s.caller(c), own...)
		}
		return err
	}
	if files := pictures(made); !r.asURL && len(files) > 0 {
		return s.sendContents(c, files)
	}
	data := []picture{}
	for _, j := range made {
		for _, out := range jobio.Outputs(j) {
			if isPicture(out.File) {
				data = append(data, picture{URL: jobio.RenderOutput(s.Called.Links, s.Edge.BaseURL(c.Request), j.PublicID(), out).URL})
			}
		}
	}
	return edge.OK(c, map[string]any{"created": time.Now().Unix(), "data": data}, nil)
}

func (s *Surface) caller(c *gin.Context) called.Caller {
	return called.CallerOf(c, s.Edge, job.SurfaceOpenAI)
}

// maxKey bounds the key of a request for several pictures, which is extended by their numbers.
const maxKey = 250

// submit calls the deployment once for each picture. It returns the jobs even if it fails; own are those that no earlier request with
// the key made. The first call has the key of the request, so that the key means the same call on every surface.
func (s *Surface) submit(c *gin.Context, ctx context.Context, d deployment.Deployment, r *images, key string) (
	made, own []job.Job, err error,
) {
	for i := range r.n {
		each := key
		if key != "" && i > 0 {
			each = fmt.Sprintf("%s/%d", key, i)
		}
		one, err := s.Called.Begin(ctx, s.caller(c), d, each, r.call(i))
		if err != nil {
			return made, own, err
		}
		edge.NameVersion(c, one.Deployment.Name, one.Version)
		if made = append(made, one.Job); !one.Replayed {
			own = append(own, one.Job)
		}
	}
	return made, own, nil
}

// unfinished returns the error of a job that did not succeed. OpenAI's clients retry server errors, and a retry would run the job again,
// so the failure is reported as an invalid request.
func (s *Surface) unfinished(ctx context.Context, d deployment.Deployment, j job.Job) error {
	return fault.New(fault.Invalid, fault.CodeInvalidInput, "%s", s.Called.Failure(ctx, d, j))
}

// picture is a picture in the form of OpenAI, without its content.
type picture struct {
	URL string `json:"url"`
}

// isPicture reports whether a file belongs in an answer.
func isPicture(f job.OutputFile) bool {
	return f.Folder == "output" && strings.HasPrefix(f.ContentType, "image/")
}

// pictures returns the pictures that jobs saved.
func pictures(made []job.Job) (files []job.OutputFile) {
	for _, j := range made {
		for _, out := range jobio.Outputs(j) {
			if isPicture(out.File) {
				files = append(files, out.File)
			}
		}
	}
	return files
}

// maxAnswer bounds the pictures of an answer with their content, in bytes.
const maxAnswer = 256 << 20

// sendContents answers with the content of pictures in base64. Each goes from the store to the connection in small parts. A failure after
// the beginning of the answer drops the connection.
func (s *Surface) sendContents(c *gin.Context, files []job.OutputFile) error {
	var size int64
	for _, f := range files {
		if size += f.Size; size > maxAnswer {
			return fault.New(fault.Exhausted, fault.CodeTooLarge, "the pictures are larger than %d bytes; ask for their URLs", maxAnswer)
		}
	}
	begin := fmt.Sprintf(`{"created":%d,"data":[`, time.Now().Unix())
	for _, f := range files {
		content, err := s.open(c.Request.Context(), f)
		if err != nil && !c.Writer.Written() {
			return err
		}
		if err == nil {
			err = sendContent(c, begin, content)
		}
		if err != nil {
			s.Edge.Logger.Warn("answer with pictures broken off", "request_id", edge.RequestID(c), "error", err)
			panic(http.ErrAbortHandler)
		}
		begin = ","
	}
	_, err := io.WriteString(c.Writer, "]}\n")
	return err
}

// sendContent writes one picture after a text, and closes its content.
func sendContent(c *gin.Context, begin string, content io.ReadCloser) error {
	defer content.Close()
	c.Header("Content-Type", "application/json; charset=utf-8")
	if _, err := io.WriteString(c.Writer, begin+`{"b64_json":"`); err != nil {
		return err
	}
	w := base64.NewEncoder(base64.StdEncoding, c.Writer)
	if _, err := io.Copy(w, content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(c.Writer, `"}`)
	return err
}

func (s *Surface) open(ctx context.Context, f job.OutputFile) (io.ReadCloser, error) {
	ref, err := blob.ParseRef(f.Hash)
	if err != nil {
		return nil, err
	}
	return s.Blobs.Open(ctx, ref)
}
