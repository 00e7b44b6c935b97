//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// Scenario 14: an application drives the operator, with the role collector-editor in its tenant's namespace.

func TestThePortalMakesCollectors(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t, "restricted")
	portal := startPortal(t, namespace)
	collectors := portal + "/collectors/" + namespace

	t.Run("through its endpoints, and they take telemetry", func(t *testing.T) {
		g := NewWithT(t)
		collector := newCollector(namespace, "gateway", printing("detailed"))
		body, err := json.Marshal(map[string]string{
			"collector": collector.Spec.Collector.Name, "version": collector.Spec.Collector.Version,
			"configuration": string(collector.Spec.Collector.Configuration),
			"tenant":        collector.Spec.Tenant.Reference, "tenantID": collector.Spec.Tenant.ID, "cluster": collector.Spec.Cluster,
		})
		g.Expect(err).NotTo(HaveOccurred())
		ask(t, http.MethodPut, collectors+"/gateway", body)
		g.Expect(streamTells(t, collectors+"/events", `"name":"gateway"`, `"ready":"True"`)).To(Succeed())
		g.Expect(readyOf(get(t, collector, &v1alpha1.Collector{}))).To(Equal("True Available"))
		g.Eventually(func() error { return send(t.Context(), collector, "a-span-for-the-portal") }).Should(Succeed())
		awaitPrinted(t, collector, "a-span-for-the-portal")

		ask(t, http.MethodDelete, collectors+"/gateway", nil)
		awaitGone(t, collector)
	})

	t.Run("on its page, by click", func(t *testing.T) {
		kept := newCollector(namespace, "kept", "")
		kept.Spec.Collector.ConfigurationSecret = &v1alpha1.ConfigurationSecret{Name: "kept", Key: "config.yaml"}
		create(t, kept)
		// Its browser is a dependency of the example, and not of the operator.
		test := exec.CommandContext(t.Context(), "go", "-C", "examples/portal", "test", "-tags=e2e", "-count=1", "./browser")
		test.Env = append(os.Environ(), "PORTAL_URL="+portal+"/?namespace="+namespace, "NAMESPACES="+namespace)
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// startPortal installs the portal in a namespace as its README says, and returns where it can be reached.
func startPortal(t *testing.T, namespace string) (address string) {
	t.Helper()
	manifests, err := kubectl(t.Context(), "kustomize", "examples/portal/deploy")
	if err != nil {
		t.Fatalf("%v\n%s", err, manifests)
	}
	apply := kubectlCommand(t.Context(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader(strings.ReplaceAll(manifests, "tenant-acme", namespace))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("apply the portal: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(show(context.Background(), "logs", "-n", namespace, "deployment/portal"))
		}
	})
	if out, err := kubectl(t.Context(), "rollout", "status", "-n", namespace, "deployment/portal", "--timeout=2m"); err != nil {
		t.Fatalf("wait for the portal: %v\n%s", err, out)
	}

	forward := kubectlCommand(t.Context(), "port-forward", "-n", namespace, "service/portal", ":80")
	out, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = forward.Wait() }) // the test's context has ended it
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("forward a port to the portal: %v", err)
	}
	var port int
	if _, err := fmt.Sscanf(line, "Forwarding from 127.0.0.1:%d ->", &port); err != nil {
		t.Fatalf("forward a port to the portal: %v in %q", err, line)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// ask has the portal do something.
func ask(t *testing.T, method, url string, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s: %s", method, url, response.Status)
	}
}

// streamTells returns when an event of a stream has all of these texts, or says what the last event was.
func streamTells(t *testing.T, url string, texts ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	last := response.Status
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		last = data
		told := true
		for _, text := range texts {
			told = told && strings.Contains(data, text)
		}
		if told {
			return nil
		}
	}
	return fmt.Errorf("the stream ended after %s: %w", last, cmp.Or(lines.Err(), io.EOF))
}
