package kubectl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/scheme"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/applyconfiguration/api/v1alpha1"
	collectors "github.com/kube8/kube8-operator/api/v1alpha1"
)

// defaultVersion is the version of the OpenTelemetry Collector that a Collector gets unless another one is named.
const defaultVersion = "0.160.0"

// creation is what a Collector is created from.
type creation struct {
	from, fileName, format    string
	collector, version        string
	tenant, tenantID, cluster string
	instance, mode            string
	check                     bool
	replicas                  int32
	printed                   *genericclioptions.PrintFlags
	withReplicas              bool
	waiting
}

func (c *creation) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.from, "from-file", "", "the configuration, or - for standard input")
	flags.StringVar(&c.tenant, "tenant", "", "the tenant that the collector is for, by the name that people use")
	flags.StringVar(&c.tenantID, "tenant-id", "", "the tenant's id; default is what --tenant says")
	flags.StringVar(&c.instance, "tenant-instance", "", "which of several instances of the tenant, such as staging")
	flags.StringVar(&c.cluster, "cluster", "", "the cluster that the collector observes, as telemetry names it")
	flags.StringVar(&c.collector, "collector", "opentelemetry-collector",
		"the collector's distribution, or an image's repository, such as grafana/alloy")
	flags.StringVar(&c.version, "version", "", "the collector's version; default is "+defaultVersion+" of the OpenTelemetry Collector")
	flags.StringVar(&c.fileName, "file-name", "", "the configuration's name in /etc/collector; default is config.yaml")
	flags.StringVar(&c.format, "format", "", "yaml (the default), or raw for a configuration that is not YAML")
	flags.StringVar(&c.mode, "mode", "", "deployment (the default), daemonset or statefulset")
	flags.Int32Var(&c.replicas, "replicas", 1, "the number of pods; not with --mode=daemonset")
	flags.BoolVar(&c.check, "check", false, "have the collector itself check each change before pods get it")
}

func (p *plugin) createCommand() *cobra.Command {
	c := &creation{printed: genericclioptions.NewPrintFlags("created").WithTypeSetter(scheme.Scheme)}
	cmd := p.about("create", "Create a Collector from a configuration",
		`Create a Collector from a configuration, once it is checked as the operator and the
API server check it. For other fields, write it to a file and change that:

  kubectl collector create gateway --from-file config.yaml --tenant acme \
    --cluster prod-eu-1 --dry-run=client -o yaml >gateway.yaml`,
		func(ctx context.Context, s *session, name string) error { return p.create(ctx, s, name, c) })
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.withReplicas = cmd.Flags().Changed("replicas")
		cmdutil.PrintFlagsWithDryRunStrategy(c.printed, p.dryRun)
		return run(cmd, args)
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	c.addFlags(cmd.Flags())
	c.waiting.addFlags(cmd.Flags(), "wait until the Collector is ready", false)
	c.printed.AddFlags(cmd)
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) create(ctx context.Context, s *session, name string, c *creation) error {
	object, objects, err := p.collector(ctx, s, name, c)
	if err != nil {
		return err
	}
	printer, err := c.printed.ToPrinter()
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if p.dryRun != cmdutil.DryRunClient { // a manifest for people has no mark
		before, err := s.existing(ctx, name)
		if err == nil && before == nil {
			err = foresee(ctx, s, p.ErrOut, nil, object, objects)
		}
		if err != nil {
			return err
		}
		if err := s.create(ctx, object); err != nil {
			return err
		}
	}
	if err := printer.PrintObj(object, p.Out); err != nil {
		return err //nolint:wrapcheck // of standard output
	}
	return p.until(ctx, s, name, c.waiting)
}

// create creates a Collector by a server-side apply, so that a later apply of a file changes and removes what it has.
func (s *session) create(ctx context.Context, object *unstructured.Unstructured) error {
	s.mark(ctx, object, 1)
	object.SetResourceVersion("1") // which no object has, so none is changed
	err := s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object))
	if apierrors.IsConflict(err) {
		return fmt.Errorf("there is a Collector %s in namespace %s already; change it by `kubectl collector set` or `config set`",
			object.GetName(), s.namespace)
	}
	if err != nil {
		return s.failed("create", object.GetName(), err)
	}
	object.SetManagedFields(nil)
	return nil
}

// missing returns the flags that a Collector cannot do without and that have no value.
func (c *creation) missing() (flags []string) {
	for _, required := range []struct{ flag, value string }{
		{"--from-file", c.from}, {"--tenant", c.tenant}, {"--cluster", c.cluster},
	} {
		if required.value == "" {
			flags = append(flags, required.flag)
		}
	}
	if c.version == "" && c.collector != "opentelemetry-collector" {
		flags = append(flags, "--version (only opentelemetry-collector has a default)")
	}
	return flags
}

// collector returns the Collector to create, checked, with only the fields that are asked for, and what the operator makes of it.
func (p *plugin) collector(
	ctx context.Context, s *session, name string, c *creation,
) (object *unstructured.Unstructured, objects []*unstructured.Unstructured, err error) {
	if missing := c.missing(); len(missing) > 0 {
		return nil, nil, fmt.Errorf("missing: %s; see `kubectl collector create --help`", strings.Join(missing, ", "))
	}
	content, err := p.input(c.from)
	if err != nil {
		return nil, nil, err
	}
	config := v1alpha1.CollectorConfig().WithName(c.collector)
	if isText(content) {
		config.WithConfigurationText(collectors.FileText(content))
	} else {
		config.WithConfiguration(content)
	}
	config.WithVersion(cmp.Or(c.version, defaultVersion))
	if c.fileName != "" {
		config.WithFileName(c.fileName)
	}
	if c.format != "" {
		config.WithFormat(collectors.Format(c.format))
	}
	tenant := v1alpha1.Tenant().WithReference(c.tenant).WithID(cmp.Or(c.tenantID, c.tenant))
	if c.instance != "" {
		tenant.WithInstance(c.instance)
	}
	spec := v1alpha1.CollectorSpec().WithCollector(config).WithTenant(tenant).WithCluster(c.cluster)
	if c.mode != "" {
		spec.WithMode(collectors.Mode(c.mode))
	}
	if c.withReplicas {
		spec.WithReplicas(c.replicas)
	}
	if c.check {
		spec.WithCheck(v1alpha1.Check())
	}
	text, err := json.Marshal(v1alpha1.Collector(name, s.namespace).WithSpec(spec))
	if err != nil {
		return nil, nil, fmt.Errorf("write the Collector: %w", err)
	}
	object = &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return nil, nil, fmt.Errorf("write the Collector: %w", err)
	}
	if p.dryRun == cmdutil.DryRunClient { // it works without a cluster
		s = nil
	}
	objects, err = rendered(ctx, s, object, p.warn)
	return object, objects, err
}
