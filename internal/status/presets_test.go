package status_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/internal/status"
)

// The API server's part is played by a fake, because the question is what it is asked, and when.
func TestPresetsReady(t *testing.T) {
	const bind = "; bind the role of config/collector-roles: kubectl create "
	tests := map[string]struct {
		spec, stored string
		allowed      []string // of what is asked; "all", "500" without an answer, or nil if the operator may not ask
		asked        []string // "USER VERB RESOURCE in NAMESPACE"
		condition    string   // "STATUS REASON MESSAGE"
		events       []string
		isDeleted    bool
	}{
		"no presets": {spec: `{}`, allowed: []string{}},
		"presets that need only the node": {
			spec: `{presets: {logs: {enabled: true}, hostMetrics: {enabled: true}, kubeletMetrics: {}, clusterMetrics: {enabled: false}}}`, allowed: []string{},
		},
		"all that is needed is allowed": {
			spec:    `{presets: {kubeletMetrics: {enabled: true}, kubernetesAttributes: {enabled: true}, clusterMetrics: {enabled: true}}}`,
			allowed: []string{"all"},
			asked: []string{
				"team-a:gateway get nodes/stats in ", "team-a:gateway list replicasets in ", "team-a:gateway list resourcequotas in ",
			},
			condition: "True Allowed ",
		},
		"one role of two is missing": {
			spec:    `{presets: {kubeletMetrics: {enabled: true}, kubernetesAttributes: {enabled: true}}}`,
			allowed: []string{"team-a:gateway get nodes/stats in "},
			asked:   []string{"team-a:gateway get nodes/stats in ", "team-a:gateway list replicasets in "},
			condition: "False RoleMissing spec.presets.kubernetesAttributes: ServiceAccount team-a/gateway may not list replicasets" + bind +
				"clusterrolebinding team-a-gateway-kubernetes-attributes --clusterrole=kube8-collector-kubernetes-attributes --serviceaccount=team-a:gateway",
			events: []string{"Warning RoleMissing spec.presets.kubernetesAttributes: ServiceAccount team-a/gateway may not list replicasets" + bind +
				"clusterrolebinding team-a-gateway-kubernetes-attributes --clusterrole=kube8-collector-kubernetes-attributes --serviceaccount=team-a:gateway"},
		},
		"in one namespace of two the role is missing": {
			spec:    `{serviceAccount: {create: false}, presets: {clusterMetrics: {enabled: true, namespaces: [team-b, team-c]}}}`,
			allowed: []string{"team-a:default list resourcequotas in team-b"},
			asked:   []string{"team-a:default list resourcequotas in team-b", "team-a:default list resourcequotas in team-c"},
			condition: "False RoleMissing spec.presets.clusterMetrics: ServiceAccount team-a/default may not list resourcequotas in namespace team-c" +
				bind + "rolebinding -n team-c team-a-default-cluster-metrics --clusterrole=kube8-collector-cluster-metrics --serviceaccount=team-a:default",
			events: []string{"Warning RoleMissing spec.presets.clusterMetrics: ServiceAccount team-a/default may not list resourcequotas in namespace team-c" +
				bind + "rolebinding -n team-c team-a-default-cluster-metrics --clusterrole=kube8-collector-cluster-metrics --serviceaccount=team-a:default"},
		},
		"what was allowed to this spec is not asked again": {
			spec:    `{presets: {kubeletMetrics: {enabled: true}}}`,
			stored:  `{observedGeneration: 3, conditions: [{type: PresetsReady, status: "True", reason: Allowed}]}`,
			allowed: []string{}, condition: "True Allowed ",
		},
		"what was allowed to another spec is asked again": {
			spec:    `{serviceAccount: {name: other}, presets: {kubeletMetrics: {enabled: true}}}`,
			stored:  `{observedGeneration: 2, conditions: [{type: PresetsReady, status: "True", reason: Allowed}]}`,
			allowed: []string{"all"}, asked: []string{"team-a:other get nodes/stats in "}, condition: "True Allowed ",
		},
		"what was refused is asked again, until it is allowed": {
			spec:    `{presets: {kubeletMetrics: {enabled: true}}}`,
			stored:  `{observedGeneration: 3, conditions: [{type: PresetsReady, status: "False", reason: RoleMissing, message: "m"}]}`,
			allowed: []string{"all"}, asked: []string{"team-a:gateway get nodes/stats in "}, condition: "True Allowed ",
		},
		"what is no longer needed is no longer told": {
			spec:    `{}`,
			stored:  `{observedGeneration: 2, conditions: [{type: PresetsReady, status: "False", reason: RoleMissing, message: "m"}]}`,
			allowed: []string{},
		},
		"an operator that may not ask says so": {
			spec:  `{presets: {kubeletMetrics: {enabled: true}, clusterMetrics: {enabled: true}}}`,
			asked: []string{"team-a:gateway get nodes/stats in "},
			condition: "Unknown NotAsked the operator may not create subjectaccessreviews, so it cannot tell whether the presets' roles " +
				"are bound",
		},
		"what the API server does not answer is told, and asked again": {
			spec:    `{presets: {kubeletMetrics: {enabled: true}, clusterMetrics: {enabled: true}}}`,
			allowed: []string{"500"}, asked: []string{"team-a:gateway get nodes/stats in "},
			condition: "Unknown NotAsked the operator cannot ask whether the presets' roles are bound, and asks again: Internal error occurred: port 4317",
		},
		"of a Collector in deletion nothing is asked": {
			spec: `{presets: {kubeletMetrics: {enabled: true}}}`, allowed: []string{"500"}, isDeleted: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var asked []string
			written := &unstructured.Unstructured{}
			reviewing := receiving(t, &written)
			reviewing.Create = func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				review := object.(*authorizationv1.SubjectAccessReview)
				of := review.Spec.ResourceAttributes
				question := strings.TrimPrefix(review.Spec.User, "system:serviceaccount:") + " " + of.Verb + " " +
					strings.TrimSuffix(of.Resource+"/"+of.Subresource, "/") + " in " + of.Namespace
				asked = append(asked, question)
				if test.allowed == nil {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", nil)
				}
				if slices.Contains(test.allowed, "500") {
					return apierrors.NewInternalError(errors.New("port 4317"))
				}
				review.Status.Allowed = slices.Contains(test.allowed, question) || slices.Contains(test.allowed, "all")
				return nil
			}
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(test.spec), &spec); err != nil {
				t.Fatal(err)
			}
			stored, updated := collector(t, cmp.Or(test.stored, "{}")), collector(t, cmp.Or(test.stored, "{}"))
			stored.Object["spec"], updated.Object["spec"] = spec, spec
			if test.isDeleted {
				updated.SetDeletionTimestamp(new(metav1.Now()))
			}
			c := fake.NewClientBuilder().WithObjects(stored).WithInterceptorFuncs(reviewing).Build()
			events := record.NewFakeRecorder(10)
			if err := status.NewClient(c, c, outcome{}, flows{}, events).Status().Update(t.Context(), updated); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(asked, test.asked) {
				t.Errorf("asked %q, want %q", asked, test.asked)
			}
			got := ""
			conditions, _, _ := unstructured.NestedSlice(written.Object, "status", "conditions")
			for _, condition := range conditions {
				if c := condition.(map[string]any); c["type"] == "PresetsReady" {
					message, _ := c["message"].(string)
					got = strings.Join([]string{c["status"].(string), c["reason"].(string), message}, " ")
				}
			}
			if got != test.condition {
				t.Errorf("condition\n%s, want\n%s", got, test.condition)
			}
			close(events.Events)
			var told []string
			for event := range events.Events {
				told = append(told, event)
			}
			if !slices.Equal(told, test.events) {
				t.Errorf("events %q, want %q", told, test.events)
			}
		})
	}
}

