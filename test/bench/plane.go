package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	"github.com/kube8/kube8-operator/test/kustomize"
)

// systemNamespace is where the operators' ServiceAccounts and Leases are.
const systemNamespace = "kube8-operator-system"

// oursAccount is the ServiceAccount that config/default gives the operator.
const oursAccount = "kube8-operator-controller-manager"

// auditPolicy records each request of a ServiceAccount when it arrives: those of the operators and of the floor, not
// the bench's own.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, ResponseComplete, Panic]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// plane is a control plane: etcd and kube-apiserver, without controllers.
type plane struct {
	dir    string
	env    *envtest.Environment
	client client.Client // of the administrator, without limits
	audit  *auditLog
}

// startPlane starts a control plane with the CRD, what config/default grants the operator, and ServiceAccounts that may
// do everything for the stock operator and the floor.
func startPlane(ctx context.Context, dir string) (*plane, error) {
	p := &plane{dir: dir, audit: &auditLog{audit.Log{Path: filepath.Join(dir, "audit.log")}}}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return p, err
	}
	p.env = &envtest.Environment{CRDDirectoryPaths: []string{"config/crd/bases"}, ErrorIfCRDPathMissing: true}
	p.env.ControlPlane.GetAPIServer().Configure().
		Set("service-cluster-ip-range", "10.96.0.0/12"). // as in clusters; by default there are but 254 Services
		Append("audit-policy-file", policy).
		Append("audit-log-path", p.audit.Path).
		Append("audit-log-maxsize", "100000") // MB; a new file would be missed
	config, err := p.env.Start()
	if err != nil {
		return p, fmt.Errorf("start etcd and kube-apiserver: %w", err)
	}
	if p.client, err = newClient(config); err != nil {
		return p, err
	}
	if err := p.grant(ctx); err != nil {
		return p, err
	}
	const everything = "cluster-admin"
	return p, errors.Join(p.addAccount(ctx, stock, everything), p.addAccount(ctx, floorAccount, everything))
}

func newClient(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}

func (p *plane) stop() error {
	if p.env == nil {
		return nil
	}
	return p.env.Stop()
}

// grant creates what config/default says of who the operator is and what it may do.
func (p *plane) grant(ctx context.Context) error {
	objects, err := kustomize.Build("config/default")
	if err != nil {
		return err
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		default:
			continue
		}
		if err := p.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// addAccount creates a ServiceAccount that has the rights of a ClusterRole.
func (p *plane) addAccount(ctx context.Context, name, role string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}}
	return errors.Join(p.client.Create(ctx, account), p.client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: systemNamespace, Name: name}},
	}))
}

// list returns the metadata of the objects of a kind, such as "apps/v1 Deployment".
func (p *plane) list(ctx context.Context, kind string, options ...client.ListOption) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.APIVersion, list.Kind, _ = strings.Cut(kind, " ")
	list.Kind += "List"
	return list, p.client.List(ctx, list, options...)
}

// count returns an error unless there are as many objects of each kind as wanted.
func (p *plane) count(ctx context.Context, wanted map[string]int, options ...client.ListOption) error {
	for kind, want := range wanted {
		list, err := p.list(ctx, kind, options...)
		if err != nil {
			return err
		}
		if len(list.Items) != want {
			return fmt.Errorf("there are %d of the kind %s, want %d", len(list.Items), kind, want)
		}
	}
	return nil
}

// as returns a configuration that acts as a ServiceAccount of systemNamespace.
func (p *plane) as(ctx context.Context, account string) (*rest.Config, error) {
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: account}}
	hours := int64(24 * 60 * 60)
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hours}}
	if err := p.client.SubResource("token").Create(ctx, serviceAccount, token); err != nil {
		return nil, fmt.Errorf("get a token for ServiceAccount %s: %w", account, err)
	}
	return &rest.Config{
		Host:            p.env.Config.Host,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.env.Config.CAData},
		BearerToken:     token.Status.Token,
	}, nil
}

// kubeconfig writes a kubeconfig that acts as a ServiceAccount of systemNamespace.
func (p *plane) kubeconfig(ctx context.Context, account string) (path string, err error) {
	as, err := p.as(ctx, account)
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["bench"] = &clientcmdapi.Cluster{Server: as.Host, CertificateAuthorityData: as.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: as.BearerToken}
	config.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "operator"}
	config.CurrentContext = "bench"
	file, err := os.CreateTemp(p.dir, account+"-*.kubeconfig") // of its own: an operator that was just started may still read another
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(file.Close(), clientcmd.WriteToFile(*config, file.Name()))
}
