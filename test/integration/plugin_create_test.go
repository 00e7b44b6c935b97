package integration

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestThePluginCreatesACollector(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	p, g := pluginIn(t, namespace), NewWithT(t)
	p.write("config.yaml", config)
	create := []string{"create", "gateway", "--from-file", "config.yaml", "--tenant", "acme", "--tenant-id", "1042", "--cluster", "prod-eu-1"}
	want := newCollector(namespace, "gateway")
	want.Spec.Collector.Version = "0.160.0" // the default
	absent := func() bool {
		return apierrors.IsNotFound(plane.client.Get(t.Context(), client.ObjectKeyFromObject(want), &v1alpha1.Collector{}))
	}

	g.Expect(p.run(append(create, "--dry-run=client")...)).To(Equal("collector.kube8.dev/gateway created (dry run)\n"))
	g.Expect(p.run(append(create, "--dry-run=server")...)).To(Equal("collector.kube8.dev/gateway created (server dry run)\n"))
	text := p.run(append(create, "--dry-run=client", "-o", "yaml")...)
	g.Expect(absent()).To(BeTrue(), "after dry runs")
	var written map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &written); err != nil {
		t.Fatal(err)
	}
	g.Expect(written).To(And(HaveLen(4), HaveKeyWithValue("metadata", HaveLen(2)), HaveKeyWithValue("spec", HaveLen(3))), "no field that nobody asked for")

	g.Expect(p.run(create...)).To(Equal("collector.kube8.dev/gateway created\n"))
	want.Spec.Collector.Configuration, want.Spec.Collector.ConfigurationText = nil, config
	g.Expect(specOf(t, want)).To(Equal(want.Spec))
	awaitRevision(t, want, 1)

	out := p.run("create", "agent", "--from-file", "config.yaml", "--tenant", "acme", "--cluster", "c", "--collector", "grafana/alloy", "--version", "v1.11.3",
		"--mode", "statefulset", "--replicas", "2", "--check", "--format", "raw", "--file-name", "config.alloy", "--tenant-instance", "staging", "-o", "name")
	g.Expect(out).To(Equal("collector.kube8.dev/agent\n"))
	want.Name = "agent"
	g.Expect(specOf(t, want)).To(Equal(v1alpha1.CollectorSpec{
		Collector: v1alpha1.CollectorConfig{
			Name: "grafana/alloy", Version: "v1.11.3", ConfigurationText: config, FileName: "config.alloy", Format: "raw",
		},
		Tenant: v1alpha1.Tenant{ID: "acme", Reference: "acme", Instance: "staging"}, Cluster: "c",
		Mode: "statefulset", Replicas: new(int32(2)), Check: &v1alpha1.Check{},
	}))
}

func TestThePluginCreatesNothingThatIsWrong(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	p := pluginIn(t, namespace)
	p.write("config.yaml", config)
	p.write("bad.yaml", "a: *nobody\n")
	p.write("empty.yaml", "")
	for _, row := range []struct{ name, arguments, words string }{
		{"no file", "gateway --tenant acme --cluster c", "missing: --from-file;"},
		{"no tenant", "gateway --from-file config.yaml --cluster c", "missing: --tenant;"},
		{"no cluster", "gateway --from-file config.yaml --tenant acme", "missing: --cluster;"},
		{"nothing at all", "gateway --collector grafana/alloy", "missing: --from-file, --tenant, --cluster, --version (only"},
		{"no name", "--from-file config.yaml --tenant acme --cluster c", "name one Collector"},
		{"no version of another collector", "gateway --from-file config.yaml --tenant acme --cluster c --collector grafana/alloy", "missing: --version ("},
		{"a configuration that cannot be right", "gateway --from-file bad.yaml --tenant acme --cluster c", "line 1 has an alias without its anchor"},
		{"an empty configuration", "gateway --from-file empty.yaml --tenant acme --cluster c", "empty.yaml is empty"},
		{"a tenant that is no label", "gateway --from-file config.yaml --tenant a/b --cluster c", "spec.tenant.id"},
		{"a name that no Service can have", "1gateway --from-file config.yaml --tenant acme --cluster c", "metadata.name"},
		{"a mode that does not exist", "gateway --from-file config.yaml --tenant acme --cluster c --mode job", "spec.mode"},
		{"replicas of a daemonset", "gateway --from-file config.yaml --tenant acme --cluster c --mode daemonset --replicas 2", "replicas: not with mode daemonset"},
		{"a dry run that does not exist", "gateway --from-file config.yaml --tenant acme --cluster c --dry-run=maybe", "--dry-run"},
		{"an output that does not exist", "gateway --from-file config.yaml --tenant acme --cluster c -o xml", "--output"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p.in(t).refuses(row.words, append([]string{"create"}, strings.Fields(row.arguments)...)...)
		})
	}
	NewWithT(t).Expect(list(t, namespace, "kube8.dev/v1alpha1", "Collector")).To(BeEmpty())
	create(t, newCollector(namespace, "gateway"))
	p.refuses("there is a Collector gateway in namespace "+namespace+" already", "create", "gateway", "--from-file", "config.yaml", "--tenant", "acme", "--cluster", "c")
	p = pluginOf(t, kubeconfigWith(t, namespace, "kube8-operator-collector-viewer"))
	p.write("config.yaml", config)
	NewWithT(t).Eventually(func() string { _, failure := p.try("status", "gateway"); return failure }).Should(BeEmpty(), "until the binding is known")
	p.refuses("your account may not create Collector "+namespace+"/other", "create", "other", "--from-file", "config.yaml", "--tenant", "acme", "--cluster", "c")
}
