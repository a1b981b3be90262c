package console

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/edge"
	"github.com/millrace-dev/millrace/api/httperr"
	"github.com/millrace-dev/millrace/internal/domain/account"
	"github.com/millrace-dev/millrace/internal/engine/graph"
	"github.com/millrace-dev/millrace/internal/fault"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// pages renders the pages below one path: those of the console, or those around an editor.
type pages struct {
	edge      *edge.Edge
	base      string // path of the pages
	templates *console.Pages
}

// prefix returns the path below which the service lies, "" for the root.
func (p *pages) prefix(c *gin.Context) string {
	base, err := url.Parse(p.edge.BaseURL(c.Request))
	if err != nil {
		return ""
	}
	return strings.TrimRight(base.Path, "/")
}

// render writes a page whole or, when it cannot be made, an error.
func (p *pages) render(c *gin.Context, status int, write func(*bytes.Buffer, console.Frame) error) {
	nonce := rand.Text()
	var b bytes.Buffer
	frame := console.Frame{Prefix: p.prefix(c), Base: p.base, Nonce: nonce, SignIn: p.edge.Mode() != account.ModeNone && status != http.StatusUnauthorized}
	if err := write(&b, frame); err != nil {
		p.edge.Logger.Error("page not rendered", "request_id", edge.RequestID(c), "error", err)
		c.Status(http.StatusInternalServerError)
		return
	}
	console.Guard(c.Writer.Header(), nonce)
	c.Status(status)
	c.Writer.Write(b.Bytes()) // the browser is gone
}

// problem shows what is public of an error.
func (p *pages) problem(c *gin.Context, err error) {
	status, message := http.StatusInternalServerError, "Something went wrong here. The log has it under request "+edge.RequestID(c)+"."
	var known *fault.Error
	var refused *graph.PromptError
	if errors.As(err, &refused) {
		status, message = http.StatusBadRequest, "The graph is not accepted any more: "+refused.Message
	} else if errors.As(err, &known) && known.Kind != fault.Internal {
		status, _ = httperr.V2Verdict(known.Kind, known.Code)
		message = known.Message
	} else {
		p.edge.Logger.Error("page failed", "request_id", edge.RequestID(c), "error", err)
	}
	p.render(c, status, func(b *bytes.Buffer, f console.Frame) error {
		f.Title = "Problem"
		return p.templates.Problem(b, console.ProblemPage{Frame: f, Status: status, Message: message})
	})
}

// ask shows the page on which a key is given; wrong says that the one given is none.
func (p *pages) ask(c *gin.Context, status int, wrong bool) {
	p.render(c, status, func(b *bytes.Buffer, f console.Frame) error {
		f.Title, f.SignIn = "Sign in", false
		return p.templates.SignIn(b, console.SignInPage{Frame: f, Wrong: wrong})
	})
}
