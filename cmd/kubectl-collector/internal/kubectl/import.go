package kubectl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/helm"
	manifests "github.com/kube8/kube8-operator/internal/manifest"
)

// imported is what a Collector is written from: a release of the chart opentelemetry-collector, or its values in a file.
type imported struct {
	release, file             string
	version                   string
	tenant, tenantID, cluster string
}

func (p *plugin) importCommand() *cobra.Command {
	i := &imported{}
	cmd := p.about("import", "Write a Collector from a release of the chart opentelemetry-collector",
		`Write a Collector from a release of the Helm chart opentelemetry-collector, as YAML.

It changes nothing in the cluster. It reads the release from its Secret, with the
configuration that the chart has rendered, or the values from a file:

  helm get values collector --all -o yaml >values.yaml

Standard error lists each value that the Collector does not have.`,
		func(ctx context.Context, s *session, name string) error { return p.importValues(ctx, s, name, i) })
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	flags := cmd.Flags()
	flags.StringVar(&i.release, "release", "", "the Helm release in the namespace")
	flags.StringVar(&i.file, "values", "", "a file with all values of the release, in place of --release")
	flags.StringVar(&i.version, "version", "",
		"the collector's version; default is the image's tag, or the version that the release's chart is for")
	flags.StringVar(&i.tenant, "tenant", "", "the tenant that the collector is for, by the name that people use")
	flags.StringVar(&i.tenantID, "tenant-id", "", "the tenant's id; default is what --tenant says")
	flags.StringVar(&i.cluster, "cluster", "", "the cluster that the collector observes, as telemetry names it")
	cmd.MarkFlagsMutuallyExclusive("release", "values")
	cmd.MarkFlagsOneRequired("release", "values")
	return cmd
}

func (p *plugin) importValues(ctx context.Context, s *session, name string, i *imported) error {
	if i.tenant == "" || i.cluster == "" {
		return errors.New("--tenant or --cluster is missing; see `kubectl collector import --help`")
	}
	if name == i.release {
		return fmt.Errorf("choose a name other than %s: both would have Secrets of a Helm release of that name", name)
	}
	values, configuration, err := i.read(ctx, s)
	if err != nil {
		return err
	}
	collector, left, err := i.collector(values, configuration)
	if err != nil {
		return err
	}
	collector.Namespace, collector.Name = s.namespace, name
	if err := check(ctx, nil, collector); err != nil {
		return err
	}
	for _, value := range left {
		fmt.Fprintln(p.ErrOut, "not carried over:", value)
	}
	text, err := json.Marshal(collector)
	if err != nil {
		return fmt.Errorf("write the Collector: %w", err)
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return fmt.Errorf("write the Collector: %w", err)
	}
	text = bytes.Replace(text, []byte("  creationTimestamp: null\n"), nil, 1)
	_, err = p.Out.Write(text)
	return err //nolint:wrapcheck // of standard output
}

// read returns the values, and the configuration as the chart has rendered it, if that is known.
func (i *imported) read(ctx context.Context, s *session) (values map[string]any, configuration []byte, err error) {
	if i.file != "" {
		text, err := os.ReadFile(i.file)
		if err != nil {
			return nil, nil, fmt.Errorf("read --values: %w", err)
		}
		if values, err = manifests.Mapping(text); err != nil {
			return nil, nil, fmt.Errorf("read --values %s: %w", i.file, err)
		}
		return values, nil, nil
	}
	found, err := s.release(ctx, i.release)
	if err != nil {
		return nil, nil, err
	}
	if values, err = helm.Coalesce(found.Chart, found.Config); err != nil {
		return nil, nil, fmt.Errorf("merge the values of release %s: %w", i.release, err)
	}
	i.version = cmp.Or(i.version, fmt.Sprint(cmp.Or(at(values, "image", "tag"), any(""))), found.Chart.AppVersion())
	for object, err := range manifests.Objects([]byte(found.Manifest)) {
		if err != nil {
			return nil, nil, fmt.Errorf("read the manifest of release %s: %w", i.release, err)
		}
		text, has, _ := unstructured.NestedString(object.Object, "data", "relay") // the chart's name for it
		if has && object.GetKind() == "ConfigMap" {
			return values, []byte(text), nil
		}
	}
	return values, nil, nil // the chart does not make the configuration
}

