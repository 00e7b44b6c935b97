package demo

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube8/kube8-operator/test/cluster/internal/controlplane"
	"github.com/kube8/kube8-operator/test/cluster/internal/process"
)

func TestWhatToTypeNextHasThePluginInPath(t *testing.T) {
	d := &demo{
		Options:  Options{Root: "/checkout"},
		plane:    &controlplane.ControlPlane{Kubeconfig: "/demo/kubeconfig"},
		kubectl:  controlplane.Kubectl{Path: "/assets/kubectl"},
		operator: &process.Process{Log: "/demo/logs/operator.log"},
	}
	got := d.next(types.NamespacedName{Namespace: "tenant-acme", Name: "gateway"})
	for _, want := range []string{
		"export KUBECONFIG=/demo/kubeconfig\n",
		`export PATH="/checkout/bin:/assets:$PATH"` + "\n",
		"kubectl collector status gateway -n tenant-acme\n",
		"tail -f /demo/logs/operator.log\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant it to have\n%s", got, want)
		}
	}
}
