package postrender

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/kube8/kube8-operator/internal/configuration"
)

// TemplateAnnotation is on the pod template of a Collector with a canary, and on its pods: a hash of the template. By it the informer cache
// tells pods of a changed template from others.
const TemplateAnnotation = "kube8.dev/template"

// templateLength is how many digits of the hash the annotation has.
const templateLength = 16

// stampTemplate writes the hash of a pod template into TemplateAnnotation, where the chart has the annotation. The layout of the text
// does not count.
func (o *object) stampTemplate() error {
	template, err := o.node.Pipe(yaml.Lookup("spec", "template"))
	if err != nil || template == nil {
		return err
	}
	if _, isAsked := template.GetAnnotations(TemplateAnnotation)[TemplateAnnotation]; !isAsked {
		return nil
	}
	if err := template.PipeE(yaml.SetAnnotation(TemplateAnnotation, "")); err != nil { // it may have been here before
		return err
	}
	text, err := template.MarshalJSON()
	if err != nil {
		return err
	}
	o.isChanged = true
	return template.PipeE(yaml.SetAnnotation(TemplateAnnotation, configuration.HashOf(text)[:templateLength]))
}