// release reads the newest revision of a Helm release.
func (s *session) release(ctx context.Context, name string) (*helm.Release, error) {
	var secrets corev1.SecretList
	err := s.client.List(ctx, &secrets, client.InNamespace(s.namespace),
		client.MatchingLabels(helm.Selector(name)), client.MatchingLabels{"status": helm.Deployed.String()})
	if err != nil {
		return nil, fmt.Errorf("list the Secrets of release %s: %w", name, err)
	}
	if len(secrets.Items) == 0 {
		return nil, fmt.Errorf("namespace %s has no deployed release %s; `helm list` lists them", s.namespace, name)
	}
	found, err := helm.Unpack(secrets.Items[len(secrets.Items)-1].Data["release"])
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", name, err)
	}
	if found.Chart == nil || found.Chart.Name() != "opentelemetry-collector" {
		return nil, fmt.Errorf("release %s is not of the chart opentelemetry-collector; write the Collector by `kubectl collector create`", name)
	}
	return found, nil
}

// collector returns the Collector, and the values that it does not have.
func (i *imported) collector(values map[string]any, configuration []byte) (*v1alpha1.Collector, []string, error) {
	spec, left := specOfValues(values)
	repository, _ := at(values, "image", "repository").(string)
	if repository == "" {
		return nil, nil, errors.New("the values have no image.repository; write all of them: helm get values RELEASE --all -o yaml")
	}
	version := cmp.Or(i.version, fmt.Sprint(cmp.Or(at(values, "image", "tag"), any(""))))
	if version == "" {
		return nil, nil, errors.New("the values have no image.tag; name the version by --version")
	}
	if configuration == nil {
		config := at(values, "alternateConfig")
		if isOff(config) {
			config = at(values, "config")
		}
		if isOff(config) {
			return nil, nil, errors.New("the values have no config; write all of them: helm get values RELEASE --all -o yaml")
		}
		text, err := yaml.Marshal(config)
		if err != nil {
			return nil, nil, fmt.Errorf("write the configuration: %w", err)
		}
		configuration = text
		if !isOff(values["presets"]) {
			left = append(left, "presets: their part of the configuration is not in a file of values; import by --release")
		}
	}
	// The chart sets it in each pod, and its default configuration refers to it.
	if bytes.Contains(configuration, []byte("MY_POD_IP")) {
		env, _ := spec["env"].([]any)
		spec["env"] = append(slices.Clone(env), map[string]any{
			"name": "MY_POD_IP", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "status.podIP"}},
		})
	}
	spec["image"] = compact(map[string]any{
		"repository": repository, "digest": at(values, "image", "digest"), "pullPolicy": at(values, "image", "pullPolicy"),
	})
	spec["collector"] = map[string]any{"name": path.Base(repository), "version": version, "configurationText": string(configuration)}
	spec["tenant"] = map[string]any{"reference": i.tenant, "id": cmp.Or(i.tenantID, i.tenant)}
	spec["cluster"] = i.cluster
	text, err := json.Marshal(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Collector", "spec": spec})
	if err != nil {
		return nil, nil, fmt.Errorf("write the Collector: %w", err)
	}
	collector := &v1alpha1.Collector{}
	unknown, err := kjson.UnmarshalStrict(text, collector)
	if err != nil {
		return nil, nil, fmt.Errorf("the values have a field of another type than a Collector: %w", err)
	}
	for _, field := range unknown {
		left = append(left, field.Error()+" of a Collector")
	}
	return collector, left, nil
}
