package kubectl

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/test/golden"
)

// values are of a release: all of them, as helm prints them.
func values(t *testing.T) map[string]any {
	t.Helper()
	var values map[string]any
	text, err := os.ReadFile("testdata/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// importing runs the import in a namespace that has a release.
func importing(t *testing.T, i imported, found *helm.Release) (out, left string, err error) {
	t.Helper()
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	s := &session{namespace: "tenant-acme", client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(recorded(t, found)).Build()}
	i.tenant, i.cluster = "acme", "prod-eu-1"
	err = (&plugin{IOStreams: streams}).importValues(t.Context(), s, "gateway", &i)
	return stdout.String(), stderr.String(), err
}

// recorded is the Secret that Helm writes for a release.
func recorded(t *testing.T, found *helm.Release) *corev1.Secret {
	t.Helper()
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant-acme", Name: "sh.helm.release.v1.otel.v1",
			Labels: map[string]string{"owner": "helm", "name": "otel", "status": "deployed"},
		},
		Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
	}
}

// otel is a release whose values are partly the chart's.
func otel(t *testing.T) *helm.Release {
	t.Helper()
	return &helm.Release{
		Name: "otel", Config: map[string]any{"image": map[string]any{"tag": ""}},
		Chart: &helm.Chart{Metadata: &helm.Metadata{Name: "opentelemetry-collector", Version: "0.130.0", AppVersion: "0.149.0"}, Values: values(t)},
		Manifest: "---\napiVersion: v1\nkind: Service\nmetadata: {name: otel}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: otel}\n" +
			"data:\n  relay: |\n    receivers: {filelog: {}} # as rendered\n",
	}
}

func TestAFileOfValuesBecomesACollector(t *testing.T) {
	out, left, err := importing(t, imported{file: "testdata/values.yaml"}, otel(t))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/imported.yaml", out+"---\n"+left, "./cmd/kubectl-collector/internal/kubectl")
}

// A Collector without a policy deletes the claims, and a StatefulSet keeps them.
func TestImportedClaimsStayAsTheChartHasIt(t *testing.T) {
	templates := []any{map[string]any{"metadata": map[string]any{"name": "queue"}}}
	for name, row := range map[string]struct{ policy, want map[string]any }{
		"no policy":               {nil, map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"}},
		"the chart's own":         {map[string]any{"enabled": false, "whenDeleted": "Delete"}, map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"}},
		"one that is turned on":   {map[string]any{"enabled": true, "whenDeleted": "Delete", "whenScaled": "Delete"}, map[string]any{"whenDeleted": "Delete", "whenScaled": "Delete"}},
		"one that deletes a part": {map[string]any{"enabled": true, "whenScaled": "Delete"}, map[string]any{"whenDeleted": "Retain", "whenScaled": "Delete"}},
	} {
		set := map[string]any{"volumeClaimTemplates": templates}
		if row.policy != nil {
			set["persistentVolumeClaimRetentionPolicy"] = row.policy
		}
		spec, left := specOfValues(map[string]any{"mode": "statefulset", "statefulset": set})
		if diff := cmp.Diff(row.want, spec["persistentVolumeClaimRetentionPolicy"]); diff != "" || len(left) > 0 {
			t.Errorf("%s: %v is left, and it has (-want +got):\n%s", name, left, diff)
		}
	}
}

// The API server refuses a hostPort on the node's network, where the chart writes it, too.
func TestAReleaseOnTheNodesNetworkBecomesACollector(t *testing.T) {
	of := otel(t)
	of.Config["hostNetwork"], of.Config["hostPID"] = true, true
	out, left, err := importing(t, imported{release: "otel"}, of)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(left, "host") || strings.Contains(out, "hostPort") {
		t.Errorf("got\n%s%s", out, left)
	}
	for _, words := range []string{"\n  hostNetwork: true\n", "\n  hostPID: true\n"} {
		if !strings.Contains(out, words) {
			t.Errorf("no %q in:\n%s", words, out)
		}
	}
}

func TestAReleaseBecomesACollectorWithItsRenderedConfiguration(t *testing.T) {
	out, left, err := importing(t, imported{release: "otel"}, otel(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"receivers: {filelog: {}} # as rendered\n", "version: 0.149.0", "repository: otel/opentelemetry-collector-k8s", "name: collectors"} {
		if !strings.Contains(out, words) {
			t.Errorf("no %q in:\n%s", words, out)
		}
	}
	if strings.Contains(out, "MY_POD_IP") || strings.Contains(left, "their part of the configuration") {
		t.Errorf("the rendered configuration needs neither:\n%s%s", out, left)
	}
}

func TestWhatCannotBeImportedSaysWhy(t *testing.T) {
	other := otel(t)
	other.Chart.Metadata.Name = "nginx"
	for _, row := range []struct {
		name, words string
		i           imported
		found       *helm.Release
		values      string
	}{
		{name: "a release that is not there", words: "has no deployed release web", i: imported{release: "web"}},
		{name: "a release of another chart", words: "is not of the chart opentelemetry-collector", i: imported{release: "otel"}, found: other},
		{name: "a release of the Collector's name", words: "choose a name other than gateway", i: imported{release: "gateway"}},
		{name: "a file that is not there", words: "read --values", i: imported{file: "nothing.yaml"}},
		{name: "values without the chart's", words: "helm get values RELEASE --all", values: "mode: deployment"},
		{name: "values without a configuration", words: "the values have no config", values: "image: {repository: a/b, tag: c}"},
		{name: "values without a version", words: "--version", values: "image: {repository: a/b}\nconfig: {a: b}"},
		{name: "a value of another type", words: "of another type", values: "image: {repository: a/b, tag: c}\nconfig: {a: b}\nreplicaCount: many"},
		{name: "a value that a Collector may not have", words: "spec.mode", values: "image: {repository: a/b, tag: c}\nconfig: {a: b}\nmode: job"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.values != "" {
				row.i.file = t.TempDir() + "/values.yaml"
				if err := os.WriteFile(row.i.file, []byte(row.values), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if row.found == nil {
				row.found = otel(t)
			}
			_, _, err := importing(t, row.i, row.found)
			if err == nil || !strings.Contains(err.Error(), row.words) {
				t.Errorf("got %v, want %q", err, row.words)
			}
		})
	}
}
