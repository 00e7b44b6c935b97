package release

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// Rendered is what a Collector becomes.
type Rendered struct {
	// Objects are in the order of the manifest.
	Objects []*unstructured.Unstructured

	// Manifest has the objects as YAML.
	Manifest string

	texts []string // of Manifest, one for each object
	hash  string   // of Objects
}

// Render renders a chart as Helm does for a first release, has the post-renderer finish the manifest, and parses that.
// Hooks are an error: nothing would run them. An error of the post-renderer is a *postrender.ConfigurationError.
func Render(
	chrt *chart.Chart, name types.NamespacedName, values map[string]any, offers *chartutil.Capabilities, finish postrender.Renderer,
) (*Rendered, error) {
	if err := chartutil.ProcessDependencies(chrt, values); err != nil {
		return nil, fmt.Errorf("read the dependencies of chart %s: %w", chrt.Name(), err)
	}
	options := chartutil.ReleaseOptions{Name: name.Name, Namespace: name.Namespace, Revision: 1, IsInstall: true}
	input, err := chartutil.ToRenderValues(chrt, values, options, offers)
	if err != nil {
		return nil, fmt.Errorf("render chart %s: %w", chrt.Name(), err)
	}
	files, err := engine.Render(chrt, input)
	if err != nil {
		return nil, fmt.Errorf("render chart %s: %w", chrt.Name(), err)
	}
	maps.DeleteFunc(files, func(file, content string) bool {
		return strings.TrimSpace(content) == "" || strings.HasSuffix(file, "NOTES.txt")
	})
	var text bytes.Buffer
	for _, file := range slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(placeOf(files[a]), placeOf(files[b])), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", file, strings.TrimSpace(files[file]))
	}
	finished, err := finish.Run(&text)
	if err != nil {
		return nil, err
	}
	rendered, err := parse(finished.String())
	if err != nil {
		return nil, err
	}
	for _, object := range rendered.Objects {
		if object.GetAnnotations()[release.HookAnnotation] != "" {
			return nil, fmt.Errorf("chart %s renders a Helm hook, %s; nothing runs hooks, so remove it", chrt.Name(), refTo(object))
		}
	}
	return rendered, nil
}

// placeOf returns where the kind of a file's first object is in Helm's order of installing.
func placeOf(content string) int {
	if kind := kindInTemplate.FindStringSubmatch(content); kind != nil {
		if at := slices.Index(releaseutil.InstallOrder, kind[2]); at >= 0 {
			return at
		}
	}
	return len(releaseutil.InstallOrder)
}

// parse reads the objects of a manifest.
func parse(manifest string) (*Rendered, error) {
	rendered, sum := &Rendered{Manifest: manifest}, sha256.New()
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			rendered.hash = hex.EncodeToString(sum.Sum(nil))[:partLength]
			return rendered, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read rendered manifest: %w", err)
		}
		object := &unstructured.Unstructured{}
		converted, err := yaml.YAMLToJSON(text)
		if err != nil || json.Unmarshal(converted, &object.Object) != nil {
			return nil, fmt.Errorf("rendered object %d is not a Kubernetes object", len(rendered.Objects)+1)
		}
		if len(object.Object) == 0 {
			continue
		}
		rendered.Objects = append(rendered.Objects, object)
		rendered.texts = append(rendered.texts, strings.TrimPrefix(string(text), "---\n"))
		write(sum, string(converted)) // its keys are sorted
	}
}

// hashOf returns a hash of an object.
func hashOf(object *unstructured.Unstructured) string {
	text, err := json.Marshal(object.Object) // sorts keys
	if err != nil {
		return "" // never the case for what was read from YAML
	}
	sum := sha256.Sum256(text)
	return string(sum[:16])
}

// configHash returns the SHA-256 of the configuration that the pods mount, in hex, or "".
func (r *Rendered) configHash() string {
	for _, object := range r.Objects {
		if stage(object) == workloads {
			found, _, _ := unstructured.NestedString(object.Object,
				"spec", "template", "metadata", "annotations", postrender.ConfigHashAnnotation)
			return found
		}
	}
	return ""
}

