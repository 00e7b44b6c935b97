package assets

import (
	"strings"
	"time"
)

// The binaries that the demo runs. KUBEBUILDER_ASSETS has the first ones where
// it is what envtest has it be.
var (
	API         = []string{"kube-apiserver", "kubectl", "etcd"}
	Controllers = []string{"kube-controller-manager", "kube-scheduler"}
)

// How long the parts of the demo take to compile on two cores, one after the
// other in this order, when nothing was compiled before.
const (
	OperatorTakes = 90 * time.Second
	DemoTakes     = 5 * time.Second
)

// takes goes on with the binaries.
var takes = map[string]time.Duration{
	"kube-apiserver":          90 * time.Second,
	"kubectl":                 10 * time.Second,
	"etcd":                    5 * time.Second,
	"kube-controller-manager": 50 * time.Second,
	"kube-scheduler":          10 * time.Second,
}

// binary is a program that a cluster needs.
type binary struct {
	name    string
	pkg     string // what `go build` builds
	dir     string // folder, below this module, of the module that requires it
	version string
	ldflags string
	tags    string
}

// Names lists every binary, the one that takes longest to build first.
func Names() []string {
	var names []string
	for _, b := range binaries(Versions{}, "") {
		names = append(names, b.name)
	}
	return names
}

func binaries(v Versions, kubernetesModule string) []binary {
	const ldflags = "-s -w"
	// A binary that is built from a module knows its version only if told, and
	// clients ask an API server for it: Helm fails where it makes no sense.
	stamped := ldflags + " -X k8s.io/component-base/version.gitVersion=" + v.Kubernetes
	if major, minor, ok := majorMinor(v.Kubernetes); ok {
		stamped += " -X k8s.io/component-base/version.gitMajor=" + major +
			" -X k8s.io/component-base/version.gitMinor=" + minor
	}
	const (
		tools = "../../tools"
		// Without it, reading images needs C libraries.
		openpgp = "containers_image_openpgp"
	)
	return []binary{
		{"kube-apiserver", kubernetes + "/cmd/kube-apiserver", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kube-controller-manager", kubernetes + "/cmd/kube-controller-manager", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kube-scheduler", kubernetes + "/cmd/kube-scheduler", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kubelet", kubernetes + "/cmd/kubelet", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kubectl", kubernetes + "/cmd/kubectl", kubernetesModule, v.Kubernetes, stamped, ""},
		{"kube-proxy", kubernetes + "/cmd/kube-proxy", kubernetesModule, v.Kubernetes, stamped, ""},
		{"etcd", etcd, ".", v.Etcd, ldflags, ""},
		{"kwok", kwok + "/cmd/kwok", "kwok", v.Kwok, ldflags, ""},
		{"coredns", ".", "coredns", v.CoreDNS, ldflags, ""},
		{"pause", "./pause", ".", v.Kubernetes, ldflags, ""},
		{"olm", olm + "/cmd/olm", "olm", v.OLM, ldflags, openpgp},
		{"catalog", olm + "/cmd/catalog", "olm", v.OLM, ldflags, openpgp},
		{"copy-content", olm + "/cmd/copy-content", "olm", v.OLM, ldflags, openpgp},
		{"cpb", olm + "/util/cpb", "olm", v.OLM, ldflags, openpgp},
		{"cp", "./cp", ".", v.OLM, ldflags, ""},
		{"grpc_health_probe", "github.com/grpc-ecosystem/grpc-health-probe", "olm", v.OLM, ldflags, openpgp},
		{"opm", opm + "/cmd/opm", tools, v.OPM, ldflags, openpgp},
		{"operator-sdk", operatorSDK + "/cmd/operator-sdk", tools, v.OperatorSDK, ldflags, openpgp},
		{"helm-operator", operatorSDK + "/cmd/helm-operator", "helm-operator", v.OperatorSDK, ldflags, openpgp},
		{"scorecard-test", operatorSDK + "/images/scorecard-test", tools, v.OperatorSDK, ldflags, openpgp},
	}
}

func majorMinor(version string) (major, minor string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}