// The operator watches no bindings. It learns that one is gone when it asks again, which it does at the first reconcile after an hour.
func TestWhatPresetsMayDoIsAskedAgainAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allows, asked := true, 0
		var written *unstructured.Unstructured
		reviewing := receiving(t, &written)
		reviewing.Create = func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			asked++
			object.(*authorizationv1.SubjectAccessReview).Status.Allowed = allows
			return nil
		}
		stored := collector(t, `{observedGeneration: 3, conditions: [{type: PresetsReady, status: "True", reason: Allowed}]}`)
		stored.Object["spec"] = map[string]any{"presets": map[string]any{"kubeletMetrics": map[string]any{"enabled": true}}}
		cluster := fake.NewClientBuilder().WithObjects(stored).WithInterceptorFuncs(reviewing).Build()
		writer := status.NewClient(cluster, cluster, outcome{}, flows{}, record.NewFakeRecorder(9)).Status()
		for _, row := range []struct {
			after  time.Duration
			allows bool
			asked  int
			wants  string
		}{
			{0, true, 0, "Allowed"}, // an operator that starts trusts the status
			{time.Hour, true, 1, "Allowed"},
			{59 * time.Minute, false, 1, "Allowed"},
			{time.Minute, false, 2, "RoleMissing"},
		} {
			time.Sleep(row.after) //nolint:forbidigo // of the bubble's clock
			allows = row.allows
			updated := stored.DeepCopy()
			if err := writer.Update(t.Context(), updated); err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprint(updated.Object["status"]); asked != row.asked || !strings.Contains(text, "reason:"+row.wants) {
				t.Errorf("%s later, asked %d times, status %s; want %d and %s", row.after, asked, text, row.asked, row.wants)
			}
		}
	})
}
