// Package helm_test renders the chart as Helm does. It compares the output with golden files, decodes every object strictly into the type
// of its kind, and checks that contradictory values are refused with a remedy. It is a separate module, so that the program does not depend
// on the libraries of Helm and Kubernetes.
package helm_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

const chartDir = "millrace"

// cases are files of values, beside which the golden files are.
var cases = []string{"bucket", "volume", "everything"}

func values(t *testing.T, name string) map[string]any {
	t.Helper()
	v, err := chartutil.ReadValuesFile(filepath.Join("testdata", name+".values.yaml"))
	require.NoError(t, err)
	return v
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	require.NoError(t, err)
	return c
}

// render returns the objects that a release of these values consists of, by template.
func render(t *testing.T, given map[string]any) (map[string]string, error) {
	t.Helper()
	c := load(t)
	release := chartutil.ReleaseOptions{Name: "prod", Namespace: "jobs", IsInstall: true}
	all, err := chartutil.ToRenderValues(c, given, release, chartutil.DefaultCapabilities) // checks the schema
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// objects returns every document of what was rendered.
func objects(t *testing.T, files map[string]string) []string {
	t.Helper()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for document := range strings.SplitSeq("\n"+files[name], "\n---") {
			if document = strings.TrimSpace(document); document != "" {
				all = append(all, document)
			}
		}
	}
	return all
}

func TestRenderedChartsAreTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, name := range cases {
		files, err := render(t, values(t, name))
		require.NoError(t, err, name)
		got := strings.Join(objects(t, files), "\n---\n") + "\n"
		golden := filepath.Join("testdata", name+".golden.yaml")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "%s: go test . -update, and read the difference", name)
	}
}

// kinds are the types of what the chart makes. Kinds of operators that a cluster may not have are compared with the golden
// files only.
var kinds = map[string]func() any{
	"Deployment": func() any { return &apps.Deployment{} }, "Job": func() any { return &batch.Job{} },
	"Service": func() any { return &core.Service{} }, "ServiceAccount": func() any { return &core.ServiceAccount{} },
	"PersistentVolumeClaim": func() any { return &core.PersistentVolumeClaim{} }, "Ingress": func() any { return &networking.Ingress{} },
	"NetworkPolicy":           func() any { return &networking.NetworkPolicy{} },
	"PodDisruptionBudget":     func() any { return &policy.PodDisruptionBudget{} },
	"HorizontalPodAutoscaler": func() any { return &autoscaling.HorizontalPodAutoscaler{} },
}

var foreign = []string{"ServiceMonitor", "PrometheusRule", "ScaledObject"}

// A field that Kubernetes does not know is a mistake that it would refuse, or worse, drop.
func TestEveryObjectIsOneThatKubernetesKnows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range cases {
		files, err := render(t, values(t, name))
		require.NoError(t, err)
		for _, document := range objects(t, files) {
			var head struct{ Kind string }
			require.NoError(t, yaml.Unmarshal([]byte(document), &head))
			seen[head.Kind] = true
			if slices.Contains(foreign, head.Kind) {
				continue
			}
			require.Contains(t, kinds, head.Kind)
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), kinds[head.Kind]()), "%s in %s", head.Kind, name)
		}
	}
	for _, kind := range append(slices.Collect(maps.Keys(kinds)), foreign...) {
		require.True(t, seen[kind], "no case renders a %s", kind)
	}
}

func TestChartPassesLint(t *testing.T) {
	t.Parallel()
	for _, name := range cases {
		for _, m := range lint.AllWithKubeVersion(chartDir, values(t, name), "jobs", nil).Messages {
			require.Less(t, m.Severity, support.WarningSev, "%s: %s: %v", name, m.Path, m.Err)
		}
	}
}

func deployments(t *testing.T, name string) map[string]*apps.Deployment {
	t.Helper()
	files, err := render(t, values(t, name))
	require.NoError(t, err)
	found := map[string]*apps.Deployment{}
	for _, document := range objects(t, files) {
		var d apps.Deployment
		require.NoError(t, yaml.Unmarshal([]byte(document), &d))
		if d.Kind == "Deployment" {
			found[d.Labels["app.kubernetes.io/component"]] = &d
		}
	}
	require.Len(t, found, 3)
	return found
}

// A worker that is stopped gets the time that it asks for and what it takes to end, whatever calls it waits for.
func TestPodsAreGivenTheTimeThatTheyAskFor(t *testing.T) {
	t.Parallel()
	for role, d := range deployments(t, "everything") {
		var asked time.Duration
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			if e.Name == "MILLRACE_STOP_AFTER" {
				var err error
				asked, err = time.ParseDuration(e.Value)
				require.NoError(t, err)
			}
		}
		grace := time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
		require.GreaterOrEqual(t, grace, asked+20*time.Second, role)
		if role == "worker" {
			require.GreaterOrEqual(t, asked, 5*time.Minute, "calls of partner models take minutes")
		}
	}
}

// Every file that a variable names is in a volume that is mounted, and no value of a secret is in an object.
func TestFilesThatVariablesNameAreMounted(t *testing.T) {
	t.Parallel()
	for _, name := range cases {
		for role, d := range deployments(t, name) {
			pod := d.Spec.Template.Spec
			var mounted []string
			for _, m := range pod.Containers[0].VolumeMounts {
				mounted = append(mounted, m.MountPath+"/")
				require.True(t, slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }), "%s of %s", m.Name, role)
			}
			for _, e := range pod.Containers[0].Env {
				if strings.HasPrefix(e.Value, "/") {
					require.True(t, slices.ContainsFunc(mounted, func(dir string) bool { return strings.HasPrefix(e.Value, dir) }), "%s=%s of %s", e.Name,
						e.Value, role)
				}
			}
		}
	}
}

func TestValuesThatContradictEachOtherAreRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change map[string]any
		want   []string
	}{
		"two sources of blobs":        {m("blobs", m("volume", m("size", "10Gi"))), []string{"two sources", "not both", "unset"}},
		"no source of blobs":          {m("blobs", m("bucket", m("name", ""))), []string{"no source", "set blobs.bucket.name"}},
		"no Temporal":                 {m("temporal", m("address", "")), []string{"temporal.address", "HOST:PORT"}},
		"no database":                 {m("secrets", m("keys", []any{"MILLRACE_SECRET_KEY"})), []string{"DATABASE_URL"}},
		"no secret key":               {m("secrets", m("keys", []any{"DATABASE_URL"})), []string{"openssl rand"}},
		"a setting that is unknown":   {m("settings", m("MILLRACE_SLOT", "3")), []string{"MILLRACE_SLOT"}},
		"a secret among the settings": {m("settings", m("MILLRACE_TOKEN", "hunter2")), []string{"MILLRACE_TOKEN"}},
		"keda without Prometheus": {
			m("scaler", m("kind", "keda"), "worker", m("autoscaling", m("enabled", true))),
			[]string{"scaler.prometheus"},
		},
		"a disruption budget of both": {m("api", m("disruption", m("minAvailable", 1))), []string{"disruption"}},
		"two identities for Temporal": {
			m("temporal", m("apiKey", m("secret", "a"), "tls", m("enabled", true, "client", m("secret", "b")))),
			[]string{"unset the other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := render(t, chartutil.MergeTables(tc.change, values(t, "bucket")))
			require.Error(t, err)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// m makes a map of pairs.
func m(pairs ...any) map[string]any {
	made := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		made[pairs[i].(string)] = pairs[i+1]
	}
	return made
}
