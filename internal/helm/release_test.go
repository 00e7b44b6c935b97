package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
)

func TestARecordIsReadBackAndUnpacksNoBomb(t *testing.T) {
	written := &Release{
		Name: "gateway", Manifest: "kind: Service\n", Config: map[string]any{"status": "deployed", "cluster": "a"}, Version: 7,
		Info: &Info{Description: `changed by "status":"deployed"`},
	}
	deployed, superseded, err := Pack(written)
	if err != nil {
		t.Fatal(err)
	}
	for status, packed := range map[release.Status][]byte{Deployed: deployed, Superseded: superseded} {
		written.Info.Status = status
		rel, err := Unpack(packed)
		if err != nil || !reflect.DeepEqual(written, rel) {
			t.Errorf("%s: wrote %+v, read %+v, error %v", status, written, rel, err)
		}
	}
	bomb, _, err := Pack(&Release{Manifest: strings.Repeat(" ", maxUnpacked), Info: &Info{}})
	if err != nil || len(bomb) > corev1.MaxSecretSize-16<<10 {
		t.Fatalf("%d bytes, %v", len(bomb), err)
	}
	for name, text := range map[string][]byte{"a bomb": bomb, "no base64": []byte("%"), "no gzip": []byte("YWJj"), "nothing": nil} {
		if rel, err := Unpack(text); err == nil {
			t.Errorf("%s: unpacked to %+v", name, rel)
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
