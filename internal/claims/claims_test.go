package claims

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/apply"
	"github.com/kube8/kube8-operator/internal/live"
	"github.com/kube8/kube8-operator/internal/render"
)

var theSet = live.NewReference(appsv1.SchemeGroupVersion.WithKind("StatefulSet"), "c")

// setWith returns a StatefulSet with claims, such as "queue=1Gi".
func setWith(uid types.UID, claims ...string) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: uid}}
	for _, claim := range claims {
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, claimOf(claim))
	}
	return set
}

func claimOf(text string) corev1.PersistentVolumeClaim {
	name, size, _ := strings.Cut(text, "=")
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "7"},
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
		}},
	}
}

func TestTheDeployedStatefulSetKeepsTheSizesThatARefusedChangeGaveIt(t *testing.T) {
	for name, row := range map[string]struct {
		live, wanted *appsv1.StatefulSet
		want         string // the sizes it is repaired with, or empty
	}{
		"claims have grown":               {live: setWith("1", "queue=2Gi", "log=1Gi"), wanted: setWith("", "queue=1Gi", "log=1Gi"), want: "2Gi 1Gi"},
		"no claim has grown":              {live: setWith("1", "queue=1Gi"), wanted: setWith("", "queue=1Gi")},
		"a webhook has changed both":      {live: setWith("1", "queue=2Gi", "log=1Gi"), wanted: setWith("", "queue=1Gi", "log=2Gi"), want: "2Gi 1Gi"},
		"another claim is there":          {live: setWith("1", "queue=2Gi"), wanted: setWith("", "other=1Gi")},
		"it is another StatefulSet":       {live: setWith("2", "queue=2Gi"), wanted: setWith("", "queue=1Gi")},
		"it has gone since it was wanted": {wanted: setWith("", "queue=1Gi")},
	} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(row.wanted)
		if err != nil {
			t.Fatal(err)
		}
		wanted := &render.Object{Ref: theSet, Hash: "a", Content: &unstructured.Unstructured{Object: content}}
		before, got := wanted.Content.DeepCopy(), ""
		found := apply.Immutable{Live: row.live, Wanted: row.wanted, Applied: row.wanted}
		if kept, old, err := Followed(wanted, "1", found, nil); kept != nil && old == nil && err == nil {
			set := &appsv1.StatefulSet{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(kept.Content.Object, set); err != nil {
				t.Fatal(err)
			}
			var sizes []string
			for _, template := range set.Spec.VolumeClaimTemplates {
				sizes = append(sizes, template.Spec.Resources.Requests.Storage().String())
			}
			got = strings.Join(sizes, " ")
		}
		if got != row.want || !cmp.Equal(before, wanted.Content) {
			t.Errorf("%s: sizes %q, want %q", name, got, row.want)
		}
	}
}

