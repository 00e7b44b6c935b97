package status

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// demand is what a preset needs of the API server: a ClusterRole of config/collector-roles. A right that no smaller role
// grants stands for the whole role.
type demand struct{ preset, role, verb, group, resource, subresource string }

var demands = []demand{
	{"kubeletMetrics", "kubelet-metrics", "get", "", "nodes", "stats"},
	{"kubernetesAttributes", "kubernetes-attributes", "list", "apps", "replicasets", ""},
	{"clusterMetrics", "cluster-metrics", "list", "", "resourcequotas", ""},
}

// question is whether a preset may do what it needs, in a namespace or, if that is empty, in the cluster.
type question struct {
	demand
	in string
}

// questionsOf returns what the presets of a Collector need of the API server, which depends on its spec alone.
func questionsOf(collector *unstructured.Unstructured) (questions []question) {
	for _, d := range demands {
		preset, _, _ := unstructured.NestedMap(collector.Object, "spec", "presets", d.preset)
		if preset["enabled"] != true {
			continue
		}
		namespaces, _, _ := unstructured.NestedStringSlice(preset, "namespaces")
		if len(namespaces) == 0 {
			namespaces = []string{""}
		}
		for _, in := range namespaces {
			questions = append(questions, question{d, in})
		}
	}
	return questions
}

// allowedFor is how long an answer that allows what presets need holds. The operator watches no bindings, so it has to ask again to learn
// that one is gone.
const allowedFor = time.Hour

// answers says when to ask again what presets may do: times by the Collectors' keys.
type answers struct{ sync.Map }

// areOld tells whether to ask again. After a start of the operator, an answer counts as given at any time of the last hour: an operator
// that starts does not ask about a whole fleet at once.
func (a *answers) areOld(collector client.ObjectKey, now time.Time) bool {
	again, _ := a.LoadOrStore(collector, now.Add(rand.N(allowedFor))) //nolint:gosec // it only spreads requests
	at, _ := again.(time.Time)
	return !now.Before(at)
}

// presetsOf returns the condition PresetsReady, or nil where no preset needs anything of the API server. That is asked until it allows what
// they need, when the spec has changed, and when the last answer is old. Of a Collector in deletion nothing is asked.
func (w writer) presetsOf(
	ctx context.Context, collector *unstructured.Unstructured, before *v1alpha1.CollectorStatus, now time.Time,
) *v1alpha1.Condition {
	questions, key := questionsOf(collector), client.ObjectKeyFromObject(collector)
	isOfSpec := isTrue(before, v1alpha1.PresetsReady) && before.ObservedGeneration == collector.GetGeneration()
	switch {
	case len(questions) == 0, collector.GetDeletionTimestamp() != nil:
		return nil
	case isOfSpec && !w.answers.areOld(key, now):
		return find(before, v1alpha1.PresetsReady)
	}
	presets := func(status corev1.ConditionStatus, reason, message string) *v1alpha1.Condition {
		return &v1alpha1.Condition{Type: v1alpha1.PresetsReady, Status: status, Reason: reason, Message: message}
	}
	namespace, account := collector.GetNamespace(), accountOf(collector)
	var missing []string
	for _, asked := range questions {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + namespace + ":" + account,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: asked.in, Verb: asked.verb, Group: asked.group, Resource: asked.resource, Subresource: asked.subresource,
			},
		}}
		switch err := w.Client.Create(ctx, review); {
		case apierrors.IsForbidden(err):
			return presets(corev1.ConditionUnknown, v1alpha1.ReasonNotAsked,
				"the operator may not create subjectaccessreviews, so it cannot tell whether the presets' roles are bound")
		case err != nil: // a status that is not written would tell nothing of all else
			return presets(corev1.ConditionUnknown, v1alpha1.ReasonNotAsked,
				fmt.Sprintf("the operator cannot ask whether the presets' roles are bound, and asks again: %v", err))
		case !review.Status.Allowed:
			missing = append(missing, asked.lacks(namespace, account, asked.in))
		}
	}
	if len(missing) > 0 {
		return presets(corev1.ConditionFalse, v1alpha1.ReasonRoleMissing, strings.Join(missing, "; "))
	}
	w.answers.Store(key, now.Add(allowedFor))
	return presets(corev1.ConditionTrue, v1alpha1.ReasonAllowed, "")
}

// lacks says that a ServiceAccount lacks the role in a namespace, or in the cluster, and which command binds it.
func (d demand) lacks(namespace, account, in string) string {
	where, bind := "", "clusterrolebinding"
	if in != "" {
		where, bind = " in namespace "+in, "rolebinding -n "+in
	}
	return fmt.Sprintf("spec.presets.%s: ServiceAccount %s/%s may not %s %s%s; bind the role of config/collector-roles: "+
		"kubectl create %s %s-%s-%s --clusterrole=kube8-collector-%s --serviceaccount=%s:%s",
		d.preset, namespace, account, d.verb, strings.TrimSuffix(d.resource+"/"+d.subresource, "/"), where,
		bind, namespace, account, d.role, d.role, namespace, account)
}

// accountOf returns the name of the ServiceAccount of a Collector's pods, as the chart does.
func accountOf(collector *unstructured.Unstructured) string {
	account, _, _ := unstructured.NestedMap(collector.Object, "spec", "serviceAccount")
	name, _ := account["name"].(string)
	if account["create"] == false {
		return cmp.Or(name, "default")
	}
	return cmp.Or(name, collector.GetName())
}
