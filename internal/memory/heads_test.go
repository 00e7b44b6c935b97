package memory

import "testing"

func TestHeads(t *testing.T) {
	const manifest = `---
apiVersion: v1
data:
  config.yaml: |
    kind: not a field of the object
immutable: true
kind: Secret
metadata:
  annotations:
    helm.sh/resource-policy: keep
  name: gateway
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: gateway
spec:
  template:
    metadata: {}
    spec:
      containers:
      - name: collector
`
	const want = `---
apiVersion: v1
kind: Secret
metadata:
  annotations:
    helm.sh/resource-policy: keep
  name: gateway
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: gateway
`
	if got := heads(manifest); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const flow = `{"apiVersion": "v1", "kind": "Service"}`
	if got := heads(flow); got != flow {
		t.Errorf("what is written otherwise becomes\n%s", got)
	}
}
