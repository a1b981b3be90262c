package machines

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-dev/millrace/internal/domain/pool"
	"github.com/millrace-dev/millrace/internal/fault/pause"
)

// cluster is a provider whose machines are the pods of a Deployment of Kubernetes. It scales the Deployment by one for each machine, and
// marks the pod that it takes for a machine with the name of the machine.
type cluster struct {
	pool.Provider
	most   int // replicas
	token  string
	client *http.Client

	scaleAt, podsAt string // paths
}

// podFiles has the credentials of a pod.
const podFiles = "/var/run/secrets/kubernetes.io/serviceaccount/"

// Annotations of pods. Of the pods that are ready, Kubernetes ends the one with the lowest cost first.
const (
	machineOf    = "millrace.dev/machine"
	deletionCost = "controller.kubernetes.io/pod-deletion-cost"
)

// Statuses that are expected.
const (
	conflict = refusal(http.StatusConflict)
	notFound = refusal(http.StatusNotFound)
)

const (
	maxPods    = 32 << 20 // bytes of a list
	podEvery   = time.Second
	undoWithin = 10 * time.Second
)

// openCluster reads the credentials as they are now, because they are renewed.
func openCluster(p pool.Pool) (*cluster, error) {
	c := &cluster{
		Provider: p.Provider, most: p.Spec.Max, podsAt: "/api/v1/namespaces/" + p.Namespace + "/pods",
		scaleAt: "/apis/apps/v1/namespaces/" + p.Namespace + "/deployments/" + p.Deployment + "/scale",
	}
	if c.Server == "" {
		c.Server = "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
		c.TokenFile, c.CAFile = cmp.Or(c.TokenFile, podFiles+"token"), cmp.Or(c.CAFile, podFiles+"ca.crt")
	}
	token, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return nil, failure("the token of Kubernetes cannot be read from token_file")
	}
	c.token = strings.TrimSpace(string(token))
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		authorities, err := os.ReadFile(c.CAFile)
		if trust.RootCAs = x509.NewCertPool(); err != nil || !trust.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, failure("the certificates of Kubernetes cannot be read from ca_file")
		}
	}
	c.client = &http.Client{
		Transport:     &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// do sends a request, with a patch if it is one, and reads its answer.
func (c *cluster) do(ctx context.Context, method, path string, patch, into any) error {
	body := &bytes.Buffer{}
	if patch != nil {
		if err := json.NewEncoder(body).Encode(patch); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Server, "/")+path, body)
	if err != nil {
		return failure("has an address that is none")
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if patch != nil {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	res, err := c.client.Do(req)
	if err != nil {
		return failure("got no answer")
	}
	return read(res, maxPods, into)
}

// pod is the part of a pod that matters here.
type pod struct {
	Metadata meta `json:"metadata"`
	Status   struct {
		Phase string     `json:"phase"`
		PodIP netip.Addr `json:"podIP"`
	} `json:"status"`
}

type meta struct {
	Name              string            `json:"name,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	DeletionTimestamp *string           `json:"deletionTimestamp,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
}

// lives reports whether the Deployment counts the pod: it replaces one that has ended, and one that is being deleted.
func (p *pod) lives() bool {
	return p.Metadata.DeletionTimestamp == nil && p.Status.Phase != "Succeeded" && p.Status.Phase != "Failed"
}

// annotate changes annotations of a pod, unless the pod has another version.
func (c *cluster) annotate(ctx context.Context, p *pod, values map[string]string) error {
	return c.do(ctx, http.MethodPatch, c.podsAt+"/"+p.Metadata.Name, map[string]meta{
		"metadata": {ResourceVersion: p.Metadata.ResourceVersion, Annotations: values},
	}, nil)
}

// scale is the scale of the Deployment.
type scale struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
	Status struct {
		Selector string `json:"selector,omitempty"`
	} `json:"status"`
}

// resize adds to the replicas of the Deployment. Changes at the same time come one after the other.
func (c *cluster) resize(ctx context.Context, more int) error {
	for {
		var now scale
		if err := c.do(ctx, http.MethodGet, c.scaleAt, nil, &now); err != nil {
			return err
		}
		if now.Spec.Replicas += more; now.Spec.Replicas < 0 || more > 0 && now.Spec.Replicas > c.most {
			return failure(fmt.Sprintf("was not sent: the Deployment has %d replicas already", now.Spec.Replicas-more))
		}
		now.Metadata = meta{ResourceVersion: now.Metadata.ResourceVersion}
		if err := c.do(ctx, http.MethodPatch, c.scaleAt, now, nil); !errors.Is(err, conflict) {
			return err
		}
	}
}

// pods returns the pods of the Deployment that live.
func (c *cluster) pods(ctx context.Context) (live []pod, err error) {
	var now scale
	if err := c.do(ctx, http.MethodGet, c.scaleAt, nil, &now); err != nil {
		return nil, err
	}
	var all struct {
		Items []pod `json:"items"`
	}
	if now.Status.Selector == "" { // it would select every pod
		return nil, failure("gave a Deployment without a selector")
	}
	err = c.do(ctx, http.MethodGet, c.podsAt+"?labelSelector="+url.QueryEscape(now.Status.Selector), nil, &all)
	for _, p := range all.Items {
		if p.lives() {
			live = append(live, p)
		}
	}
	return live, err
}

// start scales the Deployment up and takes a pod that is no machine yet.
func (c *cluster) start(ctx context.Context, machine, _ string) (ids []string, err error) {
	if err := c.resize(ctx, 1); err != nil {
		return nil, err
	}
	for {
		all, err := c.pods(ctx)
		for i := range all {
			if p := &all[i]; err == nil && p.Metadata.Annotations[machineOf] == "" {
				// While another machine ends, there is a pod too many for a moment. The cost keeps this one.
				taken := map[string]string{machineOf: machine, deletionCost: strconv.Itoa(math.MaxInt32)}
				if err = c.annotate(ctx, p, taken); err == nil {
					return []string{p.Metadata.Name}, nil
				}
				if errors.Is(err, conflict) || errors.Is(err, notFound) { // another machine has taken it, or it has changed
					err = nil
				}
			}
		}
		if err = cmp.Or(err, pause.For(ctx, podEvery)); err != nil {
			undo, stop := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
			defer stop()
			c.resize(undo, -1) //nolint:errcheck // a pod that comes all the same is listed, and stopped
			return nil, err
		}
	}
}

// stop deletes the pod and scales the Deployment down. In between, the Deployment may replace the pod: of pods that are not ready,
// Kubernetes ends the newest first, and the cost of this one keeps others from being ended in its place.
func (c *cluster) stop(ctx context.Context, handle string) error {
	var p pod
	err := c.do(ctx, http.MethodGet, c.podsAt+"/"+handle, nil, &p)
	if errors.Is(err, notFound) || err == nil && !p.lives() { // whatever has replaced it is another machine
		return nil
	}
	p.Metadata.ResourceVersion = "" // any
	if err == nil {
		err = c.annotate(ctx, &p, map[string]string{deletionCost: strconv.Itoa(math.MinInt32)})
	}
	if err == nil {
		err = c.do(ctx, http.MethodDelete, c.podsAt+"/"+handle, nil, nil)
	}
	if err == nil || errors.Is(err, notFound) { // the end of another machine has taken it, and left a pod in its place
		err = c.resize(ctx, -1)
	}
	return err
}

func (c *cluster) list(ctx context.Context) (places, error) {
	all, err := c.pods(ctx)
	listed := places{}
	for _, p := range all {
		listed[p.Metadata.Name] = netip.AddrPortFrom(p.Status.PodIP, uint16(c.Port))
	}
	return listed, err
}
