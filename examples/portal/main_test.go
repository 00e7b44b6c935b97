package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

const (
	tenant = "tenant-acme"

	// secret is in configurations, and must never be in the log.
	secret = "hunter2-is-my-password"
)

var (
	admin      client.Client // of the control plane
	kubeconfig string        // of the portal's ServiceAccount
	adminFile  string        // the administrator's kubeconfig
	portalURL  string        // of a portal that runs as its ServiceAccount
	logged     = &text{}
)

// TestMain runs the tests against a portal that has exactly what deploy gives it, on a real API server. There is no
// operator: the tests say what it would observe.
func TestMain(m *testing.M) {
	SetDefaultEventuallyTimeout(30 * time.Second)
	slog.SetDefault(slog.New(slog.NewTextHandler(logged, nil)))
	code, err := runTests(m)
	if err == nil && strings.Contains(logged.String(), secret) {
		err = fmt.Errorf("the log has part of a configuration:\n%s", logged)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make test`, which builds etcd and kube-apiserver and sets it")
	}
	dir, err := os.MkdirTemp("", "portal-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	plane := &envtest.Environment{
		CRDDirectoryPaths: []string{"../../config/crd/bases"}, ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: time.Minute,
	}
	config, err := plane.Start()
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err != nil {
		return 1, fmt.Errorf("start etcd and kube-apiserver: %w", err)
	}
	adminFile = filepath.Join(dir, "admin.kubeconfig")
	if err := os.WriteFile(adminFile, plane.KubeConfig, 0o600); err != nil {
		return 1, err
	}
	ctx := context.Background()
	if err := install(ctx, config); err != nil {
		return 1, err
	}
	kubeconfig = filepath.Join(dir, "portal.kubeconfig")
	if err := portalKubeconfig(ctx, kubeconfig); err != nil {
		return 1, err
	}
	collectors, namespace, err := connect(kubeconfig)
	if err != nil {
		return 1, err
	}
	server := httptest.NewServer(newPortal(ctx, collectors, []string{namespace, "tenant-globex", "tenant-initech"}, []string{"localhost"}))
	defer server.Close()
	portalURL = server.URL
	return m.Run(), nil
}

// install creates the namespaces, the role as `make deploy` names it, and the portal's own manifests.
func install(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{}
	manifest, err := os.ReadFile("../../config/rbac/collector_editor_role.yaml")
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(manifest, role); err != nil {
		return err
	}
	role.Name = "kube8-operator-" + role.Name
	for _, object := range []client.Object{
		role,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: tenant, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
		}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant-globex"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant-initech"}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-initech", Name: "portal"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tenant, Name: "portal"}},
		},
	} {
		if err := admin.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	out, err := kubectl(ctx, "create", "-k", "deploy").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Warning")) { // of a pod that the namespace's Pod Security level refuses
		return fmt.Errorf("create the objects in deploy: %w\n%s", err, out)
	}
	return nil
}

// kubectl runs kubectl as the administrator.
func kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+adminFile)
	return cmd
}

// portalKubeconfig writes a kubeconfig that acts as the portal's ServiceAccount.
func portalKubeconfig(ctx context.Context, path string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "portal"}}
	token := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(ctx, account, token); err != nil {
		return fmt.Errorf("get a token for ServiceAccount portal: %w", err)
	}
	config, err := clientcmd.LoadFromFile(adminFile)
	if err != nil {
		return err
	}
	current := config.Contexts[config.CurrentContext]
	current.Namespace = tenant
	config.AuthInfos[current.AuthInfo] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	return clientcmd.WriteToFile(*config, path)
}

// text is written by several goroutines.
type text struct {
	lock sync.Mutex
	bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.Buffer.Write(p)
}
