package main

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
)

// policy is one that a platform team might have.
const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-nightlies}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [kube8.dev], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [collectors]}]
  validations: [{expression: "object.spec.collector.version != 'nightly'", message: "spec.collector.version: no nightlies here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-nightlies}
spec: {policyName: no-nightlies, validationActions: [Deny]}
`

func TestWhoeverAsksIsToldWhyNot(t *testing.T) {
	apply := kubectl(t.Context(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader(policy)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	put(t, "gateway", valid())
	// The API server takes a moment to follow a policy.
	nightly := valid()
	nightly.Version = "nightly"
	NewWithT(t).Eventually(func() int {
		code, _ := call(t, http.MethodPut, "/collectors/tenant-acme/gateway", nightly)
		return code
	}).Should(Equal(http.StatusUnprocessableEntity))

	for _, row := range []struct {
		name, method, path string
		patch              string // of a valid body
		header             []string
		code               int
		message            string
	}{
		{name: "a name that no Service can have", path: "/collectors/tenant-acme/1st",
			code: 422, message: `is invalid: Invalid value: metadata.name: lower-case letters, digits and '-', starting with a letter`},
		{name: "a secret where it does not belong, which the answer quotes and the log does not", patch: `{"tenantID": "` + secret + `!"}`,
			code: 422, message: `spec.tenant.id: Invalid value: "` + secret + `!"`},
		{name: "another tenant for the same Collector", path: "/collectors/tenant-acme/gateway", patch: `{"tenantID": "1043"}`,
			code: 422, message: "tenant.id cannot be changed"},
		{name: "no version", patch: `{"version": ""}`, code: 422, message: "spec.collector.version: Invalid value"},
		{name: "a version that a policy of the cluster forbids", patch: `{"version": "nightly"}`,
			code: 422, message: "spec.collector.version: no nightlies here"},
		{name: "a field that the portal does not know", patch: `{"replicas": 3}`, code: 400, message: `unknown field "replicas"`},
		{name: "a configuration that is too large", patch: `{"configuration": "` + strings.Repeat("#", 256<<10+3) + `"}`,
			code: 422, message: "spec.collector.configurationText: Too long: may not be more than 262144 bytes"},
		{name: "a body that is too large", patch: `{"configuration": "` + strings.Repeat("#", 1<<20) + `"}`,
			code: 413, message: "configuration: at most 256 KiB"},
		{name: "a namespace without the role", path: "/collectors/tenant-globex/gateway", code: 403,
			message: `cannot get resource "collectors" in API group "kube8.dev" in the namespace "tenant-globex"`},
		{name: "a list of a namespace without the role", method: http.MethodGet, path: "/collectors/tenant-globex", code: 403,
			message: `cannot list resource "collectors"`},
		{name: "a stream of a namespace without the role", method: http.MethodGet, path: "/collectors/tenant-globex/events", code: 403,
			message: `cannot list resource "collectors"`},
		{name: "a list of a namespace without a name, which would be all", method: http.MethodGet, path: "/collectors/tenant-acme,", code: 400,
			message: "a namespace has no name"},
		{name: "a stream of a namespace without a name", method: http.MethodGet, path: "/collectors/,tenant-acme/events", code: 400,
			message: "a namespace has no name"},
		{name: "the end of a Collector that there is not", method: http.MethodDelete, path: "/collectors/tenant-acme/nothing", code: 404,
			message: `collectors.kube8.dev "nothing" not found`},
		{name: "a change that a page of another site asks for", header: []string{"Sec-Fetch-Site", "cross-site"},
			code: 403, message: "cross-origin request detected"},
		{name: "a name that is not the portal's", method: http.MethodGet, path: "/collectors/tenant-acme?configuration=true",
			header: []string{"Host", "attacker.example"}, code: 421, message: "not a name of this portal"},
		{name: "a method that does nothing", method: http.MethodPost, code: 405, message: "Method Not Allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			body := map[string]any{}
			for _, text := range []string{encoded(t, valid()), cmp.Or(row.patch, "{}")} {
				if err := json.Unmarshal([]byte(text), &body); err != nil {
					t.Fatal(err)
				}
			}
			code, answer := call(t, cmp.Or(row.method, http.MethodPut), cmp.Or(row.path, "/collectors/tenant-acme/refused"), body, row.header...)
			g := NewWithT(t)
			g.Expect(code).To(Equal(row.code), answer)
			g.Expect(answer).To(ContainSubstring(row.message))
		})
	}
}

func TestWithoutAnAPIServerThePortalSaysSo(t *testing.T) {
	g := NewWithT(t)
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	config, err := clientcmd.LoadFromFile(kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	for _, cluster := range config.Clusters {
		cluster.Server = "https://127.0.0.1:1"
	}
	g.Expect(clientcmd.WriteToFile(*config, nowhere)).To(Succeed())
	to, namespace, err := connect(nowhere)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(namespace).To(Equal(tenant))
	answer := httptest.NewRecorder()
	newPortal(t.Context(), to, []string{namespace}, nil).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/collectors/a", nil))
	g.Expect(answer.Code).To(Equal(http.StatusBadGateway))
	g.Expect(answer.Body.String()).To(ContainSubstring("the Kubernetes API server does not answer as it should"))
}
