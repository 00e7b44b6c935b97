package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/postrender"
)

// checkVersion returns an error if no Collector can have a version.
func checkVersion(ctx context.Context, renderer *offline.Renderer, version string) error {
	collector := &unstructured.Unstructured{Object: map[string]any{}}
	collector.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	_, _, err := checkOf(ctx, renderer, collector, version)
	refused, _ := errors.AsType[offline.ProblemsError](err)
	for _, problem := range refused { // there are others, about fields that are missing
		if problem.Field == "spec.collector.version" {
			return fmt.Errorf("--version %q: %s", version, problem.Message)
		}
	}
	return nil
}

// checkOf returns the Job that the operator would check a Collector of a version with, and its Secret of files, if it has one.
func checkOf(
	ctx context.Context, renderer *offline.Renderer, collector *unstructured.Unstructured, version string,
) (job *batchv1.Job, secret *corev1.Secret, err error) {
	spec, _ := collector.DeepCopy().Object["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
	}
	bare := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	bare.SetGroupVersionKind(collector.GroupVersionKind())
	bare.SetNamespace(collector.GetNamespace())
	bare.SetName(collector.GetName())
	if err := unstructured.SetNestedField(bare.Object, version, "spec", "collector", "version"); err != nil {
		return nil, nil, fmt.Errorf("set the version: %w", err)
	}
	if _, isChecked, _ := unstructured.NestedFieldNoCopy(bare.Object, "spec", "check"); !isChecked {
		if err := unstructured.SetNestedMap(bare.Object, map[string]any{}, "spec", "check"); err != nil {
			return nil, nil, fmt.Errorf("ask for a check: %w", err)
		}
	}
	text, err := json.Marshal(bare)
	if err != nil {
		return nil, nil, fmt.Errorf("write the Collector: %w", err)
	}
	rendered, err := renderer.Render(ctx, bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	for _, object := range rendered[0].Objects {
		var into any
		switch _, hasFiles := object.GetAnnotations()[postrender.ConfigurationAnnotation]; {
		case object.GetKind() == "Job":
			job = &batchv1.Job{}
			into = job
		case object.GetKind() == "Secret" && hasFiles:
			secret = &corev1.Secret{}
			into = secret
		default:
			continue
		}
		text, err := json.Marshal(object)
		if err := errors.Join(err, json.Unmarshal(text, into)); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", live.ReferenceTo(object), err)
		}
	}
	if job == nil {
		return nil, nil, errors.New("the chart of this version has no check")
	}
	return job, secret, nil
}
