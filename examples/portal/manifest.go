package main

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/foretell"
	parser "github.com/kube8/kube8-operator/internal/manifest"
	"github.com/kube8/kube8-operator/internal/specpath"
)

const (
	maxTries = 5 // is how often a change is sent whose Collector got a new status meanwhile
	// strict has the API server refuse a field that there is not.
	strict = client.FieldValidation(metav1.FieldValidationStrict)
)

var (
	kind = v1alpha1.GroupVersion.WithKind("Collector")

	// kept are annotations that are not for people to edit.
	kept = []string{beforeAnnotation, corev1.LastAppliedConfigAnnotation}

	// notAsked are fields of metadata that the API server and controllers set.
	notAsked = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation",
		"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}
)

// getManifest answers with a Collector as people edit it. With before=true, it has the spec that it had before its last change. The ETag
// is that of the Collector as it is: a PUT of what people made of it sends it back.
func (p *portal) getManifest(w http.ResponseWriter, r *http.Request) error {
	live, err := p.read(r)
	if err != nil {
		return err
	}
	text, err := manifest(live)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", tag(text))
	if r.URL.Query().Get("before") == "true" {
		if live.Object["spec"] = before(live); before(live) == nil {
			return badRequest("nothing is kept of what was before: the portal keeps it from its next change on")
		}
		if text, err = manifest(live); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = io.WriteString(w, text) // a browser that has gone does not need it
	return nil
}

// putManifest creates the Collector of a manifest or, with If-Match, makes the one that has this ETag what the manifest says. The answer
// is the difference. With dryRun=All, nothing is written: the answer also has what becomes of claims, a sentence each, and the error is
// what the API server or the operator would refuse it with.
func (p *portal) putManifest(w http.ResponseWriter, r *http.Request) error {
	wanted, err := readManifest(w, r)
	if err != nil {
		return err
	}
	dryRun := r.URL.Query()["dryRun"]
	text, foreseen := "", []string(nil)
	if r.Header.Get("If-Match") == "" {
		err = p.collectors.Create(r.Context(), wanted, fieldManager, strict, &client.CreateOptions{DryRun: dryRun})
	} else {
		text, foreseen, err = p.update(r, wanted, dryRun)
	}
	if err != nil {
		return fmt.Errorf("write the Collector: %w", err)
	}
	after, err := manifest(wanted)
	if err != nil {
		return err
	}
	difference, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(text), B: difflib.SplitLines(after), FromFile: "as it is", ToFile: "as it becomes", Context: 3,
	})
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	w.Header().Set("ETag", tag(after))
	return answer(w, map[string]any{"name": wanted.GetName(), "difference": difference, "foreseen": foreseen})
}

// update makes a Collector what is wanted, if it is what people have seen, and returns it as it was. A dry run also returns what becomes of
// its claims.
func (p *portal) update(r *http.Request, wanted *unstructured.Unstructured, dryRun []string) (text string, foreseen []string, err error) {
	asked := wanted.DeepCopy()
	for range maxTries {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(kind)
		if err := p.collectors.Get(r.Context(), client.ObjectKeyFromObject(asked), live); err != nil {
			return "", nil, err //nolint:wrapcheck // the caller says what failed
		}
		if text, err = manifest(live); err != nil {
			return "", nil, err
		}
		refused := ""
		if len(dryRun) == 0 {
			refused = keptBy(live, r)
		}
		if tag(text) != r.Header.Get("If-Match") {
			refused = "this Collector has changed since you opened it; copy what you wrote, and open it again"
		}
		if refused != "" {
			return "", nil, conflict(live, refused)
		}
		asked.DeepCopyInto(wanted)
		fill(wanted, live)
		err = p.collectors.Update(r.Context(), wanted, fieldManager, strict, &client.UpdateOptions{DryRun: dryRun})
		if err == nil && len(dryRun) > 0 {
			foreseen, err = foretell.Claims(r.Context(), p.collectors, live, wanted)
			if _, is := errors.AsType[*specpath.FieldsError](err); is {
				err = badRequest("the operator would refuse it: " + err.Error())
			}
		}
		if !apierrors.IsConflict(err) {
			break
		}
	}
	return text, foreseen, err
}

