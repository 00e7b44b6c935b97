package integration

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// The tests in this file stop the shared operator, and so are not parallel.

// triesAList is of a request for one object, which shows whether the operator may list a kind.
var triesAList = regexp.MustCompile(`labelSelector=kube8\.dev%2F(base|collector)&limit=1&`)

func TestTheOperatorRestartsWithoutTouchingAnything(t *testing.T) {
	namespace := newNamespace(t)
	var fleet []*v1alpha1.Collector
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeDeployment, v1alpha1.ModeDaemonSet, v1alpha1.ModeStatefulSet} {
		collector := newCollector(namespace, string(mode))
		collector.Spec.Mode = mode
		create(t, collector)
		fleet = append(fleet, collector)
	}
	configure(t, fleet[0], "another: {}") // so that there is a Secret of before
	failing := newCollector(namespace, "failing")
	failing.Spec.Collector.Configuration = []byte("- " + secret)
	createRefused(t, failing)
	fleet = append(fleet, failing)
	for i, told := range []int{2, 1, 1, 1} { // the operator does not wait for its events
		NewWithT(t).Eventually(func() int { return len(events(t, fleet[i])) }).Should(BeNumerically(">=", told), fleet[i].Name)
	}

	for name, end := range map[string]func() error{
		"after it was asked to stop": shared.stop,
		"after it was killed": func() error {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "kube8-operator"}}
			defer plane.client.Delete(t.Context(), lease) //nolint:errcheck // saves the wait for its end, that is all
			return shared.kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests, since := plane.audit.mark(t), shared.log.mark()
			if err := end(); err != nil {
				t.Error(err)
			}
			if err := shared.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, collector := range fleet {
				shared.awaitReconcile(t, since, client.ObjectKeyFromObject(collector))
			}
			NewWithT(t).Expect(plane.audit.writes(t, requests, namespace)).To(BeEmpty())
			NewWithT(t).Expect(plane.audit.all(t, requests, namespace)).To(BeEmpty(), "requests about single Collectors")
			streamed := map[string]bool{}
			for _, request := range plane.audit.read(t)[requests:] {
				switch of := request.ObjectRef; {
				case request.Verb == "watch" && strings.Contains(request.RequestURI, "sendInitialEvents=true"):
					streamed[of.Resource] = true
				case request.Verb == "list" && of.Resource != "namespaces" && !triesAList.MatchString(request.RequestURI):
					// Of namespaces only those with a label are asked for.
					t.Errorf("the fleet is not streamed: %s", request.RequestURI)
				}
			}
			for _, resource := range []string{"collectors", "deployments", "secrets", "pods"} {
				NewWithT(t).Expect(streamed).To(HaveKey(resource))
			}
		})
	}
}

func TestWhatHappenedWhileTheOperatorWasAwayIsMadeGood(t *testing.T) {
	kept, deleted, created := install(t), install(t), newCollector(newNamespace(t), "gateway")
	want := shape(t, kept)
	service := get(t, kept, "", &corev1.Service{})

	if err := shared.stop(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(
		plane.client.Delete(t.Context(), service), tamper(t, kept),
		plane.client.Delete(t.Context(), deleted), plane.client.Create(t.Context(), created),
	); err != nil {
		t.Error(err)
	}
	if err := shared.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitContents(t, kept, want)
	awaitRevision(t, created, 1)
	awaitGone(t, deleted)
	NewWithT(t).Expect(contents(t, deleted.Namespace)).To(BeEmpty())
}
