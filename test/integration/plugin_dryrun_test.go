package integration

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

func TestADryRunOfThePluginChangesNothing(t *testing.T) {
	t.Parallel()
	collector := install(t)
	upgrade(t, collector, func(c *v1alpha1.Collector) { c.Spec.Replicas = new(int32(2)) })
	settled(t, collector)
	p, g := pluginIn(t, collector.Namespace), NewWithT(t)
	p.write("new.yaml", another)
	p.write("whole.yaml", `{apiVersion: kube8.dev/v1alpha1, kind: Collector, metadata: {name: gateway}, spec: {args: [--a], cluster: prod-eu-1,
		collector: {name: opentelemetry-collector, version: 0.150.0}, tenant: {id: "1042", reference: acme}}}`)
	p.env = append(p.env, "KUBE_EDITOR="+filepath.Join(p.dir, p.write("editor", "#!/bin/sh\necho '# edited' >>\"$1\"\n")))
	before := get(t, collector, "", &v1alpha1.Collector{})
	for command, done := range map[string]string{
		"restart gateway --wait": "restarted", "pause gateway": "paused", "rollback gateway --wait": "rolled back to the spec of revision 1",
		"config set gateway --from-file new.yaml --wait": "configured", "config edit gateway": "configured", "delete gateway": "deleted",
		"apply -f whole.yaml --from-file new.yaml --force-conflicts --wait":            "configured",
		"create another --from-file new.yaml --tenant acme --cluster prod-eu-1 --wait": "created",
	} {
		for mode, mark := range map[string]string{"server": " (server dry run)", "client": " (dry run)"} {
			out := p.run(append(strings.Fields(command), "--dry-run="+mode)...)
			g.Expect(out).To(HaveSuffix(" "+done+mark+"\n"), "%s --dry-run=%s", command, mode)
		}
	}
	g.Expect(get(t, collector, "", &v1alpha1.Collector{})).To(Equal(before))
	other := newCollector(collector.Namespace, "another")
	g.Expect(apierrors.IsNotFound(plane.client.Get(t.Context(), client.ObjectKeyFromObject(other), other))).To(BeTrue())

	p.refuses("another client owns a field", "apply", "-f", "whole.yaml", "--from-file", "new.yaml", "--dry-run=server") // which only the API server knows
	p.refuses(`Invalid dry-run value (maybe)`, "pause", "gateway", "--dry-run=maybe")
}
