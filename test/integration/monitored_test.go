package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// monitored returns the objects of config/default with config/prometheus and config/certmanager, by kind and name.
func monitored(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "test/integration/testdata/monitored")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, resource := range resources.Resources() {
		content, err := resource.Map()
		if err != nil {
			t.Fatal(err)
		}
		objects[resource.GetKind()+"/"+resource.GetName()] = &unstructured.Unstructured{Object: content}
	}
	return objects
}

// at returns the text at a path of an object; numbers are positions in lists.
func at(t *testing.T, object *unstructured.Unstructured, path ...any) string {
	t.Helper()
	var value any = object.Object
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value.(string)
}

func TestPrometheusIsGivenWhatItVerifiesTheOperatorBy(t *testing.T) {
	t.Parallel()
	g, objects := NewWithT(t), monitored(t)
	service, monitor := objects["Service/kube8-operator-controller-manager-metrics-service"], objects["ServiceMonitor/kube8-operator"]
	certificate := objects["Certificate/kube8-operator-metrics-certificate"]
	g.Expect(service.GetLabels()).To(HaveKeyWithValue("control-plane", "controller-manager"))
	endpoint := []any{"spec", "endpoints", 0}
	name := at(t, monitor, append(endpoint, "tlsConfig", "serverName")...)
	g.Expect(name).To(Equal(service.GetName() + "." + service.GetNamespace() + ".svc"))
	g.Expect(at(t, monitor, append(endpoint, "port")...)).To(Equal(at(t, service, "spec", "ports", 0, "name")))
	g.Expect(at(t, certificate, "spec", "dnsNames", 0)).To(Equal(name))
	secret := at(t, certificate, "spec", "secretName")
	g.Expect(at(t, monitor, append(endpoint, "tlsConfig", "ca", "secret", "name")...)).To(Equal(secret))
	g.Expect(objects).To(HaveKey("Secret/" + at(t, monitor, append(endpoint, "authorization", "credentials", "name")...)))

	pod := objects["Deployment/kube8-operator-controller-manager"].Object["spec"].(map[string]any)["template"]
	text := fmt.Sprint(pod)
	for _, part := range []string{"--metrics-cert-dir=/metrics-certificate", "mountPath:/metrics-certificate", "secretName:" + secret} {
		g.Expect(text).To(ContainSubstring(part))
	}
}

func TestTheOperatorIsScrapedWithVerificationAndTakesUpARenewedCertificate(t *testing.T) {
	t.Parallel()
	objects := monitored(t)
	name := at(t, objects["ServiceMonitor/kube8-operator"], "spec", "endpoints", 0, "tlsConfig", "serverName")
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	authority, dir := newAuthority(t), t.TempDir()
	authority.issue(t, dir, name, 2)
	serving := &operator{
		binary: shared.binary, account: shared.account, watchNamespace: newNamespace(t),
		args: []string{"--metrics-bind-address=" + address, "--metrics-cert-dir=" + dir},
	}
	if err := serving.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := serving.stop(); err != nil {
			t.Error(err)
		}
	})
	// Who config/prometheus has Prometheus be. There is no controller here that would write the Secret with the token.
	account := objects["ServiceAccount/kube8-operator-metrics-scraper"]
	for _, object := range []client.Object{account, objects["ClusterRoleBinding/kube8-operator-metrics-scraper"]} {
		if err := plane.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	holder := &corev1.ServiceAccount{}
	holder.Namespace, holder.Name = account.GetNamespace(), account.GetName()
	if err := plane.client.SubResource("token").Create(t.Context(), holder, request); err != nil {
		t.Fatal(err)
	}

	scrape := func(trusted *x509.CertPool) (serial int64, err error) {
		verifying := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: name}, DisableKeepAlives: true,
		}}
		get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", http.NoBody)
		if err != nil {
			return 0, err
		}
		get.Header.Set("Authorization", "Bearer "+request.Status.Token)
		response, err := verifying.Do(get)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("status %s", response.Status)
		}
		return response.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
	}
	g := NewWithT(t)
	g.Eventually(func() (int64, error) { return scrape(authority.pool()) }).Should(BeEquivalentTo(2))
	_, err = scrape(newAuthority(t).pool())
	g.Expect(err).To(MatchError(ContainSubstring("certificate signed by unknown authority")))

	authority.issue(t, dir, name, 3)
	g.Eventually(func() (int64, error) { return scrape(authority.pool()) }).Should(BeEquivalentTo(3))
}

func TestTheOperatorDoesNotStartWithoutTheCertificateThatItIsGiven(t *testing.T) {
	t.Parallel()
	kubeconfig, err := plane.kubeconfig(t.Context(), shared.account)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), shared.binary, "--metrics-cert-dir=/nowhere")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "see --metrics-cert-dir: open /nowhere/tls.crt: no such file") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
}

// authority signs certificates.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := authority{key: key, certificate: &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}}
	encoded, err := x509.CreateCertificate(rand.Reader, made.certificate, made.certificate, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if made.certificate, err = x509.ParseCertificate(encoded); err != nil {
		t.Fatal(err)
	}
	return made
}

func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// issue writes a certificate for a server and its key to dir as the kubelet does for a Secret: both change at once.
func (a authority) issue(t *testing.T, dir, server string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{server},
	}, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	encodedKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	version := fmt.Sprintf("..%d", serial)
	for _, step := range []error{
		os.Mkdir(filepath.Join(dir, version), 0o700),
		os.WriteFile(filepath.Join(dir, version, "tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), 0o600),
		os.WriteFile(filepath.Join(dir, version, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encodedKey}), 0o600),
		os.Symlink(version, filepath.Join(dir, "..next")),
		os.Rename(filepath.Join(dir, "..next"), filepath.Join(dir, "..data")),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	for _, file := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", file), filepath.Join(dir, file)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
}
