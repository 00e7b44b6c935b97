package capabilities

import (
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

// maxNames is how many APIs a line of the log names.
const maxNames = 4

// read asks for what the cluster offers. While the server of an aggregated API is down, only the rest of the APIs is
// told; then read returns an error too, and takes those that are missing from last, if there is one: they come back.
func read(client api, last *chartutil.Capabilities) (*chartutil.Capabilities, error) {
	kubernetes, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	resources := &noting{ServerResourcesInterface: client}
	versions, err := action.GetVersionSet(resources)
	if err != nil {
		return nil, fmt.Errorf("read the APIs of the cluster: %w", err)
	}
	apis := sets.New(versions...)
	missing, _ := discovery.GroupDiscoveryFailedErrorGroups(resources.err)
	if last != nil {
		for group := range missing {
			for _, known := range last.APIVersions {
				if known == group.String() || strings.HasPrefix(known, group.String()+"/") {
					apis.Insert(known)
				}
			}
		}
	}
	return &chartutil.Capabilities{
		KubeVersion: chartutil.KubeVersion{
			Version: kubernetes.GitVersion, Major: kubernetes.Major, Minor: kubernetes.Minor,
		},
		APIVersions: sets.List(apis),
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}, resources.err
}

// noting keeps the error by which a discovery client says that it has not found everything. Helm passes over it.
type noting struct {
	discovery.ServerResourcesInterface
	err error
}

// ServerGroupsAndResources returns the APIs of the cluster.
func (n *noting) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	groups, resources, err := n.ServerResourcesInterface.ServerGroupsAndResources()
	n.err = err
	return groups, resources, err //nolint:wrapcheck // decorated, not called
}

func isSame(a, b *chartutil.Capabilities) bool {
	return a.KubeVersion == b.KubeVersion && slices.Equal(a.APIVersions, b.APIVersions)
}

func (c *Cache) logChange(before, after *chartutil.Capabilities) {
	then, now := sets.New(before.APIVersions...), sets.New(after.APIVersions...)
	c.log.Info("what the cluster offers has changed, so each Collector is looked at",
		"appeared", some(now.Difference(then)), "vanished", some(then.Difference(now)),
		"kubernetes", after.KubeVersion.Version)
}

// some names a few of apis, and says how many others there are.
func some(apis sets.Set[string]) string {
	names := sets.List(apis)
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
