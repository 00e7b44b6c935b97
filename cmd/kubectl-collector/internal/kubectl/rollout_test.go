package kubectl

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	"github.com/kube8/kube8-operator/internal/sources"
)

func TestACollectorIsCountedAsTheOperatorDoes(t *testing.T) {
	began := time.Now()
	pending := func(reason string, ago time.Duration) *v1alpha1.Collector {
		c := &v1alpha1.Collector{}
		c.Status.Conditions = []v1alpha1.Condition{{Type: "Ready"}, {
			Type: v1alpha1.UpdatePending, Reason: reason, LastTransitionTime: metav1.NewTime(began.Add(-ago)),
		}}
		return c
	}
	paused, held := pending(v1alpha1.ReasonRollingOut, time.Hour), pending(v1alpha1.ReasonRollingOut, time.Hour)
	paused.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	asked, demanded := pending(v1alpha1.ReasonRollingOut, 29*time.Minute), pending(v1alpha1.ReasonRollingOut, 29*time.Minute)
	asked.Spec.Canary, demanded.Status.Canary = &v1alpha1.Canary{}, &v1alpha1.CanaryStatus{}
	rolledBack := pending(v1alpha1.ReasonRollingOut, time.Minute)
	rolledBack.Status.Conditions[0].Reason = v1alpha1.ReasonRolledBack
	refused := &v1alpha1.Collector{}
	refused.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Reason: v1alpha1.ReasonConfigMissing}}
	unchecked := &v1alpha1.Collector{}
	unchecked.Status.Conditions = []v1alpha1.Condition{{Type: "Ready", Reason: v1alpha1.ReasonCheckFailed}}
	held.Labels = map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold}
	deleted, goes := pending(v1alpha1.ReasonRollingOut, time.Hour), &v1alpha1.Collector{}
	deleted.DeletionTimestamp, goes.DeletionTimestamp = new(metav1.Now()), new(metav1.Now())
	hold := map[string]string{v1alpha1.RolloutLabel: v1alpha1.RolloutHold}
	for name, row := range map[string]struct {
		collector *v1alpha1.Collector
		namespace map[string]string
		want      string
	}{
		"one that waits for nothing":        {&v1alpha1.Collector{}, hold, "up to date"},
		"one whose turn comes":              {pending(v1alpha1.ReasonWaiting, time.Hour), nil, "waiting"},
		"one that is left out":              {pending(v1alpha1.ReasonLeftOut, time.Hour), nil, "left out"},
		"one whose base is refused":         {pending(v1alpha1.ReasonBaseRefused, time.Hour), nil, "refused"},
		"one whose change is refused":       {pending(v1alpha1.ReasonRefused, time.Hour), nil, "refused"},
		"one that became ready not yet":     {pending(v1alpha1.ReasonRollingOut, time.Minute), nil, "on their way"},
		"one that did not in time":          {pending(v1alpha1.ReasonRollingOut, time.Hour), nil, "overdue"},
		"one whose canary has more time":    {asked, nil, "on their way"},
		"one with a canary of the platform": {demanded, nil, "on their way"},
		"one whose canary has failed":       {rolledBack, nil, "overdue"},
		"one that is paused on its way":     {paused, nil, "left out"},
		"one that is held on its way":       {held, nil, "left out"},
		"one whose namespace holds it":      {pending(v1alpha1.ReasonRollingOut, time.Hour), hold, "left out"},
		"one that is deleted on its way":    {deleted, nil, "left out"},
		"one that is deleted":               {goes, nil, "left out"},
		"one that cannot be deployed":       {refused, nil, "refused"},
		"one whose check does not end":      {unchecked, nil, "refused"},
		"a namespace that is in a hurry":    {pending(v1alpha1.ReasonWaiting, 0), map[string]string{v1alpha1.RolloutLabel: "now"}, "waiting"},
		"a reason of a later version":       {pending("Later", 0), nil, "waiting"},
		"one that waits and is held back":   {pending(v1alpha1.ReasonWaiting, 0), hold, "left out"},
	} {
		if got, _ := stateOf(row.collector, row.namespace, began.Add(-10*time.Minute)); got != row.want {
			t.Errorf("%s is %s, and is to be %s", name, got, row.want)
		}
	}
	for label, want := range map[string]string{"0": "0", "07": "7", "": "last", "first": "last", "-1": "last"} {
		if got := ringOf(map[string]string{v1alpha1.RingLabel: label}, true); got != want {
			t.Errorf("the label %q means ring %s, and is to mean %s", label, got, want)
		}
	}
	if got := ringOf(nil, false); got != "unknown" {
		t.Errorf("a namespace that may not be read is in ring %s", got)
	}
}

