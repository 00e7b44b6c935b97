package assets

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

func TestRequirements(t *testing.T) {
	for name, test := range map[string]struct {
		gomod string
		want  string
		fails string
	}{
		"the required version is found": {
			gomod: "module x\nrequire k8s.io/kubernetes v1.35.4 // indirect\n",
			want:  "v1.35.4",
		},
		"a module that is not required is named": {
			gomod: "module x\nrequire k8s.io/api v0.35.4\n",
			fails: "go.mod does not require k8s.io/kubernetes",
		},
		"a file that is no go.mod is refused": {
			gomod: "requires nothing",
			fails: "unknown directive",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			err := requirements("go.mod", []byte(test.gomod), map[string]*string{kubernetes: &got})
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("got error %v, want %q", err, test.fails)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestVersionsOfThisModule(t *testing.T) {
	v, err := ReadVersions(filepath.Join("..", ".."), ".")
	if err != nil {
		t.Fatal(err)
	}
	for field, value := range reflect.ValueOf(v).Fields() {
		if value.String() == "" {
			t.Errorf("there is no version of %s", field.Name)
		}
	}
}

func TestEachEarlierVersionOfKubernetesHasAModule(t *testing.T) {
	module := filepath.Join("..", "..")
	newest, err := ReadVersions(module, ".")
	if err != nil {
		t.Fatal(err)
	}
	for minor, want := range map[string]string{
		"":     newest.Kubernetes,
		"1.34": "v1.34.",
		"1.35": "v1.35.",
		"1.36": "v1.36.",
		"1.37": newest.Kubernetes,
	} {
		dir, err := KubernetesModule(module, minor)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := ReadVersions(module, dir)
		if err != nil || !strings.HasPrefix(got.Kubernetes, want) {
			t.Errorf("%q: Kubernetes %s, %v, want %s", minor, got.Kubernetes, err, want)
		}
		if got.Kubernetes = newest.Kubernetes; got != newest {
			t.Errorf("%q: %+v, want another version of Kubernetes only: %+v", minor, got, newest)
		}
	}
	if _, err := KubernetesModule(module, "1.33"); err == nil || !strings.Contains(err.Error(), "1.34 1.35 1.36") {
		t.Errorf("got error %v, want one that names the versions that can be built", err)
	}
}

func TestHelmOperatorIsOfTheVersionThatTheKeyNames(t *testing.T) {
	v, err := ReadVersions(filepath.Join("..", ".."), ".")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "helm-operator", "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := requirements(path, content, map[string]*string{operatorSDK: &got}); err != nil || got != v.OperatorSDK {
		t.Errorf("%s requires %s, %v, want %s as in tools/go.mod", path, got, err, v.OperatorSDK)
	}
}

func TestModulesAreOfTheVersionsThatTheOperatorHas(t *testing.T) {
	versions := func(path string) map[string]string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := modfile.Parse(path, content, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, r := range file.Require {
			out[r.Mod.Path] = r.Mod.Version
		}
		return out
	}
	module := filepath.Join("..", "..")
	operator := versions(filepath.Join(module, "..", "..", "go.mod"))
	for path, version := range versions(filepath.Join(module, "go.mod")) {
		if want, both := operator[path]; both && version != want {
			t.Errorf("test/cluster/go.mod has %s %s: what depends on it is compiled twice, "+
				"once for the operator and once for the control plane; require %s, as go.mod does, "+
				"also where a replace directive names that version", path, version, want)
		}
	}
}

func TestKeyChangesWithEachVersion(t *testing.T) {
	v := Versions{Kubernetes: "v1.35.4", Etcd: "v3.6.5"}
	for i, field := range reflect.VisibleFields(reflect.TypeFor[Versions]()) {
		t.Run(field.Name, func(t *testing.T) {
			other := v
			reflect.ValueOf(&other).Elem().Field(i).SetString("v9.9.9")
			if other.key() == v.key() {
				t.Errorf("both have the key %q", v.key())
			}
		})
	}
}

func TestEnsureTakesOneFolderThatHasAll(t *testing.T) {
	v := Versions{Kubernetes: "v1.35.4", Etcd: "v3.6.5", Kwok: "v0.7.0", CoreDNS: "v1.13.1"}
	given, base := t.TempDir(), t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", given)
	t.Setenv("KUBE8_CACHE_DIR", base)
	cached := filepath.Join(base, v.key())
	for _, file := range []string{
		filepath.Join(given, "etcd"), filepath.Join(given, "kubectl"),
		filepath.Join(cached, "etcd"), filepath.Join(cached, "kwok"),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for name, test := range map[string]struct {
		names []string
		want  string
	}{
		"KUBEBUILDER_ASSETS has all":  {[]string{"etcd", "kubectl"}, given},
		"KUBEBUILDER_ASSETS has some": {[]string{"etcd", "kwok"}, cached},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Builder{Module: t.TempDir(), Versions: v, Progress: io.Discard}
			got, err := b.Ensure(context.Background(), test.names...)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestEnsureLeavesNothingOfABuildThatFails(t *testing.T) {
	base := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("KUBE8_CACHE_DIR", base)
	b := &Builder{Module: t.TempDir(), Progress: io.Discard} // no go.mod there
	if _, err := b.Ensure(context.Background(), "etcd"); err == nil || !strings.HasPrefix(err.Error(), "build etcd: ") {
		t.Fatalf("got error %v, want one that names the binary", err)
	}
	left, err := os.ReadDir(filepath.Join(base, b.Versions.key()))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEachProgramOfTheDemoHasAnEstimate(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("KUBE8_CACHE_DIR", t.TempDir())
	b := &Builder{Module: t.TempDir(), Progress: io.Discard}
	names := append(slices.Clone(API), Controllers...)
	plan, err := b.Plan(names...)
	if err != nil {
		t.Fatal(err)
	}
	programs := plan.Programs(context.Background())
	if len(programs) != len(names) {
		t.Errorf("%d programs are missing of %d", len(programs), len(names))
	}
	for _, p := range programs {
		if p.Takes == 0 {
			t.Errorf("nothing is known of how long %s takes", p.Name)
		}
	}
}

func TestEnsureRefusesUnknownNames(t *testing.T) {
	b := &Builder{Progress: io.Discard}
	if _, err := b.Ensure(context.Background(), "kubelet-fake"); err == nil || !strings.Contains(err.Error(), `"kubelet-fake"`) {
		t.Errorf("got error %v, want one that names it", err)
	}
}
