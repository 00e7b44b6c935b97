package offline

import (
	"strings"
	"testing"

	"github.com/kube8/kube8-operator/internal/operator"
)

func TestAChartIsReadOnceForAllCollectors(t *testing.T) {
	renderer, err := New(operator.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	collector := "{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: a}, spec: {" +
		strings.ReplaceAll(strings.TrimSpace(required), "\n", ", ") + "}}\n"
	rendered := func() {
		t.Helper()
		if all, err := renderer.Render(t.Context(), strings.NewReader(collector+"---\n"+collector)); err != nil || len(all) != 2 {
			t.Fatal(len(all), err)
		}
	}
	rendered()
	first := renderer.charts[renderer.Watches[0].Chart]
	rendered()
	if first == nil || renderer.charts[renderer.Watches[0].Chart] != first {
		t.Error("it is read again")
	}
	other := *renderer.Watches[0].Chart
	renderer.Watches[0].Chart = &other
	rendered()
	if read := renderer.charts[&other]; read == nil || read == first {
		t.Error("another chart is not read")
	}
}
