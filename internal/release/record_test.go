package release

import (
	"bytes"
	"testing"
)

func TestARecordIsUnpackedUpToALimit(t *testing.T) {
	for name, test := range map[string]struct {
		size int
		want bool
	}{
		"what a revision can be":    {1 << 20, true},
		"more than one ever can be": {maxUnpacked + 1, false},
	} {
		packed, err := pack(bytes.Repeat([]byte("a"), test.size))
		if err != nil {
			t.Fatal(err)
		}
		text, err := unpack(packed)
		if got := err == nil; got != test.want || got && len(text) != test.size {
			t.Errorf("%s: %d bytes, error %v", name, len(text), err)
		}
	}
	for _, damaged := range []string{"", "%", "e30="} {
		if _, err := unpack([]byte(damaged)); err == nil {
			t.Errorf("%q was unpacked", damaged)
		}
	}
}

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