// fill adds to what is wanted what people do not edit.
func fill(wanted, live *unstructured.Unstructured) {
	wanted.SetUID(live.GetUID())
	wanted.SetResourceVersion(live.GetResourceVersion())
	wanted.SetFinalizers(live.GetFinalizers())
	wanted.SetOwnerReferences(live.GetOwnerReferences())
	for _, name := range kept {
		if value, has := live.GetAnnotations()[name]; has {
			annotate(wanted, name, value)
		}
	}
	config, _, _ := unstructured.NestedFieldNoCopy(wanted.Object, "spec", "collector")
	fields, _ := config.(map[string]any)
	text, isText := fields["configurationText"].(string)
	_, isEncoded, _ := unstructured.NestedString(live.Object, "spec", "collector", "configuration")
	if isText && isEncoded && fields["configuration"] == nil { // it was shown as text, and stays the field that is set
		delete(fields, "configurationText")
		fields["configuration"] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	if !reflect.DeepEqual(wanted.Object["spec"], live.Object["spec"]) {
		remember(wanted, live)
	}
}

// manifest returns a Collector as people edit it: without what others keep in it, and with a configuration in base64 as text.
func manifest(of *unstructured.Unstructured) (string, error) {
	of = of.DeepCopy()
	metadata := map[string]any{"name": of.GetName()}
	annotations := of.GetAnnotations()
	for _, name := range kept {
		delete(annotations, name)
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if labels := of.GetLabels(); len(labels) > 0 {
		metadata["labels"] = labels
	}
	config, _, _ := unstructured.NestedFieldNoCopy(of.Object, "spec", "collector")
	if fields, is := config.(map[string]any); is {
		encoded, isEncoded := fields["configuration"].(string)
		if text, err := base64.StdEncoding.DecodeString(encoded); isEncoded && err == nil && utf8.Valid(text) {
			delete(fields, "configuration")
			fields["configurationText"] = string(text)
		}
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": of.GetAPIVersion(), "kind": of.GetKind(), "metadata": metadata, "spec": of.Object["spec"],
	})
	if err != nil {
		return "", fmt.Errorf("write the Collector: %w", err)
	}
	return string(text), nil
}

// readManifest returns what a request asks for. The API server says what is wrong in the spec.
func readManifest(w http.ResponseWriter, r *http.Request) (*unstructured.Unstructured, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, tooLarge(err)
	}
	var wanted *unstructured.Unstructured
	for object, wrong := range parser.Objects(text) {
		if wanted != nil {
			wrong = errors.New("there is more than one object; give each Collector a manifest of its own")
		}
		if wrong != nil {
			err = wrong
			break
		}
		wanted = object
	}
	namespace := r.PathValue("namespace")
	switch {
	case err != nil:
		return nil, badRequest("this is not the YAML of a Collector: " + err.Error())
	case wanted == nil:
		return nil, badRequest("this is not the YAML of a Collector: it has no object with apiVersion and kind")
	case wanted.GroupVersionKind() != kind:
		return nil, badRequest("apiVersion, kind: must be " + kind.GroupVersion().String() + ", " + kind.Kind)
	case wanted.GetName() == "":
		return nil, badRequest("metadata.name: missing; name the Collector")
	case wanted.GetNamespace() != "" && wanted.GetNamespace() != namespace:
		return nil, badRequest("metadata.namespace: must be " + namespace + ", or left out")
	}
	for _, name := range notAsked {
		unstructured.RemoveNestedField(wanted.Object, "metadata", name)
	}
	delete(wanted.Object, "status")
	if annotations, has, _ := unstructured.NestedFieldNoCopy(wanted.Object, "metadata", "annotations"); has && annotations == nil {
		unstructured.RemoveNestedField(wanted.Object, "metadata", "annotations") // null takes none of those that are kept
	}
	wanted.SetNamespace(namespace)
	return wanted, nil
}

func badRequest(message string) error {
	return apierrors.NewBadRequest(message) //nolint:wrapcheck // it is the answer
}

// tag identifies what people have seen of a Collector.
func tag(text string) string { return fmt.Sprintf(`"%.16x"`, sha256.Sum256([]byte(text))) }
