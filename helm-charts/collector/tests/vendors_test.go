package tests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/test/golden"
)

// The table of docs/reference/vendors.md says of each case of another vendor what the Collector has.
func TestVendors(t *testing.T) {
	var table strings.Builder
	table.WriteString("| Collector | Image | File | Starts with | User | Writes to | Of the node | Rights | Ports |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	all, vendors := cases(t), 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text, err := json.Marshal(all[name])
		if err != nil {
			t.Fatal(err)
		}
		var spec v1alpha1.CollectorSpec
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		image := spec.Collector.Name
		if spec.Image != nil && spec.Image.Registry != "" {
			image = spec.Image.Registry + "/" + image
		}
		if !strings.Contains(image, "/") || strings.Contains(image, "example.com") {
			continue
		}
		vendors++
		fmt.Fprintf(&table, "| [%s](../../helm-charts/collector/ci/%[1]s-values.yaml) | `%s` | %s | %s | %s | %s | %s | %s | %s |\n", name, image,
			file(spec.Collector), code(append(slices.Clone(spec.Command), spec.Args...)...), user(spec), code(writable(spec)...), ofNode(spec),
			rights(spec), ports(spec))
	}
	if vendors < 10 {
		t.Fatalf("only %d cases are of other vendors", vendors)
	}
	writeTable(t, "TestVendors", table.String())
}

// writeTable compares the table of docs/reference/vendors.md that a test is about with what it has to be, or writes it.
func writeTable(t *testing.T, test, table string) {
	t.Helper()
	const page, end = "../../../docs/reference/vendors.md", "\n<!-- end of the table -->"
	begin := "-run " + test + " -update -->\n\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no place for the table of %s", page, test)
	}
	want := before + begin + table + end + after
	golden.Compare(t, page, want, "./helm-charts/collector/tests")
}

// code returns words as they are written in a cell, or "-" for none.
func code(words ...string) string {
	if len(words) == 0 {
		return "-"
	}
	return "`" + strings.ReplaceAll(strings.Join(words, " "), "|", "\\|") + "`"
}

func file(config v1alpha1.CollectorConfig) string {
	if config.ConfigurationSecret == nil && len(config.Configuration) == 0 {
		return "-"
	}
	name := "`" + cmp.Or(config.FileName, "config.yaml") + "`"
	if config.Format == v1alpha1.FormatRaw {
		name += ", `raw`"
	}
	return name
}

// user returns the numbers of a collector's user and group.
func user(spec v1alpha1.CollectorSpec) string {
	said := "the image's"
	pod, container := spec.PodSecurityContext, spec.SecurityContext
	switch {
	case container != nil && container.RunAsUser != nil:
		said = strconv.FormatInt(*container.RunAsUser, 10)
	case pod != nil && pod.RunAsUser != nil:
		said = strconv.FormatInt(*pod.RunAsUser, 10)
	}
	if said == "0" {
		said = "root"
	}
	if pod != nil && pod.RunAsGroup != nil {
		said += fmt.Sprintf(", group %d", *pod.RunAsGroup)
	}
	if pod != nil && pod.FSGroup != nil {
		said += fmt.Sprintf(", `fsGroup` %d", *pod.FSGroup)
	}
	return said
}

// writable returns the directories of its volumes that a collector can write to.
func writable(spec v1alpha1.CollectorSpec) (paths []string) {
	for _, mount := range spec.ExtraVolumeMounts {
		isFixed := slices.ContainsFunc(spec.ExtraVolumes, func(volume corev1.Volume) bool {
			return volume.Name == mount.Name && (volume.Secret != nil || volume.ConfigMap != nil || volume.Projected != nil || volume.DownwardAPI != nil)
		})
		if !mount.ReadOnly && !isFixed {
			paths = append(paths, mount.MountPath)
		}
	}
	return paths
}

// ofNode returns what of its node a collector uses.
func ofNode(spec v1alpha1.CollectorSpec) string {
	var uses []string
	for _, use := range []struct {
		what string
		is   bool
	}{
		{"`hostNetwork`", spec.HostNetwork}, {"`hostPID`", spec.HostPID},
		{"`privileged`", spec.SecurityContext != nil && spec.SecurityContext.Privileged != nil && *spec.SecurityContext.Privileged},
	} {
		if use.is {
			uses = append(uses, use.what)
		}
	}
	for i := range spec.ExtraVolumes {
		if path := spec.ExtraVolumes[i].HostPath; path != nil {
			uses = append(uses, "`"+path.Path+"`")
		}
	}
	if presets := spec.Presets; presets != nil {
		if presets.Logs != nil && presets.Logs.Enabled {
			uses = append(uses, "`/var/log/pods`")
		}
		if presets.HostMetrics != nil && presets.HostMetrics.Enabled {
			uses = append(uses, "`/`")
		}
	}
	return cmp.Or(strings.Join(uses, ", "), "-")
}

// rights returns what the pods may do beyond what all pods may: the roles that are bound to them, a token and capabilities.
func rights(spec v1alpha1.CollectorSpec) string {
	var has []string
	if presets := spec.Presets; presets != nil {
		if presets.KubernetesAttributes != nil && presets.KubernetesAttributes.Enabled {
			has = append(has, "role `kubernetes-attributes`")
		}
		if presets.KubeletMetrics != nil && presets.KubeletMetrics.Enabled {
			has = append(has, "role `kubelet-metrics`")
		}
	}
	if account := spec.ServiceAccount; len(has) == 0 && account != nil && account.Automount != nil && *account.Automount {
		has = append(has, "a token")
	}
	if spec.SecurityContext != nil && spec.SecurityContext.Capabilities != nil {
		for _, capability := range spec.SecurityContext.Capabilities.Add {
			has = append(has, "`"+string(capability)+"`")
		}
	}
	return cmp.Or(strings.Join(has, ", "), "-")
}

func ports(spec v1alpha1.CollectorSpec) string {
	var open []string
	for _, name := range slices.Sorted(maps.Keys(spec.Ports)) {
		if port := spec.Ports[name]; port.Enabled == nil || *port.Enabled {
			open = append(open, fmt.Sprintf("%s %d", name, port.Port))
		}
	}
	return cmp.Or(strings.Join(open, ", "), "-")
}
