package integration

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// settleTime bounds how long the operator may need after the API server is well again. Retries of what failed come
// after as long as the failure lasted, at most; watches of client-go after up to half a minute, more or less at random.
const settleTime = 75 * time.Second

// awaitSettled waits until each Collector is what an undisturbed one of the same spec is, whose twin it makes for that
// in a namespace of its own, and until nothing is left of the others. It returns how long that took, and how often the
// operator had to be started again meanwhile because it had ended by itself.
func (f *fleet) awaitSettled(t *testing.T) (took time.Duration, revived int) {
	t.Helper()
	began := time.Now()
	twins := newNamespace(t)
	for _, collector := range f.wanted {
		if collector == nil {
			continue
		}
		twin := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: twins, Name: collector.Name}, Spec: collector.Spec}
		if err := plane.client.Create(t.Context(), twin); err != nil {
			t.Fatal(err)
		}
	}
	NewWithT(t).Eventually(func() string {
		if revive(t) {
			revived++
		}
		return f.unsettled(t, twins)
	}, settleTime, 100*time.Millisecond).Should(BeEmpty(), "what is not settled in %s, whose twins are in %s", f.namespace, twins)
	return time.Since(began).Round(100 * time.Millisecond), revived
}

// unsettled says what is not as it should be, if anything.
func (f *fleet) unsettled(t *testing.T, twins string) string {
	t.Helper()
	serveAll(t, f.namespace)
	serveAll(t, twins)
	for _, name := range f.names() {
		collector := f.wanted[name]
		if collector == nil {
			gone := newCollector(f.namespace, name)
			if err := plane.client.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("Collector %s is still there: %v", name, err)
			}
			continue
		}
		twin := newCollector(twins, name)
		for _, c := range []*v1alpha1.Collector{twin, collector} {
			if stuck := unreleased(t, c); stuck != "" {
				return fmt.Sprintf("Collector %s/%s: %s", c.Namespace, name, stuck)
			}
		}
		if diff := gocmp.Diff(strings.Split(likeness(t, twin), "\n"), strings.Split(likeness(t, collector), "\n")); diff != "" {
			return fmt.Sprintf("Collector %s differs from its undisturbed twin: %s", name, diff)
		}
	}
	f.collectGarbage(t)
	return gocmp.Diff(f.objects(t, twins), f.objects(t, f.namespace))
}

// ofConfiguration matches the Secret of a configuration of a Collector.
var ofConfiguration = regexp.MustCompile(`^Secret/(.+)-config-[0-9a-f]{10}$`)

// objects names what is in a namespace, without the revisions of releases and the Secrets of a Collector's configurations, of
// which there may be some or more.
func (f *fleet) objects(t *testing.T, namespace string) []string {
	t.Helper()
	return slices.DeleteFunc(names(contents(t, namespace)), func(name string) bool {
		found := ofConfiguration.FindStringSubmatch(name)
		return strings.HasPrefix(name, "Secret/sh.helm.release.") || found != nil && f.wanted[found[1]] != nil
	})
}

// unreleased says what is wrong with a Collector's release, if anything: its newest revision must be deployed, and none
// pending. An older one can be called deployed too: Helm goes on if it cannot note that it was superseded, and takes the
// newest for the deployed one.
func unreleased(t *testing.T, collector *v1alpha1.Collector) string {
	t.Helper()
	newest, statuses := 0, map[int]string{}
	for _, stored := range revisions(t, collector) {
		number, err := strconv.Atoi(stored.Labels["version"])
		if err != nil {
			return err.Error()
		}
		statuses[number], newest = stored.Labels["status"], max(newest, number)
	}
	for number, status := range statuses {
		if isHalfDone(status) || number == newest && status != "deployed" {
			return fmt.Sprintf("revision %d is %q", number, status)
		}
	}
	if newest == 0 {
		return "no release"
	}
	return ""
}

// isHalfDone says whether a revision of this status is in the middle of a Helm action.
func isHalfDone(status string) bool {
	return strings.HasPrefix(status, "pending-") || status == "uninstalling"
}

// likeness is a Collector's objects without what tells it from its twin.
func likeness(t *testing.T, collector *v1alpha1.Collector) string {
	t.Helper()
	uid := get(t, collector, "", &v1alpha1.Collector{}).UID
	objects := shape(t, collector)
	maps.DeleteFunc(objects, func(name string, object unstructured.Unstructured) bool { // configurations of before
		others := maps.Clone(objects)
		delete(others, name)
		return ofConfiguration.MatchString(name) && !strings.Contains(toYAML(others), object.GetName())
	})
	for _, object := range objects {
		// The API server counts there how often it has changed.
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "deprecated.daemonset.template.generation")
		// It chooses the numbers of ports of the nodes.
		unstructured.RemoveNestedField(object.Object, "spec", "healthCheckNodePort")
		ports, _, _ := unstructured.NestedSlice(object.Object, "spec", "ports")
		for _, port := range ports {
			if port, isService := port.(map[string]any); isService && port["nodePort"] != nil {
				port["nodePort"] = "some"
			}
		}
		if ports != nil {
			_ = unstructured.SetNestedSlice(object.Object, ports, "spec", "ports")
		}
		if len(object.GetAnnotations()) == 0 {
			object.SetAnnotations(nil)
		}
	}
	return strings.NewReplacer(collector.Namespace, "NAMESPACE", string(uid), "UID").Replace(toYAML(objects))
}
