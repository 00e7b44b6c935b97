package sources

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// recordedBase returns a base as the values of a record have it.
func recordedBase(name, position, file, content string) map[string]any {
	return map[string]any{
		"name": name, "version": VersionOf([]byte(content)), "position": position, "file": file,
		"content": base64.StdEncoding.EncodeToString([]byte(content)),
	}
}

func TestABaseThatIsRefusedStaysAsItIsDeployed(t *testing.T) {
	const good, secretText = "a: {}\n", "hunter2"
	version := VersionOf([]byte(good))
	kept := []any{recordedBase("a", "last", "base-a.yaml", good), recordedBase("b", "last", "base-b.yaml", "b: {}\n")}
	b := configMap("b", "last", "b.yaml", "b: {}\n")
	twoKeys := &corev1.ConfigMap{ObjectMeta: meta("a", "last"), Data: map[string]string{"a.yaml": secretText, "b.yaml": secretText}}
	const notYAML = `base "a" in namespace system: key "a.yaml": `
	for name, row := range map[string]struct {
		objects  []client.Object
		named    []string
		deployed []any // bases of the status
		recorded []any // bases of the deployed revision's values
		want     []string
		refusals string // a part
		wantErr  string // a part
	}{
		"what is no YAML": {
			objects: []client.Object{configMap("a", "last", "a.yaml", "a: ["+secretText), b}, named: []string{"b", "a"},
			deployed: []any{"b@" + VersionOf([]byte("b: {}\n")), "a@" + version}, recorded: kept,
			want: []string{"last base-b.yaml b: {}\n", "last base-a.yaml a: {}\n"}, refusals: notYAML,
		},
		"one that has gone, where it was": {
			objects: []client.Object{b}, named: []string{"b", "a"}, deployed: []any{"a@" + version}, recorded: kept,
			want: []string{"last base-b.yaml b: {}\n", "last base-a.yaml a: {}\n"}, refusals: `namespace system has no base "a"`,
		},
		"two keys, where the Collector says": {
			objects: []client.Object{twoKeys}, named: []string{"a first"}, deployed: []any{"a@" + version}, recorded: kept,
			want: []string{"first base-a.yaml a: {}\n"}, refusals: "has 2 keys",
		},
		"what is empty, where its label says now": {
			objects: []client.Object{configMap("a", "first", "a.yaml", "")}, named: []string{"a"}, deployed: []any{"a@" + version},
			recorded: kept, want: []string{"first base-a.yaml a: {}\n"}, refusals: "is empty",
		},
		"a label that is no position": {
			objects: []client.Object{configMap("a", "middle", "a.yaml", good)}, named: []string{"a"}, deployed: []any{"a@" + version},
			recorded: kept, want: []string{"last base-a.yaml a: {}\n"}, refusals: "is neither first nor last",
		},
		"one of the namespace, which is not deployed, stays away": {
			objects: []client.Object{namespace("a_b"), b}, deployed: []any{}, want: []string{"last base-b.yaml b: {}\n"},
			refusals: `the Collector stays without base "a"`,
		},
		"one that has grown too large beside another, which stays as well": {
			objects: []client.Object{configMap("a", "last", "a.conf", strings.Repeat("x", 256<<10)), b}, named: []string{"a", "b"},
			deployed: []any{"a@" + version, "b@" + VersionOf([]byte("b: {}\n"))}, recorded: kept,
			want: []string{"last base-a.yaml a: {}\n", "last base-b.yaml b: {}\n"}, refusals: "more than 262144 bytes together",
		},
		"one of the namespace that is too large beside another stays away": {
			objects: []client.Object{namespace("c"), configMap("c", "last", "c.conf", strings.Repeat("x", 256<<10)), b}, named: []string{"b"},
			deployed: []any{"b@" + VersionOf([]byte("b: {}\n"))}, recorded: kept, want: []string{"last base-b.yaml b: {}\n"},
			refusals: `together; shorten them, or remove one; the Collector stays without base "c"`,
		},
		"two that have got one file": {
			objects: []client.Object{configMap("a", "last", "a.b", good), configMap("a.b", "last", "x", good)}, named: []string{"a", "a.b"},
			deployed: []any{"a@" + version, "a.b@" + version}, recorded: append(kept, recordedBase("a.b", "first", "base-a.b", good)),
			want: []string{"last base-a.yaml a: {}\n", "last base-a.b a: {}\n"}, refusals: "both have the file base-a.b; rename one; version",
		},
		"but not one that the Collector names anew, and that is too large beside another": {
			objects: []client.Object{configMap("a", "last", "a.conf", strings.Repeat("x", 256<<10)), b}, named: []string{"b", "a"},
			deployed: []any{"b@" + VersionOf([]byte("b: {}\n"))}, recorded: kept, wantErr: "more than 262144 bytes together",
		},
		"but not if the Collector has deployed none": {
			named: []string{"a"}, deployed: []any{"aa@" + version}, recorded: kept, wantErr: `namespace system has no base "a"`,
		},
		"but not with a content that a tenant has forged": {
			named: []string{"a"}, deployed: []any{"a@" + version}, recorded: []any{map[string]any{
				"name": "a", "version": version, "position": "last", "file": "base-a.yaml", "content": base64.StdEncoding.EncodeToString([]byte("b: {}")),
			}},
			refusals: `has no base "a"`, wantErr: "version " + version + ", which is deployed, is not in the record of the deployed revision",
		},
		"but not with a file that no Secret can have": {
			named: []string{"a"}, deployed: []any{"a@" + version}, recorded: []any{recordedBase("a", "last", "base-a."+strings.Repeat("x", 260), good)},
			refusals: `has no base "a"`, wantErr: "is not in the record",
		},
		"but not with the file of another one": {
			named: []string{"a"}, deployed: []any{"a@" + version}, recorded: []any{recordedBase("a", "last", "base-a.b.yaml", good)},
			refusals: `has no base "a"`, wantErr: "is not in the record",
		},
		"but not without a record": {
			named: []string{"a"}, deployed: []any{"a@" + version}, refusals: `has no base "a"`, wantErr: "is not in the record",
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := collector(row.named...)
			_ = unstructured.SetNestedSlice(of.Object, row.deployed, "status", "bases")
			_ = unstructured.SetNestedField(of.Object, "r", "status", "deployedRelease", "name")
			found, err := sourceOf(t, row.objects...).Of(t.Context(), of)
			if told := found.Refusals(); !strings.Contains(told, row.refusals) || (told == "") != (row.refusals == "") {
				t.Errorf("refusals %q, want %q", told, row.refusals)
			}
			before := found.Inputs()
			if err == nil {
				found, err = found.Restore(map[string]any{"bases": row.recorded})
			}
			if told := ""; err != nil || row.wantErr != "" {
				if err != nil {
					told = err.Error()
				}
				if row.wantErr == "" || !strings.Contains(told, row.wantErr) {
					t.Fatalf("error %q, want %q", told, row.wantErr)
				}
				return
			}
			var got []string
			for _, base := range found {
				got = append(got, string(base.Position)+" "+base.File+" "+string(base.content))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("bases (-want +got):\n%s", diff)
			}
			if strings.Contains(before+found.Refusals(), secretText) {
				t.Errorf("told: %s", before)
			}
		})
	}
}

func TestACollectorThatIsNotDeployedIsRefusedWithTheBaseOfItsNamespace(t *testing.T) {
	if found, err := sourceOf(t, namespace("a")).Of(t.Context(), collector()); err == nil {
		t.Errorf("bases %v", found)
	}
}

func TestTheInputsTellARefusalAndAnotherPositionApart(t *testing.T) {
	of := collector("a")
	_ = unstructured.SetNestedSlice(of.Object, []any{"a@" + VersionOf([]byte("a: {}\n"))}, "status", "bases")
	told := map[string]bool{}
	for _, object := range []client.Object{
		configMap("a", "last", "a.yaml", "a: {}\n"), configMap("a", "last", "a.yaml", "a: ["), configMap("a", "first", "a.yaml", "a: ["),
		configMap("a", "first", "a.yaml", ""),
	} {
		found, err := sourceOf(t, object).Of(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		told[found.Inputs()] = true
	}
	if len(told) != 4 {
		t.Errorf("told %v", told)
	}
}