// public returns the manifest without the data of Secrets.
func (r *Rendered) public() string {
	var out strings.Builder
	for i, object := range r.Objects {
		text := r.texts[i]
		if object.GetKind() == "Secret" {
			bare := maps.Clone(object.Object)
			delete(bare, "data")
			delete(bare, "stringData")
			whole, err := yaml.Marshal(bare)
			if err != nil {
				continue // never the case for what was read from YAML
			}
			text = "# without its data\n" + string(whole)
		}
		out.WriteString("---\n" + text)
	}
	return out.String()
}

// render renders the Collector, and has it own the result.
func (r *actionClient) render() error {
	current, err := r.offers.get(r.ctx)
	if err != nil {
		return err
	}
	referenced, err := r.Configuration(r.ctx, r.collector)
	if err != nil {
		return err
	}
	r.version = inputs{r.collector.GetGeneration(), r.ConfigurationVersion(r.collector), current.version}
	running := r.running(filesAnnotation)
	references, unfollowed := r.References(r.collector, r.running(postrender.ReferencesAnnotation))
	r.references, r.lacking = references, strings.Join(unfollowed, ", ")
	rendered, err := Render(r.chart.Chart, client.ObjectKeyFromObject(r.collector), r.withCopy(referenced, running), current.capabilities,
		postrender.Renderer{Referenced: referenced, Running: running, References: references})
	if err != nil {
		return err
	}
	r.rendered = rendered
	return r.own(rendered.Objects)
}

// running returns what an annotation says of the pod template of the Collector's workload, by the informer cache.
func (r *actionClient) running(annotation string) string {
	for _, object := range r.observed {
		if found := object.GetAnnotations()[annotation]; found != "" {
			return found
		}
	}
	return ""
}

// tellUnfollowed says with a new revision, once as long as the operator runs, what its pods refer to without being rolled.
func (r *actionClient) tellUnfollowed(err error) {
	if err != nil || r.lacking == r.lacked {
		return
	}
	if r.lacking != "" {
		r.Events.Eventf(r.collector, corev1.EventTypeNormal, "NotFollowed",
			"without the label %s, or not there: %.800s; pods keep what they have when it changes, until you add %[1]s=%[3]s to it",
			v1alpha1.CollectorLabel, r.lacking, r.collector.GetName())
	}
	r.lacked = r.lacking
}

// withNulls returns the values with null for the fields that are null in the spec: the stock reconciler has taken them out with
// the chart's defaults, and rendering would put the defaults back.
func withNulls(values map[string]any, collector *unstructured.Unstructured) map[string]any {
	spec, _ := collector.Object["spec"].(map[string]any)
	for field, value := range spec {
		if value == nil {
			values[field] = nil
		}
	}
	return values
}

// withCopy returns the values with a configuration of the user's Secret in place of the reference to it. It returns them as
// they are if the Collector wants no copy, or if it does not say and the same content runs from the user's Secret: an earlier
// version has deployed that, and a copy would roll the pods for nothing.
func (r *actionClient) withCopy(referenced postrender.Referenced, running string) map[string]any {
	collector, _ := r.values["collector"].(map[string]any)
	reference, _ := collector["configurationSecret"].(map[string]any)
	wanted, isSet := reference["copy"].(bool)
	parts := strings.Fields(running)
	runs := slices.Contains(parts, referenced.Secret) && slices.Contains(parts, referenced.Hash)
	if len(referenced.Content) == 0 || isSet && !wanted || !isSet && runs {
		return r.values
	}
	collector, values := maps.Clone(collector), maps.Clone(r.values)
	delete(collector, "configurationSecret")
	collector["configuration"] = base64.StdEncoding.EncodeToString(referenced.Content)
	values["collector"] = collector
	return values
}