func TestThoseThatAreOverdueAreShownUpToTen(t *testing.T) {
	var out strings.Builder
	told := &progress{
		IsPaused: new(true), More: 2, Overdue: []late{{Namespace: "acme", Name: "gateway", Cause: "It crashes."}},
		OnTheWay: []late{{Namespace: "acme", Name: "agent", Cause: "Pods start."}},
		Refused:  []late{{Namespace: "zeta", Name: "agent", Cause: "A quota refuses it."}},
		Rings: map[string]map[string]int{
			"last": {"waiting": 7, "refused": 1}, "10": {"overdue": 3}, "9": {"up to date": 3, "on their way": 1},
		},
		Bases: map[string]map[string]int{"a": {"2222": 3, "1111": 8}, "b": {"3333": 1}}, Now: map[string]string{"a": "2222"},
	}
	if err := told.print(&out); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	const want = "9 3 0 0 1 0 0|10 0 0 0 0 3 0|last 0 7 0 0 0 1||BASE NOW DEPLOYED|a 2222 1111: 8, 2222: 3|b unknown 3333: 1||Overdue:|" +
		"acme/gateway, for unknown: It crashes.|and 2 more||On their way, and others wait until they are ready:|" +
		"acme/agent, for unknown: Pods start.||Refused:|zeta/agent, for unknown: A quota refuses it."
	if got := strings.Join(lines, "|"); !strings.HasPrefix(got, "Changes are paused; ") || !strings.HasSuffix(got, want) {
		t.Errorf("it shows\n%s", out.String())
	}
	out.Reset()
	if err := (&progress{IsPaused: new(false), IsGated: new(true)}).print(&out); err != nil || !strings.HasPrefix(out.String(), "Each ring after the first waits for ") {
		t.Errorf("%v, it shows\n%s", err, out.String())
	}
}

// withHistory returns a Collector that has a base, whose revisions had it with contents, and when they were deployed.
func withHistory(t *testing.T, namespace string, contents map[int]string) (objects []client.Object) {
	t.Helper()
	c := &v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gateway", UID: types.UID(namespace)}}
	c.Status.DeployedRelease = &v1alpha1.DeployedRelease{Revision: int64(len(contents))}
	for _, at := range slices.Sorted(maps.Keys(contents)) { // at minute
		content := contents[at]
		c.Status.Bases = []string{"limits@" + sources.VersionOf([]byte(content))}
		secret := recorded(t, &helm.Release{
			Version: at, Info: &helm.Info{LastDeployed: helm.Time{Time: time.Unix(int64(60*at), 0)}},
			Config: map[string]any{"bases": []any{map[string]any{
				"name": "limits", "version": "forged", "content": base64.StdEncoding.EncodeToString([]byte(content)),
			}}},
		})
		secret.ObjectMeta = metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("sh.helm.release.v1.gateway.v%d", at), Labels: map[string]string{"owner": "helm", "name": "gateway"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Collector", Name: "gateway", UID: c.UID, Controller: new(true)}},
		}
		objects = append(objects, secret)
	}
	return append(objects, c)
}

