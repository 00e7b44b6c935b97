package assets

import "time"

// The binaries that the demo runs. KUBEBUILDER_ASSETS has the first ones where
// it is what envtest has it be.
var (
	API         = []string{"kube-apiserver", "kubectl", "etcd"}
	Controllers = []string{"kube-controller-manager", "kube-scheduler"}
)

// How long the parts of the demo take to compile on two cores, one after the
// other in this order, when nothing was compiled before.
const (
	OperatorTakes = 100 * time.Second
	DemoTakes     = 5 * time.Second
)

// takes goes on with the binaries.
var takes = map[string]time.Duration{
	"kube-apiserver":          100 * time.Second,
	"kubectl":                 10 * time.Second,
	"etcd":                    5 * time.Second,
	"kube-controller-manager": 60 * time.Second,
	"kube-scheduler":          5 * time.Second,
}
