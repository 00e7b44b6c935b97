package history

import (
	"crypto/rand"
	"encoding/base64"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube8/kube8-operator/internal/helm"
)

func TestRevisionOf(t *testing.T) {
	for secret, want := range map[string]int{
		"sh.helm.release.v1.gateway.v1": 1, "sh.helm.release.v1.gateway.v12": 12, "sh.helm.release.v1.gateway.v0": 0,
		"sh.helm.release.v1.gateway.vx": 0, "sh.helm.release.v1.other.v1": 0, "gateway": 0,
		"sh.helm.release.v1.gateway.v1000000000": maxRevision, "sh.helm.release.v1.gateway.v1000000001": 0,
	} {
		if got, found := RevisionOf(secret, "gateway"); found != (want > 0) || found && got != want {
			t.Errorf("%s: revision %d, %t", secret, got, found)
		}
	}
}

func TestARecordLeavesOutWhatDoesNotFit(t *testing.T) {
	random := func(size int) string {
		content := make([]byte, size)
		_, _ = rand.Read(content) // it never fails
		return base64.StdEncoding.EncodeToString(content)
	}
	for name, row := range map[string]struct {
		base, own, manifest            int // bytes that cannot be packed
		hasContent, hasValues, hasText bool
	}{
		"all fits":                     {base: 1000, own: 1000, manifest: 1000, hasContent: true, hasValues: true, hasText: true},
		"not what a base contains":     {base: 400 << 10, own: 1000, manifest: 500 << 10, hasValues: true, hasText: true},
		"not the values":               {base: 1000, own: 400 << 10, manifest: 500 << 10, hasText: true},
		"neither values, nor manifest": {base: 1000, own: 1000, manifest: 1 << 20},
	} {
		values := map[string]any{
			"own":   random(row.own),
			"bases": []any{map[string]any{"name": "limits", "version": "580a1f40a2c065f1c0b3", "content": random(row.base)}},
		}
		content, err := contentOf(&helm.Release{Config: values, Manifest: random(row.manifest), Info: &helm.Info{}})
		if err != nil {
			t.Fatal(err)
		}
		rel, err := helm.Unpack(content["release"])
		if err != nil {
			t.Fatal(err)
		}
		hasText := rel.Manifest != ""
		_, hasValues := rel.Config["own"]
		bases, _ := rel.Config["bases"].([]any)
		hasContent := false
		for _, base := range bases {
			fields, _ := base.(map[string]any)
			_, hasContent = fields["content"]
			if fields["name"] != "limits" || fields["version"] != "580a1f40a2c065f1c0b3" {
				t.Errorf("%s: recorded %v of the base", name, fields)
			}
		}
		if len(content["release"]) > maxRecord || hasText != row.hasText || hasValues != row.hasValues || hasContent != row.hasContent ||
			len(bases) > 0 != hasValues {
			t.Errorf("%s: %d bytes with manifest: %t, values: %t, %d bases, with content: %t",
				name, len(content["release"]), hasText, hasValues, len(bases), hasContent)
		}
		if fields := values["bases"].([]any)[0].(map[string]any); fields["content"] == nil {
			t.Errorf("%s: the values of the caller changed", name)
		}
	}
}

func TestASpecSaysHowManyRevisionsAreKept(t *testing.T) {
	for spec, want := range map[string]int{"": 10, "revisionHistoryLimit": 2} {
		collector := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{spec: int64(2)}}}
		if got := LimitOf(collector); got != want {
			t.Errorf("%q: %d, want %d", spec, got, want)
		}
	}
}
