package integration

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The configuration of each Collector in these tests has the secret in it. The leak test looks for it wherever it must
// not be: in each namespace when its test ends, and in what is nobody's in the end.

// secret is in the configuration of each Collector of these tests, and must not appear anywhere else.
const secret = "hunter2-is-my-password"

// scanned counts what the leak test has looked at so far.
var scanned struct{ namespaces, places, hits atomic.Int64 }

// logbooks are those of all operators that were ever started.
var logbooks sync.Map

// checkForSecrets fails the test if the secret shows anywhere in a namespace but where it must be.
func checkForSecrets(t *testing.T, namespace string) {
	t.Helper()
	found, places := leaks(t, namespace)
	scanned.namespaces.Add(1)
	scanned.places.Add(int64(places))
	scanned.hits.Add(int64(len(found)))
	for _, leak := range found {
		t.Error("configuration content in " + leak)
	}
}

// leaks looks for the secret in all objects and events of a namespace, in what the operator has logged about it, errors
// of Helm's included, and in the operator's metrics.
func leaks(t *testing.T, namespace string) (found []string, places int) {
	t.Helper()
	texts := map[string]string{"the operator's log": shared.log.about(namespace), "the operator's metrics": scrapeShared(t)}
	for name, object := range contents(t, namespace) {
		texts[name] = publicPart(object)
	}
	for _, event := range list(t, namespace, "v1", "Event") {
		texts["Event/"+event.GetName()] = toYAML(event.Object)
	}
	for place, text := range texts {
		if leak := leakIn(place, text); leak != "" {
			found = append(found, leak)
		}
	}
	return found, len(texts)
}

// publicPart returns an object without the fields where a configuration belongs: a Collector's spec, a Secret's data.
// Status, labels, annotations and managedFields stay, and of all other objects, pod templates included, everything.
func publicPart(object unstructured.Unstructured) string {
	public := object.DeepCopy()
	switch object.GetKind() {
	case "Collector":
		unstructured.RemoveNestedField(public.Object, "spec")
	case "Secret":
		unstructured.RemoveNestedField(public.Object, "data")
	}
	return toYAML(public.Object)
}

// leakIn says where in a text the secret is, or "".
func leakIn(place, text string) string {
	for _, form := range secretForms() {
		if before, _, found := strings.Cut(text, form); found {
			return fmt.Sprintf("%s: …%s%s", place, before[max(0, len(before)-300):], form)
		}
	}
	return ""
}

// secretForms are the secret itself, and what is left of it in the base64 of a text that has it at any position.
func secretForms() []string { return formsOf(secret) }

// formsOf is secretForms for another word.
func formsOf(word string) []string {
	forms := []string{word}
	for skip := range 3 {
		whole := (len(word) - skip) / 3 * 3
		forms = append(forms, base64.StdEncoding.EncodeToString([]byte(word[skip:skip+whole])))
	}
	return forms
}

// scrapeShared returns the metrics of the shared operator.
func scrapeShared(t *testing.T) string {
	t.Helper()
	return scrapeInsecurely(t, metricsAddress)
}

// scrapeInsecurely returns the metrics of an operator that lets everybody read them. It serves them a moment after it says
// that it is ready.
func scrapeInsecurely(t *testing.T, address string) string {
	t.Helper()
	var text []byte
	NewWithT(t).Eventually(func() error {
		response, err := http.Get("http://" + address + "/metrics") //nolint:noctx // tests end before it could matter
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err = io.ReadAll(response.Body)
		return err
	}).Should(Succeed())
	return string(text)
}

// finishLeakTest looks through the logs of all operators, namespace or not, and through what the API server recorded of
// all requests, and says what the leak test has seen.
func finishLeakTest() error {
	texts := map[string]string{}
	logbooks.Range(func(book, _ any) bool {
		texts[fmt.Sprintf("log of operator %p", book)] = book.(*logbook).about("")
		return true
	})
	requests, err := os.ReadFile(plane.audit.log.Path)
	if err != nil {
		return err
	}
	texts["audit log"] = string(requests)
	var found []string
	for place, text := range texts {
		if leak := leakIn(place, text); leak != "" {
			found = append(found, leak)
		}
	}
	scanned.places.Add(int64(len(texts)))
	scanned.hits.Add(int64(len(found)))
	fmt.Printf("leak test: %d namespaces, %d places, %d hits\n",
		scanned.namespaces.Load(), scanned.places.Load(), scanned.hits.Load())
	if len(found) > 0 {
		return fmt.Errorf("configuration content in %s", strings.Join(found, "\n"))
	}
	return nil
}

func TestTheLeakTestFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte("a: " + secret + " b"))
	for name, plant := range map[string]func(namespace string) client.Object{
		"an object's data": func(namespace string) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "planted"}, Data: map[string]string{"a": secret}}
		},
		"base64 in a Secret's annotation": func(namespace string) client.Object {
			annotations := map[string]string{"example.com/planted": encoded}
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "planted", Annotations: annotations}}
		},
		"a pod template": func(namespace string) client.Object {
			deployment := deploymentIn(namespace)
			deployment.Name = "planted"
			deployment.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: secret}}
			return deployment
		},
		"a Collector's annotation": func(namespace string) client.Object {
			collector := newCollector(namespace, "planted")
			collector.Annotations = map[string]string{"example.com/planted": secret}
			return collector
		},
		"an event": func(namespace string) client.Object {
			return &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "planted"},
				InvolvedObject: corev1.ObjectReference{Namespace: namespace}, Message: encoded,
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := newNamespace(t)
			object := plant(namespace)
			if err := plane.client.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			found, _ := leaks(t, namespace)
			NewWithT(t).Expect(found).To(ConsistOf(ContainSubstring("planted")))
			if err := plane.client.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			NewWithT(t).Eventually(func() []string {
				found, _ := leaks(t, namespace)
				return found
			}).Should(BeEmpty())
		})
	}
	t.Run("a text that is nobody's", func(t *testing.T) {
		NewWithT(t).Expect(leakIn("log", "before "+secret+" after")).To(Equal("log: …before " + secret))
		NewWithT(t).Expect(leakIn("log", "before after")).To(BeEmpty())
	})
}
