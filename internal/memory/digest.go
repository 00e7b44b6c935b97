package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// digest returns a SHA-256, in hex, over a release's manifest and all that it was made from. In the Collector's status
// it lets the operator know after a restart that rendering would lead to the same. A release can be edited by whoever
// may write Secrets; the status cannot, so that an edited release has another digest. It is empty if it cannot be told.
func (c *actionClient) digest(rel *release.Release, chrt *chart.Chart, vals map[string]any) string {
	operator, err := executable()
	config := c.Config()
	if err != nil || chrt == nil || config == nil || config.Capabilities == nil {
		return ""
	}
	values, err := json.Marshal(vals) // sorts keys
	if err != nil {
		return ""
	}
	sum := sha256.New()
	for _, part := range []string{
		operator, c.memory.digestOf(chrt), c.memory.offers(config.Capabilities), string(c.collector.GetUID()), c.configuration,
		rel.Namespace, rel.Name, strconv.Itoa(rel.Version), string(values), rel.Manifest,
	} {
		write(sum, part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// write adds a part so that no other parts add up to the same.
func write(sum hash.Hash, part string) {
	fmt.Fprintf(sum, "%d %s", len(part), part)
}

// digestOf returns a hash over what a chart renders from.
func (m *Memory) digestOf(chrt *chart.Chart) string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if found, known := m.charts[chrt]; known {
		return found
	}
	sum := sha256.New()
	for _, file := range chrt.Raw {
		write(sum, file.Name)
		write(sum, string(file.Data))
	}
	// The operator's options change these after the files were read.
	for _, annotation := range slices.Sorted(maps.Keys(chrt.Metadata.Annotations)) {
		write(sum, annotation)
		write(sum, chrt.Metadata.Annotations[annotation])
	}
	if m.charts == nil {
		m.charts = map[*chart.Chart]string{}
	}
	m.charts[chrt] = string(sum.Sum(nil))
	return m.charts[chrt]
}

// offers returns a hash over what the cluster offers, for which a chart can test. All passes share capabilities.
func (m *Memory) offers(capabilities *chartutil.Capabilities) string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.offering != capabilities {
		sum := sha256.New()
		write(sum, capabilities.KubeVersion.Version)
		for _, api := range slices.Sorted(slices.Values(capabilities.APIVersions)) {
			write(sum, api)
		}
		m.offering, m.offered = capabilities, string(sum.Sum(nil))
	}
	return m.offered
}

// executable returns a hash of the running program: another one may render otherwise.
var executable = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the operator's executable: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the operator's executable: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read the operator's executable: %w", err)
	}
	return string(sum.Sum(nil)), nil
})

// digestIn returns the digest that a Collector's status has.
func digestIn(collector client.Object) string {
	parsed, ok := collector.(*unstructured.Unstructured)
	if !ok {
		return ""
	}
	found, _, _ := unstructured.NestedString(parsed.Object, "status", "deployedRelease", "digest")
	return found
}
