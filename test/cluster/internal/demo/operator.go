package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/test/cluster/internal/controlplane"
)

const (
	operatorNamespace = "kube8-operator-system"
	operatorAccount   = "kube8-operator-controller-manager"
)

// installCRD returns once the API server serves the kind. kubectl cannot wait for that: it fails while a CRD has no conditions.
func (d *demo) installCRD(context.Context) (string, error) {
	_, err := envtest.InstallCRDs(d.plane.Config, envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(d.Root, "config", "crd", "bases")}, ErrorIfPathMissing: true,
	})
	return "collectors.kube8.dev", err
}

// installRBAC applies what config/default grants the operator, and not the
// Deployment: the operator runs as a process here.
func (d *demo) installRBAC(ctx context.Context) (string, error) {
	rendered, err := d.kubectl.Run(ctx, nil, "kustomize", filepath.Join(d.Root, "config", "default"))
	if err != nil {
		return "", err
	}
	grants, count, err := onlyRBAC(rendered)
	if err != nil {
		return "", err
	}
	_, err = d.kubectl.Run(ctx, grants, "apply", "--server-side", "-f", "-")
	return fmt.Sprintf("%d objects of config/default", count), err
}

// onlyRBAC keeps the objects that say who the operator is and what it may do.
func onlyRBAC(rendered []byte) (out []byte, count int, err error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(rendered), 4096)
	for {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return out, count, nil
		} else if err != nil {
			return nil, 0, fmt.Errorf("read config/default: %w", err)
		}
		switch object.GetKind() {
		case "Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
			document, err := yaml.Marshal(object.Object)
			if err != nil {
				return nil, 0, err
			}
			out = append(append(out, "---\n"...), document...)
			count++
		}
	}
}

// startOperator runs the operator as its own ServiceAccount, so that it may do
// exactly what it may do where it is installed.
func (d *demo) startOperator(ctx context.Context) (string, error) {
	token, err := d.kubectl.Run(ctx, nil, "create", "token", operatorAccount, "-n", operatorNamespace, "--duration=24h")
	if err != nil {
		return "", err
	}
	kubeconfig := filepath.Join(d.dir, "operator.kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, &rest.Config{
		Host:            d.plane.Config.Host,
		TLSClientConfig: rest.TLSClientConfig{CAData: d.plane.Config.CAData},
		BearerToken:     strings.TrimSpace(string(token)),
	}); err != nil {
		return "", err
	}
	metrics, err := freeAddress()
	if err != nil {
		return "", err
	}
	probes, err := freeAddress()
	if err != nil {
		return "", err
	}

	cmd := exec.Command(d.operatorPath(), "run", "--zap-encoder=console", "--zap-stacktrace-level=panic",
		"--leader-elect", "--leader-election-namespace="+operatorNamespace,
		"--metrics-bind-address="+metrics, "--health-probe-bind-address="+probes)
	as := d.kubectl
	as.Kubeconfig = kubeconfig
	cmd.Env = append(as.Environ(), "WATCH_NAMESPACE=")
	if d.operator, err = d.plane.Run("operator", cmd); err != nil {
		return "", err
	}
	return "as ServiceAccount " + operatorAccount, d.served(ctx, "http://"+probes+"/readyz")
}

// served waits until an address answers with success.
func (d *demo) served(ctx context.Context, address string) error {
	probe := http.Client{Timeout: time.Second}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		response, err := probe.Get(address)
		if err != nil {
			return false, d.ended()
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
}

// bin is the folder of what `make build plugin` builds.
func (d *demo) bin() string { return filepath.Join(d.Root, "bin") }

func (d *demo) operatorPath() string { return filepath.Join(d.bin(), "kube8-operator") }

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
