package kubectl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/history"
	"github.com/kube8/kube8-operator/internal/cache"
	"github.com/kube8/kube8-operator/internal/explain"
)

// generation is pods that one template of a workload has made.
type generation struct {
	template history.Template
	ready    []string // names of pods
}

// serving says which pods serve meanwhile, with their revision.
func (o *observed) serving() string {
	if slices.Contains(o.unseen, "pods") {
		return fmt.Sprintf("%d of %d pods, as the status says", o.collector.Status.ReadyReplicas, o.collector.Status.Replicas)
	}
	var lines []string
	generations := o.generations()
	templates := make([]history.Template, 0, len(generations))
	for _, pods := range generations {
		templates = append(templates, pods.template)
	}
	for i, number := range history.Makers(o.revisions, templates) {
		pods := generations[i]
		of := o.described(pods.template)
		if number > 0 {
			of = fmt.Sprintf("revision %d, %s", number, of)
		}
		if len(pods.ready) > 0 {
			lines = append(lines, fmt.Sprintf("%s of %s", strings.Join(pods.ready, ", "), of))
		}
	}
	return cmp.Or(strings.Join(lines, "\n"), "no pod")
}

// generations returns pods by their templates, newest first.
func (o *observed) generations() (found []*generation) {
	known := map[string]*generation{}
	for i := range o.pods { // newest first
		pod := &o.pods[i]
		template := history.TemplateOf(pod)
		key := fmt.Sprint(template, pod.Labels["pod-template-hash"], pod.Labels["controller-revision-hash"])
		if known[key] == nil {
			known[key] = &generation{template: template}
			found = append(found, known[key])
		}
		if explain.IsServing(pod) {
			known[key].ready = append(known[key].ready, pod.Name)
		}
	}
	return found
}

// described says what a template runs, and whether that is what is deployed.
func (o *observed) described(made history.Template) string {
	said := fmt.Sprintf("image %s, configuration %s", cmp.Or(made.Image, "unknown"), cmp.Or(short(made.Config), "unknown"))
	if deployed := o.collector.Status.ConfigHash; made.Config != "" && deployed != "" && made.Config != deployed {
		said += fmt.Sprintf(", and not %s, which is deployed", short(deployed))
	}
	return said
}

// deployedGeneration returns the generation of the spec that is deployed, or 0 if that is not known.
func (o *observed) deployedGeneration() int64 {
	status := o.collector.Status
	for _, recorded := range status.History {
		if release := status.DeployedRelease; release != nil && recorded.Revision == release.Revision {
			return recorded.Generation
		}
	}
	return 0
}

// undeployed are the reasons of Ready of a Collector whose spec is not deployed. A spec that renders the same makes no revision, so the
// generation of the last revision alone does not tell.
var undeployed = []string{
	v1alpha1.ReasonPaused, v1alpha1.ReasonConfigInvalid, v1alpha1.ReasonConfigMissing, v1alpha1.ReasonChecking, v1alpha1.ReasonCheckFailed,
	v1alpha1.ReasonConflict, v1alpha1.ReasonReleaseFailed,
}

func (o *observed) isUndeployed() bool {
	return o.isBehind() || slices.Contains(undeployed, o.ready.Reason)
}

// change says who brought the last change, and what it is, or nothing if that is not known.
func (o *observed) change() string {
	deployed := o.deployedGeneration()
	if o.isUndeployed() && deployed > 0 && deployed != o.collector.Generation {
		by := cmp.Or(oneLine(cache.ChangerOf(o.collector)), "unknown")
		return fmt.Sprintf("the owner's change of the spec, by %s, is not deployed: revision %s has generation %d, and the spec is at %d",
			by, revisionOf(o.collector), deployed, o.collector.Generation)
	}
	if pending := conditionOf(o.collector, v1alpha1.UpdatePending); pending.Status == corev1.ConditionTrue {
		return "the platform's change, of a base or of the operator, is not deployed: " + pending.Message
	}
	if len(o.revisions) > 0 {
		last := o.revisions[0]
		return fmt.Sprintf("revision %d, deployed %s ago, by %s: %s", last.Number, ago(last.Deployed),
			cmp.Or(oneLine(last.ChangedBy), "unknown"), cmp.Or(few(last.Changes), "its changes are not recorded"))
	}
	return o.lastChange()
}

// lastChange says whose the deployed change is, by the status alone.
func (o *observed) lastChange() string {
	recorded := o.collector.Status.History
	if len(recorded) == 0 || o.deployedGeneration() == 0 {
		return ""
	}
	last := recorded[len(recorded)-1]
	if len(recorded) > 1 && recorded[len(recorded)-2].Generation == last.Generation {
		return fmt.Sprintf("revision %d has the spec of revision %d: a base, the operator or a Secret that the spec refers to has changed",
			last.Revision, recorded[len(recorded)-2].Revision)
	}
	return fmt.Sprintf("revision %d, by a change of the spec", last.Revision)
}
