//go:build e2e

package olm

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/client-go/util/cert"
)

// olmV1Namespace is where OLM v1's own chart installs it.
const olmV1Namespace = "olmv1-system"

// serving is a certificate for all that serves here, which is its own authority.
type serving struct{ cert, key []byte }

func newServing(t *testing.T) serving {
	t.Helper()
	host, _, _ := strings.Cut(registryHost, ":")
	certificate, key, err := cert.GenerateSelfSignedCertKey("catalogd-service."+olmV1Namespace+".svc", nil, []string{host})
	if err != nil {
		t.Fatal(err)
	}
	return serving{certificate, key}
}

// secret is what cert-manager would make of the certificate.
func (s serving) secret(name, namespace string) string {
	encode := base64.StdEncoding.EncodeToString
	return `
---
apiVersion: v1
kind: Secret
metadata: {name: ` + name + `, namespace: ` + namespace + `}
type: kubernetes.io/tls
data: {tls.crt: ` + encode(s.cert) + `, ca.crt: ` + encode(s.cert) + `, tls.key: ` + encode(s.key) + `}`
}

// installOLMv1 installs OLM v1 from the chart of its module, and removes it when the test ends. What is experimental in it includes
// watchNamespace.
func installOLMv1(t *testing.T, image string, tls serving, experimental bool) {
	t.Helper()
	module := strings.TrimSpace(command(t, "go", "list", "-C", "test/cluster/olmv1", "-m", "-f={{.Dir}}",
		"github.com/operator-framework/operator-controller"))
	chart, err := loader.Load(filepath.Join(module, "helm", "olmv1"))
	if err != nil {
		t.Fatal(err)
	}
	// The one pod of each program need not wait for a leader that is gone.
	deployment := map[string]any{"image": image, "extraArguments": []any{"--leader-elect=false"}}
	options := map[string]any{
		"certManager":        map[string]any{"enabled": true},
		"catalogd":           map[string]any{"deployment": deployment},
		"operatorController": map[string]any{"deployment": deployment},
	}
	if experimental {
		options["featureSet"] = "experimental"
		options["operatorController"] = map[string]any{"deployment": deployment, "features": map[string]any{
			"enabled":  []any{"SingleOwnNamespaceInstallSupport"},
			"disabled": []any{"BoxcutterRuntime"},
		}}
	}
	anyNode := map[string]any{"nodeSelector": map[string]any{"node-role.kubernetes.io/control-plane": nil}}
	values, err := chartutil.ToRenderValues(chart, map[string]any{
		"options":     options,
		"deployments": map[string]any{"templateSpec": anyNode},
	}, chartutil.ReleaseOptions{Name: "olmv1", Namespace: olmV1Namespace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range rendered {
		switch {
		case strings.Contains(file, "/cert-manager/") || strings.HasSuffix(file, ".tpl"):
			delete(rendered, file)
		case strings.Contains(file, "mutatingwebhook"):
			bundle := "clientConfig:\n      caBundle: " + base64.StdEncoding.EncodeToString(tls.cert)
			rendered[file] = strings.Replace(content, "clientConfig:", bundle, 1)
		}
	}
	_, sorted, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil {
		t.Fatal(err)
	}
	var manifests strings.Builder
	for _, manifest := range sorted {
		manifests.WriteString("\n---\n" + manifest.Content)
		if manifest.Head.Kind == "Namespace" {
			for _, name := range []string{"catalogd-service-cert-git-version", "operator-controller-cert"} {
				manifests.WriteString(tls.secret(name, olmV1Namespace))
			}
		}
	}
	apply(t, manifests.String())
	for _, name := range []string{"catalogd-controller-manager", "operator-controller-controller-manager"} {
		must(t, "rollout", "status", "deployment", name, "-n", olmV1Namespace, "--timeout=3m")
	}
}

// removeOLMv1 leaves the cluster as it was. Extensions and catalogs go while OLM v1 still runs, because of its finalizers.
func removeOLMv1(t *testing.T) {
	t.Helper()
	release(t)
	remove(t, "crd", "collectors.kube8.dev")
	remove(t, "clusterextensions,clustercatalogs", "--all")
	remove(t, "crd", "clusterextensions.olm.operatorframework.io", "clustercatalogs.olm.operatorframework.io", "clusterobjectsets.olm.operatorframework.io")
	remove(t, "clusterroles,clusterrolebindings", "kube8-operator-installer")
	remove(t, "namespaces,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings",
		"-l", "app.kubernetes.io/part-of=olm")
}

// serveRegistry serves the images of a registry, under the name that the catalogs have for it.
func serveRegistry(t *testing.T, image string, tls serving) {
	t.Helper()
	namespace(t, registryNamespace)
	apply(t, tls.secret("tls", registryNamespace)+`
---
apiVersion: v1
kind: Service
metadata: {name: registry, namespace: `+registryNamespace+`}
spec: {selector: {app: registry}, ports: [{port: 5000}]}
---
apiVersion: v1
kind: Pod
metadata: {name: registry, namespace: `+registryNamespace+`, labels: {app: registry}}
spec:
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: registry
    image: `+image+`
    imagePullPolicy: IfNotPresent
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    readinessProbe: {httpGet: {path: /v2/, port: 5000, scheme: HTTPS}}
    volumeMounts: [{name: tls, mountPath: /tls}]
  volumes: [{name: tls, secret: {secretName: tls}}]`)
	must(t, "wait", "pod", "registry", "-n", registryNamespace, "--for=condition=Ready", "--timeout=2m")
}
