package main

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const crd = `
spec:
  versions:
  - schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
              mode: {description: Mode is the kind of workload.}
              tenant:
                description: |-
                  Tenant says whose
                  collector this is.
                properties:
                  id: {description: ID of the tenant.}
          status:
            properties:
              version: {description: Version that runs.}
`

func TestDescribe(t *testing.T) {
	for name, test := range map[string]struct {
		spec, status string // paths
		want         string // their descriptions
		fails        string
	}{
		"descriptions are the CRD's": {
			spec: "mode tenant tenant.id", status: "version",
			want: "Mode is the kind of workload. | Tenant says whose collector this is. | ID of the tenant. | Version that runs.",
		},
		"a field that there is not": {
			spec: "mode tenant tenant.name", status: "version",
			fails: `specDescriptors: the CRD has no field "tenant.name"`,
		},
		"a field without a descriptor": {
			spec: "tenant.id", status: "version",
			fails: "specDescriptors: these fields of the CRD have none: mode, tenant",
		},
		"a field of the status without a descriptor": {
			spec: "mode tenant", status: "",
			fails: "statusDescriptors: these fields of the CRD have none: version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			csv := parse(t, `{spec: {customresourcedefinitions: {owned: [{specDescriptors: `+
				paths(test.spec)+`, statusDescriptors: `+paths(test.status)+`}]}}}`)
			err := describe(csv, parse(t, crd))
			if test.fails != "" {
				if err == nil || err.Error() != test.fails {
					t.Fatalf("got error %v, want %q", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			owned := csv["spec"].(map[string]any)["customresourcedefinitions"].(map[string]any)["owned"].([]any)[0].(map[string]any)
			for _, d := range append(owned["specDescriptors"].([]any), owned["statusDescriptors"].([]any)...) {
				got = append(got, d.(map[string]any)["description"].(string))
			}
			if got := strings.Join(got, " | "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	base := parse(t, `
metadata: {annotations: {createdAt: "2026-01-02T00:00:00Z"}}
spec: {relatedImages: [{name: other, image: example.com/other:1}]}`)
	csv := parse(t, `{metadata: {annotations: {createdAt: "2026-11-11T11:11:11Z", capabilities: Deep Insights}}, spec: {displayName: x}}`)
	if err := complete(csv, base, "example.com/operator:1", "PHN2Zy8+"); err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(csv)
	if err != nil {
		t.Fatal(err)
	}
	const want = `metadata:
  annotations:
    capabilities: Deep Insights
    containerImage: example.com/operator:1
    createdAt: "2026-01-02T00:00:00Z"
spec:
  displayName: x
  icon:
  - base64data: PHN2Zy8+
    mediatype: image/svg+xml
  relatedImages:
  - image: example.com/operator:1
    name: manager
  - image: example.com/other:1
    name: other
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := complete(csv, parse(t, "{}"), "example.com/operator:1", ""); err == nil {
		t.Error("a base without createdAt is accepted")
	}
}

func paths(names string) string {
	var out []string
	for name := range strings.FieldsSeq(names) {
		out = append(out, "{path: "+name+"}")
	}
	return "[" + strings.Join(out, ",") + "]"
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
