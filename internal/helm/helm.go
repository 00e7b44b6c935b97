// Package helm is what the operator uses of Helm's library: the loader of charts, the template engine, and the format of releases. No other
// package of the operator imports the library, so a new version of Helm changes this package only. Most of the package is other names for
// what the library has.
package helm

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/strvals"
	"helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
)

type (
	// Chart is a chart that is loaded.
	Chart = chart.Chart
	// File is a file of a chart.
	File = chart.File
	// Metadata is the content of a chart's Chart.yaml.
	Metadata = chart.Metadata
	// Values are those for a chart, or the input of its templates.
	Values = chartutil.Values
	// Capabilities are what templates can ask about a cluster.
	Capabilities = chartutil.Capabilities
	// Release is a revision of a release.
	Release = release.Release
	// Info says when a revision was deployed, why, and what became of it.
	Info = release.Info
	// Time is a time in a release.
	Time = time.Time
	// Uninstalled is the answer to an uninstallation.
	Uninstalled = release.UninstallReleaseResponse
)

// Functions and variables of the library, with names that fit this package.
var (
	Execute             = engine.Render                 // executes the templates of a chart, and returns what comes out by their paths
	Coalesce            = chartutil.CoalesceValues      // returns values with the chart's defaults in them
	CoalesceTables      = chartutil.CoalesceTables      // adds to a map what only another one has
	Set                 = strvals.ParseInto             // sets a value that is written as for `helm --set`
	Kinds               = releaseutil.InstallOrder      // kinds of objects, in Helm's order of installation
	DefaultCapabilities = chartutil.DefaultCapabilities // those of a cluster that cannot be asked
	ErrNotFound         = driver.ErrReleaseNotFound     // says that there is no such release
)

// Words in releases and in annotations of objects.
const (
	HookAnnotation = release.HookAnnotation   // marks objects that Helm applies at a certain time only
	Deployed       = release.StatusDeployed   // the status of the revision that is deployed
	Superseded     = release.StatusSuperseded // the status of an earlier one
)

// Load reads the chart in a folder. Its errors name the file, if there is one.
func Load(files fs.FS, folder string) (*Chart, error) {
	var found []*loader.BufferedFile
	if err := fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		found = append(found, &loader.BufferedFile{Name: strings.TrimPrefix(name, folder+"/"), Data: data})
		return err //nolint:wrapcheck // it names the file
	}); err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	return loader.LoadFiles(found) //nolint:wrapcheck // the caller names the chart
}

// CapabilitiesOf returns those of a cluster that serves the APIs that each cluster has, and some others.
func CapabilitiesOf(kubernetes *version.Info, others []string) *Capabilities {
	return &Capabilities{
		KubeVersion: chartutil.KubeVersion{Version: kubernetes.GitVersion, Major: kubernetes.Major, Minor: kubernetes.Minor},
		HelmVersion: DefaultCapabilities.HelmVersion,
		APIVersions: slices.Concat(chartutil.DefaultVersionSet, others),
	}
}

// Input returns what the templates of a chart are executed with, for the first revision of a release. It takes charts out of the chart that
// the values turn off.
func Input(chrt *Chart, name types.NamespacedName, values map[string]any, capabilities *Capabilities) (Values, error) {
	if err := chartutil.ProcessDependencies(chrt, values); err != nil {
		return nil, fmt.Errorf("read its dependencies: %w", err)
	}
	options := chartutil.ReleaseOptions{Name: name.Name, Namespace: name.Namespace, Revision: 1, IsInstall: true}
	return chartutil.ToRenderValues(chrt, values, options, capabilities) //nolint:wrapcheck // the caller names the chart
}
