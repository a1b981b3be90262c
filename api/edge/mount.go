package edge

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/millrace-dev/millrace/internal/domain/deployment"
	"github.com/millrace-dev/millrace/internal/engine/callable"
	"github.com/millrace-dev/millrace/internal/storage/signedurl"
)

// Deployments finds deployments; deployment.Service implements it.
type Deployments interface {
	// Find returns the deployment of an account with a name or an id, or NotFound.
	Find(ctx context.Context, account, name string) (deployment.Deployment, error)
	// Recent is Find from the memory of this process, which may be behind the log.
	Recent(account, name string) (deployment.Deployment, bool)
	// Schema returns the inputs and outputs of a version of a deployment.
	Schema(ctx context.Context, d deployment.Deployment, number int) (*callable.Schema, error)
}

// mountPrefix begins the paths of deployments: /deployment/{name or id}/api/v2/… is the v2 API for one deployment. A name may be
// followed by "@" and a version, which then answers every call.
const mountPrefix = "/deployment/"

// DeploymentHeader is the header of every answer of a deployment, such as "portrait@2".
const DeploymentHeader = "X-Millrace-Deployment"

// callPath is the path of calls below that of a deployment.
const callPath = "/api/v2/jobs"

type mountKey struct{}

// mountPoint is the deployment of a request's path, as it was written, with the version if it names one.
type mountPoint struct{ path, name string } // "/deployment/portrait", "portrait"

// mounted serves the v2 API below the paths of deployments by the routes of the v2 API. Links to files stay below the path too.
func mounted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, mountPrefix)
		name, path, _ := strings.Cut(rest, "/")
		path = "/" + path
		if !ok || name == "" || path != "/api/v2" && !strings.HasPrefix(path, "/api/v2/") && !strings.HasPrefix(path, signedurl.Prefix) {
			next.ServeHTTP(w, r)
			return
		}
		m := mountPoint{(&url.URL{Path: mountPrefix + name}).EscapedPath(), name}
		r = r.WithContext(context.WithValue(r.Context(), mountKey{}, m))
		u := *r.URL
		u.Path = path
		if u.RawPath != "" {
			raw := strings.TrimPrefix(u.RawPath, mountPrefix)
			u.RawPath = raw[max(0, strings.IndexByte(raw, '/')):]
		}
		r.URL = &u
		next.ServeHTTP(w, r)
	})
}

// mountOf returns the deployment's path of a request, if it has one.
func mountOf(r *http.Request) (mountPoint, bool) {
	m, ok := r.Context().Value(mountKey{}).(mountPoint)
	return m, ok
}

// Mounted is the deployment below whose path a request was made.
type Mounted struct {
	deployment.Deployment
	Asked  string // name or id in the path
	Pinned int    // version that the path names; 0 = none
}

const mountedKey = "millrace.deployment"

// Mount returns the deployment below whose path a request was made, or nil.
func Mount(c *gin.Context) *Mounted {
	found, _ := c.Get(mountedKey)
	m, _ := found.(*Mounted)
	return m
}

// findMount finds the deployment of a request's path among those of the caller.
func (e *Edge) findMount(c *gin.Context) error {
	point, ok := mountOf(c.Request)
	if !ok {
		return nil
	}
	name, version, err := deployment.Reference(point.name)
	if err != nil || e.Deployments == nil {
		return deployment.ErrNone(point.name)
	}
	account := Caller(c).Account
	call := c.Request.Method == http.MethodPost && c.Request.URL.Path == callPath
	d, remembered := e.Deployments.Recent(account, name)
	if !call || !remembered || version > len(d.Versions) { // the transaction that records a call finds out whether it is outdated
		d, err = e.Deployments.Find(c.Request.Context(), account, name)
	}
	if err == nil && (!Caller(c).Calls(d.Name) || version > len(d.Versions)) {
		err = deployment.ErrNone(point.name)
	}
	if err != nil {
		return err
	}
	c.Set(mountedKey, &Mounted{Deployment: d, Asked: name, Pinned: version})
	NameVersion(c, d.Name, cmp.Or(version, d.Live))
	return nil
}

// NameVersion sets the header that names the version of a deployment which an answer is about.
func NameVersion(c *gin.Context, name string, version int) {
	c.Header(DeploymentHeader, fmt.Sprintf("%s@%d", name, version))
}
