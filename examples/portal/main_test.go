package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
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

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/audit"
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
		CRDInstallOptions:        envtest.CRDInstallOptions{Paths: []string{"../../config/crd/bases"}, ErrorIfPathMissing: true, MaxTime: time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute,
	}
	recorded := audit.Log{Path: filepath.Join(dir, "audit.log")}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return 1, err
	}
	plane.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).Append("audit-log-path", recorded.Path).Append("audit-log-maxsize", "1000")
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
	to, namespace, err := connect(kubeconfig)
	if err != nil {
		return 1, err
	}
	server := httptest.NewServer(newPortal(ctx, to, []string{namespace, "tenant-globex", "tenant-initech"}, []string{"localhost"}))
	defer server.Close()
	portalURL = server.URL
	code = m.Run()
	if flag.Lookup("test.run").Value.String() == "" { // all tests have run
		err = errors.Join(err, rightsAreUsed(ctx, &recorded))
	}
	return code, err
}

// auditPolicy records what ServiceAccounts were answered.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// rightsAreUsed returns an error if the portal's role has a right that no test used.
func rightsAreUsed(ctx context.Context, recorded *audit.Log) error {
	var role rbacv1.Role
	if err := admin.Get(ctx, client.ObjectKey{Namespace: tenant, Name: "portal"}, &role); err != nil {
		return err
	}
	requests, err := recorded.Next()
	used := map[string]bool{}
	for _, r := range requests {
		if r.Annotations["authorization.k8s.io/decision"] == "allow" {
			used[r.Verb+" "+r.Resource()] = true
			// An apply that creates asks for both.
			used["create "+r.Resource()] = used["create "+r.Resource()] || r.Verb == "patch" && r.ResponseStatus.Code == 201
		}
	}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !used[verb+" "+resource] {
					err = errors.Join(err, fmt.Errorf("deploy gives the right to %s %s, which nothing uses", verb, resource))
				}
			}
		}
	}
	return err
}

// install creates the namespaces and the portal's own manifests.
func install(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	if err != nil {
		return err
	}
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: tenant, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
		}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant-globex"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant-initech"}},
	} {
		if err := admin.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	out, err := kubectl(ctx, "create", "-k", "deploy").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Warning")) { // of a pod that the namespace's Pod Security level refuses
		return fmt.Errorf("create the objects in deploy: %w\n%s", err, out)
	}
	// A second tenant of the portal.
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	for _, object := range []client.Object{&role, &binding} {
		if err := admin.Get(ctx, client.ObjectKey{Namespace: tenant, Name: "portal"}, object); err != nil {
			return err
		}
		object.SetNamespace("tenant-initech")
		object.SetResourceVersion("")
		if err := admin.Create(ctx, object); err != nil {
			return err
		}
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
