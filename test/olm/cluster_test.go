//go:build e2e

package olm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// kubectl runs kubectl and returns what it printed for programs to read.
func kubectl(ctx context.Context, args ...string) (string, error) {
	return output(ctx, cmp.Or(os.Getenv("KUBECTL"), "kubectl"), args...)
}

// must ends the test if kubectl fails.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply creates or changes objects.
func apply(t *testing.T, manifests string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("KUBECTL"), "kubectl"), "apply", "--server-side", "--force-conflicts", "-f", "-")
	cmd.Stdin = strings.NewReader(manifests)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

// jsonPath reads a part of objects.
func jsonPath(t *testing.T, path string, get ...string) func() (string, error) {
	t.Helper()
	return func() (string, error) {
		return kubectl(t.Context(), append([]string{"get", "--output=jsonpath=" + path}, get...)...)
	}
}

// namespace creates a namespace, and removes it when the test ends.
func namespace(t *testing.T, name string) {
	t.Helper()
	apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: `+name+`, labels: {pod-security.kubernetes.io/enforce: restricted}}`)
	t.Cleanup(func() {
		if t.Failed() {
			release(t)
		}
		remove(t, "namespace", name)
	})
}

// remove deletes objects and waits until they are gone, also when the test has ended.
func remove(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if out, err := kubectl(ctx, append([]string{"delete", "--ignore-not-found"}, args...)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// exampleName is what the bundle calls its example.
const exampleName = "gateway"

// example is the bundle's only example.
func example(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile("bundle/manifests/kube8-operator.clusterserviceversion.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var csv unstructured.Unstructured
	if err := yaml.Unmarshal(content, &csv.Object); err != nil {
		t.Fatal(err)
	}
	var examples []map[string]any
	if err := json.Unmarshal([]byte(csv.GetAnnotations()["alm-examples"]), &examples); err != nil || len(examples) != 1 {
		t.Fatalf("alm-examples: %v, %v", examples, err)
	}
	return &unstructured.Unstructured{Object: examples[0]}
}

// createExample creates the bundle's example in a namespace.
func createExample(t *testing.T, namespace string) {
	t.Helper()
	object := example(t)
	object.SetNamespace(namespace)
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, string(text))
}

// build builds an image with the container tool. One with a tag of this run is of no use after it.
func build(t *testing.T, image, dockerfile, dir string, args ...string) {
	t.Helper()
	tool := os.Getenv("CONTAINER_TOOL")
	command(t, tool, append([]string{"build", "-f", dockerfile, "-t", image}, append(args, dir)...)...)
	if !strings.HasSuffix(image, suffix) {
		return
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), tool, "rmi", image).CombinedOutput(); err != nil {
			t.Errorf("remove %s: %v\n%s", image, err, out)
		}
	})
}

// load takes an image to the nodes.
func load(t *testing.T, image string) {
	t.Helper()
	if load := os.Getenv("E2E_LOAD"); load != "" {
		command(t, "bash", "-c", load+" "+save(t, image))
	}
}

// save writes an image to an archive, and returns its path.
func save(t *testing.T, image string) (archive string) {
	t.Helper()
	tool := os.Getenv("CONTAINER_TOOL")
	archive = filepath.Join(t.TempDir(), "image.tar")
	args := []string{"save", "--output", archive, image}
	if strings.HasSuffix(tool, "buildah") {
		args = []string{"push", "--quiet", image, "docker-archive:" + archive + ":" + image}
	}
	command(t, tool, args...)
	return archive
}

// digest returns the name by digest of an image that was loaded: what has only a tag, OLM would pull.
func digest(t *testing.T, image string) (byDigest string) {
	t.Helper()
	repository, _, _ := strings.Cut(image, ":")
	NewWithT(t).Eventually(func() (string, error) {
		out, err := kubectl(t.Context(), "get", "nodes", "--output=json")
		if err != nil {
			return "", err
		}
		byDigest, err = digestOf(out, repository, image)
		return byDigest, err
	}).ShouldNot(BeEmpty(), "the nodes know image %s by its digest", image)
	return byDigest
}

// digestOf finds the name by digest of an image among all that the nodes have.
func digestOf(nodes, repository, image string) (string, error) {
	var list struct {
		Items []struct {
			Status struct {
				Images []struct{ Names []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(nodes), &list); err != nil {
		return "", fmt.Errorf("the nodes: %w", err)
	}
	for _, node := range list.Items {
		for _, names := range node.Status.Images {
			found := ""
			tagged := false
			for _, name := range names.Names {
				tagged = tagged || name == image
				if strings.HasPrefix(name, repository+"@") {
					found = name
				}
			}
			if tagged && found != "" {
				return found, nil
			}
		}
	}
	return "", nil
}

// dumpOnFailure says what there is to know when a test has failed.
func dumpOnFailure(t *testing.T, namespaces ...string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, namespace := range namespaces {
			for _, args := range [][]string{
				{"get", "all,subscriptions,installplans,csv,catalogsources,operatorgroups,collectors", "-n", namespace, "-o", "wide"},
				{"get", "events", "-n", namespace, "--sort-by=.metadata.creationTimestamp"},
				{"describe", "pods,collectors", "-n", namespace},
				{"logs", "-n", namespace, "-l", "app in (olm-operator, catalog-operator)", "--tail=60", "--prefix"},
				{"logs", "-n", namespace, "-l", "app.kubernetes.io/part-of=olm", "--tail=60", "--prefix"},
				{"logs", "-n", namespace, "deployment/" + operatorName, "--tail=60"},
			} {
				out, err := kubectl(ctx, args...)
				t.Logf("--- kubectl %s\n%s%v", strings.Join(args, " "), out, err)
			}
		}
	})
}
