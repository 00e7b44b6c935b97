package record

import (
	"errors"
	"testing"
)

func TestAQuotaSaysHowManySecretsAreTooMany(t *testing.T) {
	const begin = `secrets "sh.helm.release.v1.c.v4" is forbidden: exceeded quota: limit, requested: `
	for refusal, want := range map[string]int{
		begin + "count/secrets=1, used: count/secrets=7, limited: count/secrets=3":                     5,
		begin + "count/secrets=1, used: count/secrets=3, limited: count/secrets=3":                     1,
		begin + "secrets=1, used: secrets=3, limited: secrets=3":                                       1,
		begin + "count/secrets=1,secrets=1, used: count/secrets=7,secrets=7, limited: count/secrets=7": 1,
		begin + "count/pods=1, used: count/pods=7, limited: count/pods=3":                              0,
		`secrets "sh.helm.release.v1.c.v4" is forbidden: not by me, used: secrets=7, limited: secrets`: 0,
	} {
		if got := overQuota(errors.New(refusal)); got != want {
			t.Errorf("%s: %d are too many, want %d", refusal, got, want)
		}
	}
	if got := overQuota(nil); got != 0 {
		t.Errorf("%d are too many without a refusal", got)
	}
}
