package record

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
)

func TestRevisionOf(t *testing.T) {
	for secret, want := range map[string]int{
		"sh.helm.release.v1.gateway.v1": 1, "sh.helm.release.v1.gateway.v12": 12, "sh.helm.release.v1.gateway.v0": 0,
		"sh.helm.release.v1.gateway.vx": 0, "sh.helm.release.v1.other.v1": 0, "gateway": 0,
	} {
		if got, found := revisionOf(secret, "gateway"); found != (want > 0) || found && got != want {
			t.Errorf("%s: revision %d, %t", secret, got, found)
		}
	}
}

func TestARecordIsReadBackAndUnpacksNoBomb(t *testing.T) {
	packed, err := pack(&release.Release{Name: "gateway", Manifest: "kind: Service\n", Config: map[string]any{"cluster": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	rel, err := Unpack(packed)
	if err != nil || rel.Manifest != "kind: Service\n" || rel.Config["cluster"] != "a" {
		t.Errorf("%+v, %v", rel, err)
	}
	bomb, err := pack(&release.Release{Manifest: strings.Repeat(" ", maxUnpacked)})
	if err != nil || len(bomb) > maxRecord {
		t.Fatalf("%d bytes, %v", len(bomb), err)
	}
	for name, text := range map[string][]byte{"a bomb": bomb, "no base64": []byte("%"), "no gzip": []byte("YWJj"), "nothing": nil} {
		if rel, err := Unpack(text); err == nil {
			t.Errorf("%s: unpacked to %+v", name, rel)
		}
	}
}
