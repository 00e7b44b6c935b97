package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig, readable by its owner only, that does
// what the configuration does.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "kube8"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	return clientcmd.WriteToFile(*file, path)
}

// Kubectl runs kubectl as one user of one cluster, untouched by the
// preferences of the person who runs this program.
type Kubectl struct {
	Path       string
	Kubeconfig string
	CacheDir   string
}

// Environ is the environment for programs that act as this user.
func (k Kubectl) Environ() []string {
	return append(os.Environ(), "KUBECONFIG="+k.Kubeconfig, "KUBECACHEDIR="+k.CacheDir, "KUBERC=off")
}

// Run runs kubectl and returns what it printed; what it complained of is in
// the error.
func (k Kubectl) Run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, k.Path, args...)
	cmd.Env = k.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin = bytes.NewReader(stdin)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}
