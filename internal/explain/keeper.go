package explain

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keepers are the field managers of GitOps tools, and what people call them.
var keepers = map[string]string{
	"kustomize-controller":          "a Kustomization of Flux",
	"helm-controller":               "a HelmRelease of Flux",
	"argocd-controller":             "an application of Argo CD",
	"argocd-application-controller": "an application of Argo CD",
}

// Keeper returns which GitOps tool keeps an object as git says, or "". Tools say so in labels and annotations or, where
// these are configured otherwise, as field managers.
func Keeper(object metav1.Object) string {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	for _, kind := range []struct{ name, prefix string }{
		{"Kustomization", "kustomize.toolkit.fluxcd.io/"},
		{"HelmRelease", "helm.toolkit.fluxcd.io/"},
	} {
		if name := labels[kind.prefix+"name"]; name != "" {
			return fmt.Sprintf("%s %s/%s of Flux", kind.name, labels[kind.prefix+"namespace"], name)
		}
	}
	application, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
	if application = cmp.Or(application, labels["argocd.argoproj.io/instance"]); application != "" {
		return "application " + application + " of Argo CD"
	}
	for _, entry := range object.GetManagedFields() {
		if name := keepers[entry.Manager]; name != "" && entry.Subresource == "" {
			return name
		}
	}
	return ""
}
