package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhoIsPaused(t *testing.T) {
	for name, row := range map[string]struct {
		annotations map[string]string
		deleted     bool
		want        bool
		wrong       bool
	}{
		"a Collector without annotations is not":                {},
		"a Collector with another annotation is not":            {annotations: map[string]string{"kube8.dev/other": "true"}},
		"a Collector that says true is":                         {annotations: map[string]string{"kube8.dev/paused": "true"}, want: true},
		"a Collector that says True is":                         {annotations: map[string]string{"kube8.dev/paused": "True"}, want: true},
		"a Collector that says false is not":                    {annotations: map[string]string{"kube8.dev/paused": "false"}},
		"a Collector that says yes is not, and hears of it":     {annotations: map[string]string{"kube8.dev/paused": "yes"}, wrong: true},
		"a Collector that says nothing is not, and hears of it": {annotations: map[string]string{"kube8.dev/paused": ""}, wrong: true},
		"a Collector that is being deleted is not":              {annotations: map[string]string{"kube8.dev/paused": "true"}, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			collector := &Collector{ObjectMeta: metav1.ObjectMeta{Annotations: row.annotations}}
			if row.deleted {
				collector.SetDeletionTimestamp(new(metav1.Now()))
			}
			paused, err := IsPaused(collector)
			if paused != row.want || (err != nil) != row.wrong {
				t.Errorf("got %t, %v", paused, err)
			}
		})
	}
}