func TestAnUndoPutsBackWhatABaseHadBefore(t *testing.T) {
	labels := map[string]string{v1alpha1.BaseLabel: "last", "team": "platform"}
	meta := metav1.ObjectMeta{Namespace: "platform", Name: "limits", Labels: labels}
	configMap := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"part.yaml": "now"}}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"part.yaml": []byte("now")}}
	flux := configMap.DeepCopy()
	flux.Labels = map[string]string{v1alpha1.BaseLabel: "last", "kustomize.toolkit.fluxcd.io/name": "fleet"}
	other := configMap.DeepCopy()
	other.Labels = nil
	broken := configMap.DeepCopy()
	broken.Data["more.yaml"] = ""
	for name, row := range map[string]struct {
		base             client.Object
		records          []map[int]string // by Collector
		to               string
		given            consent
		answer           string
		want, wantFailed string
	}{
		"a base that was changed": {base: configMap, records: []map[int]string{{1: "older", 2: "before", 3: "now"}}, answer: "y\n", want: "before"},
		"a Secret":                {base: secret, records: []map[int]string{{1: "before", 2: "now"}}, answer: "y\n", want: "before"},
		"what is no text":         {base: configMap, records: []map[int]string{{1: "\xff", 2: "now"}}, answer: "y\n", want: "\xff"},
		"one that only few have got": {
			base: configMap, records: []map[int]string{{1: "older"}, {1: "older", 5: "before", 7: "now"}}, answer: "y\n", want: "before",
		},
		"one that a Collector with more revisions has missed": {
			base: configMap, records: []map[int]string{{1: "a", 2: "b", 3: "older"}, {5: "before", 7: "now"}}, answer: "y\n", want: "before",
		},
		"one that was changed twice, and most have what was before that": {
			base: configMap, records: []map[int]string{{1: "good"}, {1: "good"}, {1: "good", 5: "bad", 7: "now"}}, answer: "y\n", want: "good",
		},
		"one that was changed twice, and most have it": {
			base: configMap, records: []map[int]string{{1: "good"}, {5: "before", 7: "now"}, {5: "before", 7: "now"}}, answer: "y\n", want: "before",
		},
		"one that only a Collector with few revisions recalls": {
			base: configMap, records: append(slices.Repeat([]map[int]string{{1: "now", 2: "now", 3: "now"}}, 30), map[int]string{1: "before", 2: "now"}),
			answer: "y\n", want: "before",
		},
		"one that only a Collector with many revisions recalls": {
			base: configMap, records: append(slices.Repeat([]map[int]string{{1: "now", 2: "now"}}, 30), map[int]string{1: "before", 2: "now", 3: "now"}),
			answer: "y\n", want: "before",
		},
		"one that was before, and again": {base: configMap, records: []map[int]string{{1: "a", 2: "b", 3: "a", 4: "now"}}, answer: "y\n", want: "a"},
		"a version by its name": {
			base: configMap, records: []map[int]string{{1: "older", 2: "before"}}, to: sources.VersionOf([]byte("older")), given: consent{yes: true}, want: "older",
		},
		"a change that is declined": {base: configMap, records: []map[int]string{{1: "before"}}, answer: "n\n", wantFailed: "nothing was changed"},
		"nothing before":            {base: configMap, records: []map[int]string{{1: "now"}}, wantFailed: "no Collector has recorded another version"},
		"no such version":           {base: configMap, records: []map[int]string{{1: "before"}}, to: "1111", wantFailed: "no Collector has recorded version 1111"},
		"what is no base":           {base: other, wantFailed: "namespace platform has no base limits"},
		"a base with two keys":      {base: broken, wantFailed: "has 2 keys"},
		"one that Flux manages":     {base: flux, wantFailed: "Kustomization /fleet of Flux manages base configmap/limits"},
		"one that Flux manages, by force": {
			base: flux, records: []map[int]string{{1: "before"}}, given: consent{force: true}, answer: "y\n", want: "before",
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := clientgoscheme.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			objects := []client.Object{row.base.DeepCopyObject().(client.Object)}
			for i, contents := range row.records {
				objects = append(objects, withHistory(t, fmt.Sprintf("tenant-%d", i), contents)...)
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
			var out bytes.Buffer
			p := &plugin{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(row.answer), Out: &out, ErrOut: &out}}
			err := p.undo(t.Context(), &session{client: c}, "platform", "limits", row.to, row.given)
			if row.wantFailed != "" {
				if err == nil || !strings.Contains(err.Error(), row.wantFailed) {
					t.Errorf("got %v, want %q", err, row.wantFailed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			after, err := (&session{client: c}).base(t.Context(), "platform", "limits")
			if err != nil || string(after.content) != row.want || after.key != "part.yaml" || after.GetLabels()[v1alpha1.BaseLabel] != "last" {
				t.Errorf("the base is %+v (%v)", after, err)
			}
			if text := out.String(); !strings.Contains(text, "-now") || !strings.HasSuffix(text, "has the content of version "+sources.VersionOf([]byte(row.want))+" again\n") {
				t.Errorf("it says %s", text)
			}
		})
	}
}

// Two operators have a base of that name, each in its own namespace.
func TestALabelSaysWhoseBaseAnUndoIsAbout(t *testing.T) {
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = v1alpha1.AddToScheme(scheme)
	ours := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ours", Name: "limits", Labels: map[string]string{v1alpha1.BaseLabel: "last"}},
		Data:       map[string]string{"part.yaml": "now"},
	}
	objects := []client.Object{ours}
	for i, content := range []string{"before", "theirs", "theirs", "theirs"} {
		made := withHistory(t, fmt.Sprint("tenant-", i), map[int]string{1: content, 2: content})
		made[len(made)-1].SetLabels(map[string]string{"shard": content})
		objects = append(objects, made...)
	}
	var out bytes.Buffer
	p := &plugin{IOStreams: genericiooptions.IOStreams{In: strings.NewReader("y\n"), Out: &out, ErrOut: &out}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	s := &session{client: c, chosen: labels.SelectorFromSet(labels.Set{"shard": "before"})}
	if err := p.undo(t.Context(), s, "ours", "limits", "", consent{}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(ours), ours); err != nil || ours.Data["part.yaml"] != "before" {
		t.Errorf("it has the content %q (%v), want that of our Collectors", ours.Data["part.yaml"], err)
	}
}

func TestTheVersionThatMostNamespacesHave(t *testing.T) {
	for name, row := range map[string]struct {
		have []string // namespace/version
		want string
	}{
		"is the one in more of them, where two are in most": {[]string{"a/2", "a/1", "b/2", "b/1", "c/2"}, "2"},
		"is the first by name, where two are in as many":    {[]string{"a/2", "a/1", "b/2", "b/1"}, "1"},
		"counts namespaces, and not Collectors":             {[]string{"a/1", "a/1", "a/1", "b/2", "c/2"}, "2"},
		"is none, if it is the one of now":                  {[]string{"a/now", "b/now", "c/1"}, ""},
		"is none, if each has another one":                  {[]string{"a/1", "b/2"}, ""},
	} {
		var all []having
		for _, one := range row.have {
			namespace, version, _ := strings.Cut(one, "/")
			all = append(all, having{&v1alpha1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}, version, 2})
		}
		if got := mostHave(all, "now"); got != row.want {
			t.Errorf("the version that most namespaces have %s: it is %q, and is to be %q", name, got, row.want)
		}
	}
}
