package integration

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/audit"
	"github.com/kube8/kube8-operator/test/kustomize"
)

// apiServerPID is the name of the file that has the API server's process id.
const apiServerPID = "apiserver.pid"

// controlPlane is an API server with its etcd.
type controlPlane struct {
	client     client.Client // of the administrator
	audit      *auditLog
	namespaced []schema.GroupVersionKind // the kinds that a namespace can hold and the operator has rights to

	dir string
	env *envtest.Environment
}

// timeForCRDs is how long an API server has until it serves CRDs. On few processors that is longer than the 10 s of envtest.
const timeForCRDs = time.Minute

// newEnvironment returns a control plane that has the CRD, and those of more folders. Several start at a time on few processors, so each
// has longer than the 20 s that envtest gives one by default.
func newEnvironment(more ...string) *envtest.Environment {
	paths := append([]string{"config/crd/bases"}, more...)
	return &envtest.Environment{
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: 2 * time.Minute,
		CRDInstallOptions: envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true, MaxTime: timeForCRDs},
	}
}

// start starts a control plane that ends with the test.
func start(t *testing.T, env *envtest.Environment) *rest.Config {
	t.Helper()
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// startControlPlane starts a control plane with the CRDs and what config/default grants the operator.
func startControlPlane(ctx context.Context, dir string) (*controlPlane, error) {
	p := &controlPlane{dir: dir, audit: &auditLog{log: audit.Log{Path: filepath.Join(dir, "audit.log")}}}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return p, err
	}
	p.env = newEnvironment(servedCRDs.Paths...)
	p.env.ControlPlane.Etcd = &envtest.Etcd{}
	// The API server has etcd compact every five minutes. No write is answered meanwhile, and for 1,000 revisions, of which some have a
	// megabyte, that took longer than an operator waits for its Lease.
	p.env.ControlPlane.Etcd.Configure().Append("compaction-batch-limit", "20")
	server := p.env.ControlPlane.GetAPIServer()
	server.CertDir = filepath.Join(dir, "apiserver") // which outlives a restart, and the tokens with it
	if err := os.Mkdir(server.CertDir, 0o700); err != nil {
		return p, err
	}
	// One that says what its process is, so that a test can kill it, and that collects its garbage less often than it would.
	server.Path = filepath.Join(dir, "kube-apiserver")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >'%s'\nGOGC=400 exec '%s' \"$@\"\n",
		filepath.Join(dir, apiServerPID), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-apiserver"))
	if err := os.WriteFile(server.Path, []byte(script), 0o700); err != nil {
		return p, err
	}
	server.Configure().
		Append("audit-policy-file", policy).
		Append("audit-log-path", p.audit.log.Path).
		Append("audit-log-maxsize", "100000"). // MB; a new file would be missed
		// Some distributions let only those who may set a finalizer set a blocking owner reference.
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		// It adds finalizers that a controller would remove.
		Append("disable-admission-plugins", "StorageObjectInUseProtection")
	config, err := p.env.Start()
	if err != nil {
		return p, fmt.Errorf("start etcd and kube-apiserver: %w", err)
	}

	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return p, err
	}
	if p.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return p, err
	}
	objects, err := kustomize.Build("config/default")
	if err != nil {
		return p, err
	}
	granted := resourcesOf(objects)
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredNamespacedResources()
	if err != nil {
		return p, err
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		for _, resource := range list.APIResources {
			if resource.Kind == "Event" || !granted.Has(resource.Name) {
				continue // Kubernetes records in them what happened, and lets them expire
			}
			p.namespaced = append(p.namespaced, schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind))
		}
	}
	return p, p.grant(ctx, objects)
}

// resourcesOf returns the resources that roles name.
func resourcesOf(objects []*unstructured.Unstructured) sets.Set[string] {
	named := sets.New[string]()
	for _, object := range objects {
		rules, _, _ := unstructured.NestedSlice(object.Object, "rules")
		for _, rule := range rules {
			resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			named.Insert(resources...)
		}
	}
	return named
}

func (p *controlPlane) stop() error {
	if p.env == nil {
		return nil
	}
	return p.env.Stop()
}

// grant creates what says who the operator is and what it may do: config/default without the CRD, which is there, and
// without the Deployment, because the operator runs as a process here.
func (p *controlPlane) grant(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if slices.Contains([]string{"CustomResourceDefinition", "Deployment", "Service"}, object.GetKind()) {
			continue
		}
		if err := p.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// isOlder tells whether the API server is older than the one whose validation render has, and may accept what render refuses.
func isOlder(t *testing.T) bool {
	t.Helper()
	return minorOfAPIServer(t) < 37
}

// minorOfAPIServer returns the second part of the API server's version, such as 37.
func minorOfAPIServer(t *testing.T) int {
	t.Helper()
	version, err := discovery.NewDiscoveryClientForConfigOrDie(plane.env.Config).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	minor, err := strconv.Atoi(version.Minor)
	if err != nil {
		t.Fatal(err)
	}
	return minor
}

// kubeconfig writes a kubeconfig that acts as a ServiceAccount. Each has a file of its own: another operator of that account may
// be about to read an earlier one.
func (p *controlPlane) kubeconfig(ctx context.Context, account types.NamespacedName) (path string, err error) {
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	token := &authenticationv1.TokenRequest{}
	if err := p.client.SubResource("token").Create(ctx, serviceAccount, token); err != nil {
		return "", fmt.Errorf("get a token for ServiceAccount %s: %w", account, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: p.env.Config.Host, CertificateAuthorityData: p.env.Config.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "operator"}
	config.CurrentContext = "test"
	path = filepath.Join(p.dir, rand.Text()+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
