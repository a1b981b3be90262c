package operators

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/api/console/page"
	"github.com/millrace-dev/millrace/internal/operate/doctor"
	"github.com/millrace-dev/millrace/internal/web/console"
)

// examinedFor is how long an examination is shown before a look at the page begins another: it asks every part of the
// deployment, walks through stored files, and may take seconds.
const examinedFor = time.Minute

// examinations keeps the last examination of the doctor.
type examinations struct {
	doctor  doctor.Examiner
	running sync.Mutex // held while the doctor examines

	mu       sync.Mutex // guards those below
	findings []doctor.Finding
	at       time.Time // zero = there is none yet
}

// latest returns the last examination, at the zero time if there is none yet. If it is old, another one begins and does not
// keep the visitor waiting.
func (e *examinations) latest(ctx context.Context, log *slog.Logger) ([]doctor.Finding, time.Time) {
	found, at := e.lastFindings()
	if time.Since(at) >= examinedFor && e.running.TryLock() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), examinedFor)
		go func() {
			defer e.running.Unlock()
			defer cancel()
			if err := e.examine(ctx); err != nil {
				log.Warn("the doctor could not examine; it tries again when its page is opened", "error", err)
			}
		}()
	}
	return found, at
}

// rerun makes another examination, after one that is under way.
func (e *examinations) rerun(ctx context.Context) error {
	e.running.Lock()
	defer e.running.Unlock()
	return e.examine(ctx)
}

func (e *examinations) lastFindings() ([]doctor.Finding, time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.findings, e.at
}

// examine asks the doctor and keeps what it finds. A visitor who leaves cuts it short, and then it is not kept.
func (e *examinations) examine(ctx context.Context) error {
	found, err := e.doctor.Examine(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.findings, e.at = found.Checks, time.Now()
	return nil
}

// showDoctor shows what the doctor has found: GET /console/doctor.
func (r *Section) showDoctor(c *gin.Context, _ page.Visitor) (console.Page, error) {
	found, at := r.examined.latest(c.Request.Context(), r.page.Edge.Logger)
	shown := &DoctorPage{Frame: console.Frame{Title: "Doctor", Live: true, Every: every}, Checks: found, At: at}
	for _, f := range found {
		switch f.Status {
		case doctor.Failing:
			shown.Failing++
		case doctor.Warning:
			shown.Warnings++
		}
	}
	return shown, nil
}

// examineNow examines the deployment anew, which changes nothing in it: POST /console/doctor.
func (r *Section) examineNow(c *gin.Context, _ page.Visitor) (string, error) {
	return "/doctor", r.examined.rerun(c.Request.Context())
}
