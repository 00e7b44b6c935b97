package record

import "testing"

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
