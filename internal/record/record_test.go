package record

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

func TestARecordIsReadBackAndUnpacksNoBomb(t *testing.T) {
	written := &release.Release{
		Name: "gateway", Manifest: "kind: Service\n", Config: map[string]any{"status": "deployed", "cluster": "a"}, Version: 7,
		Info: &release.Info{Description: `changed by "status":"deployed"`},
	}
	deployed, superseded, err := pack(written)
	if err != nil {
		t.Fatal(err)
	}
	for status, packed := range map[release.Status][]byte{release.StatusDeployed: deployed, release.StatusSuperseded: superseded} {
		written.Info.Status = status
		rel, err := Unpack(packed)
		if err != nil || !reflect.DeepEqual(written, rel) {
			t.Errorf("%s: wrote %+v, read %+v, error %v", status, written, rel, err)
		}
	}
	bomb, _, err := pack(&release.Release{Manifest: strings.Repeat(" ", maxUnpacked), Info: &release.Info{}})
	if err != nil || len(bomb) > maxRecord {
		t.Fatalf("%d bytes, %v", len(bomb), err)
	}
	for name, text := range map[string][]byte{"a bomb": bomb, "no base64": []byte("%"), "no gzip": []byte("YWJj"), "nothing": nil} {
		if rel, err := Unpack(text); err == nil {
			t.Errorf("%s: unpacked to %+v", name, rel)
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
		content, err := contentOf(&release.Release{Config: values, Manifest: random(row.manifest), Info: &release.Info{}})
		if err != nil {
			t.Fatal(err)
		}
		rel, err := Unpack(content["release"])
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

func TestAForgedRecordIsNotParsed(t *testing.T) {
	forge := func(text string) []byte {
		var packed bytes.Buffer
		encoder := base64.NewEncoder(base64.StdEncoding, &packed)
		zipped := gzip.NewWriter(encoder)
		_, err := zipped.Write([]byte(text))
		if err := errors.Join(err, zipped.Close(), encoder.Close()); err != nil {
			t.Fatal(err)
		}
		return packed.Bytes()
	}
	for name, row := range map[string]struct{ text, want string }{
		"a release":                {`{"name": "a", "version": 1, "config": {"a": [1, 2]}}`, ""},
		"a list of millions":       {`{"config": {"a": [` + strings.Repeat("[],", 5<<20) + `[]]}}`, "has more than 100000 tokens"},
		"more bytes than are read": {`{"manifest": "` + strings.Repeat(" ", maxUnpacked) + `"}`, "unpacks to more than 16 MiB"},
		"no release":               {`{"version": "a"}`, "is not a release"},
		"no JSON":                  {`{"version": 1`, "is not a release"},
	} {
		t.Run(name, func(t *testing.T) {
			packed := forge(row.text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Unpack(packed)
			runtime.ReadMemStats(&after)
			if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 128 {
				t.Errorf("it took %d MiB", allocated)
			}
		})
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