func TestClaimTemplatesKeepWhatAWebhookHasCompleted(t *testing.T) {
	labelled := func(set *appsv1.StatefulSet) *appsv1.StatefulSet {
		set.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"backup": "yes"}
		return set
	}
	for name, row := range map[string]struct {
		live, applied, wanted *appsv1.StatefulSet
		want                  string // what it is changed to, or replaced by, or why it is not
	}{
		"what has not changed stays":      {labelled(setWith("1", "queue=1Gi")), setWith("", "queue=1Gi"), setWith("", "queue=1Gi"), "change 1Gi yes"},
		"also a size of the webhook's":    {setWith("1", "queue=5Gi"), setWith("", "queue=1Gi"), setWith("", "queue=1Gi"), "change 5Gi "},
		"claims grow with what they have": {labelled(setWith("1", "queue=1Gi")), setWith("", "queue=1Gi"), setWith("", "queue=2Gi"), "replace 2Gi yes"},
		"they cannot shrink": {
			setWith("1", "queue=5Gi"), setWith("", "queue=1Gi"), setWith("", "queue=2Gi"),
			"spec.volumeClaimTemplates[0].spec.resources.requests.storage: 2Gi is less than before, and a claim cannot shrink; set it to 5Gi or more",
		},
		"what the owner has changed is not kept": {
			labelled(setWith("1", "queue=1Gi")), labelled(setWith("", "queue=1Gi")), setWith("", "queue=1Gi"), "replace 1Gi ",
		},
		"also if what was applied is unknown": {labelled(setWith("1", "queue=1Gi")), nil, setWith("", "queue=1Gi"), "change 1Gi yes"},
		"the owner may write down what a webhook has completed": {
			labelled(setWith("1", "queue=1Gi")), setWith("", "queue=1Gi"), labelled(setWith("", "queue=2Gi")), "replace 2Gi yes",
		},
		"what may not be a webhook's becomes what is wanted": {setWith("1", "queue=1Gi"), nil, labelled(setWith("", "queue=1Gi")), "replace 1Gi yes"},
		"a size that a webhook has lowered is no growth":     {setWith("1", "queue=5Gi"), setWith("", "queue=9Gi"), setWith("", "queue=9Gi"), "change 5Gi "},
		"also beside another one that a webhook has added": {
			setWith("1", "queue=1Gi", "log=1Gi"), setWith("", "queue=1Gi"), setWith("", "queue=1Gi"), "change 1Gi ",
		},
		"also one that grows": {setWith("1", "queue=1Gi", "log=1Gi"), setWith("", "queue=1Gi"), setWith("", "queue=2Gi"), "replace 2Gi "},
		"one that the owner has taken away is not kept": {
			setWith("1", "queue=1Gi", "log=1Gi"), setWith("", "queue=1Gi", "log=1Gi"), setWith("", "queue=1Gi"), "replace 1Gi ",
		},
		"a revision with other claims tells nothing": {
			setWith("1", "queue=1Gi"), setWith("", "other=1Gi"), labelled(setWith("", "queue=1Gi")), "replace 1Gi yes",
		},
	} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(row.wanted)
		if err != nil {
			t.Fatal(err)
		}
		wanted := &render.Object{Ref: theSet, Content: &unstructured.Unstructured{Object: content}}
		kept, old, err := Followed(wanted, "1", apply.Immutable{Live: row.live, Applied: row.applied, Wanted: row.wanted, Claims: bound("queue-c-0=1Gi")}, nil)
		var got string
		switch {
		case err != nil:
			got = err.Error()
		default:
			set := &appsv1.StatefulSet{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(kept.Content.Object, set); err != nil {
				t.Fatal(err)
			}
			template := set.Spec.VolumeClaimTemplates[0]
			got = "change "
			if old != nil {
				got = "replace "
			}
			got += template.Spec.Resources.Requests.Storage().String() + " " + template.Labels["backup"]
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestAClaimKeepsTheSizeThatItHas(t *testing.T) {
	claim := func(uid types.UID, size, applied string) (claim corev1.PersistentVolumeClaim) {
		claim.UID, claim.Annotations = uid, map[string]string{v1alpha1.AppliedAnnotation: applied}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		return claim
	}
	wanted := func(size string) *render.Object {
		requests := map[string]any{"requests": map[string]any{"storage": size}}
		content := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resources": requests}}}
		what := live.NewReference(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), "c-queue")
		return &render.Object{Ref: what, Content: content, Hash: size}
	}
	for name, row := range map[string]struct {
		uid    types.UID
		before *render.Object
		want   string // the size, and whether it is asked for
	}{
		"which is not asked for":            {uid: "2", before: wanted("1024Mi"), want: "2Gi false"},
		"which its owner asks to be less":   {uid: "2", before: wanted("2Gi"), want: "2Gi true"},
		"if the revision is not recorded":   {uid: "2", want: "2Gi true"},
		"which has grown since it is there": {uid: "1", want: "3Gi false"},
		"unless it is another claim":        {uid: "3", want: " false"},
	} {
		found := apply.Immutable{Claims: []corev1.PersistentVolumeClaim{claim("1", "3Gi", "1Gi"), claim("2", "2Gi", "2Gi")}, Before: row.before}
		kept, isAsked := Unshrunk(wanted("1Gi"), row.uid, found)
		size := ""
		if kept != nil {
			size, _, _ = unstructured.NestedString(kept.Content.Object, "spec", "resources", "requests", "storage")
		}
		if got := fmt.Sprint(size, " ", isAsked); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

func TestADeployedStatefulSetTakesBackItsTemplatesAndNotTheirSizes(t *testing.T) {
	for name, row := range map[string]struct{ live, wanted *appsv1.StatefulSet }{
		"a change has other templates":     {classed("fast", setWith("1", "queue=2Gi")), classed("slow", setWith("", "queue=1Gi"))},
		"a change has one template more":   {classed("slow", setWith("1", "queue=2Gi", "log=1Gi")), classed("slow", setWith("", "queue=2Gi"))},
		"a change has made claims smaller": {classed("slow", setWith("1", "queue=1Gi")), classed("slow", setWith("", "queue=2Gi"))},
	} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(row.wanted)
		if err != nil {
			t.Fatal(err)
		}
		wanted := &render.Object{Ref: theSet, Content: &unstructured.Unstructured{Object: content}}
		found := apply.Immutable{Live: row.live, Wanted: row.wanted, TakesBack: true, Claims: bound("queue-c-0=2Gi")}
		set, old, err := Followed(wanted, "1", found, nil)
		if err != nil || old == nil || sizesOf(t, set) != "queue=2Gi slow" {
			t.Errorf("%s: %v in place of %v, %v", name, set, old, err)
		}
	}
}

// sizesOf returns the claim templates of a StatefulSet: names, sizes and classes.
func sizesOf(t *testing.T, of *render.Object) string {
	t.Helper()
	set, all := &appsv1.StatefulSet{}, []string{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of.Content.Object, set); err != nil {
		t.Fatal(err)
	}
	for _, template := range set.Spec.VolumeClaimTemplates {
		class := ""
		if template.Spec.StorageClassName != nil {
			class = " " + *template.Spec.StorageClassName
		}
		all = append(all, template.Name+"="+template.Spec.Resources.Requests.Storage().String()+class)
	}
	return strings.Join(all, " ")
}

func bound(texts ...string) (claims []corev1.PersistentVolumeClaim) {
	for _, text := range texts {
		claim := claimOf(text)
		claim.Spec.VolumeName = "pv"
		claims = append(claims, claim)
	}
	return claims
}

func classed(class string, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &class
	return set
}

func byHand(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	return set
}

func TestClaimsOfAnotherCollectorDoNotGrow(t *testing.T) {
	current := setWith("1", "data-eu=1Gi")
	current.Name = "gw"
	own, other := claimOf("data-eu-gw-0=1Gi"), claimOf("data-eu-gw-5=1Gi")
	own.Spec.VolumeName, other.Spec.VolumeName = "v1", "v2"
	other.Labels = map[string]string{v1alpha1.CollectorLabel: "eu-gw"}
	found := apply.Immutable{Live: current, Wanted: setWith("", "data-eu=2Gi"), Claims: []corev1.PersistentVolumeClaim{own, other}}
	_, grow, err := Foretell(found, nil)
	if err != nil || len(grow) != 1 || grow[0].Claim != own.Name {
		t.Errorf("%v grow, error %v, want %s only", grow, err, own.Name)
	}
}
