// Package kubectl is the plugin `kubectl collector`: the tasks of people who work with Collectors, one command each. It
// reads and writes Collectors as any client does, and decides nothing that the operator decides: it checks by the code of
// internal/render, and explains by the documents.
package kubectl

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/offline"
)

// manager is the field manager of what the plugin writes.
const manager = "kubectl-collector"

// plugin is what all commands share.
type plugin struct {
	genericiooptions.IOStreams
	flags   *genericclioptions.ConfigFlags
	factory cmdutil.Factory
	version string
	dryRun  cmdutil.DryRunStrategy // as --dry-run says
}

// NewCommand returns the command line. version is what `version` prints.
func NewCommand(streams genericiooptions.IOStreams, version string) *cobra.Command {
	p := &plugin{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), version: version}
	p.flags.ClusterName = nil // --cluster is the Collector's
	p.factory = cmdutil.NewFactory(p.flags)
	root := &cobra.Command{
		Use:   "kubectl-collector",
		Short: "Create, change, explain and roll back Collectors",
		Long: `Create, change, explain and roll back Collectors of the kube8 operator.

Only the commands below config, import, render, create -o yaml, rollout undo, and list
with -o json or yaml print a configuration. The reasons of preflight and logs can quote one.
The ClusterRole kube8-operator-collector-viewer suffices for commands that only read Collectors.
Each command says what it leaves out because your account cannot read it. All of kubectl's own
flags work, too: kubectl options lists them.

Exit codes: 1 an error, 2 the check or another version refuses a Collector, 3 one does
not become ready.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl collector"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	p.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !slices.Contains([]string{"context", "kubeconfig", "namespace"}, flag.Name)
	})
	root.AddGroup(&cobra.Group{ID: "change", Title: "Change a Collector:"}, &cobra.Group{ID: "look", Title: "Look at it:"},
		&cobra.Group{ID: "fleet", Title: "Look after a fleet:"})
	for id, group := range map[string][]*cobra.Command{
		"change": {p.createCommand(), p.setCommand(), p.configCommand(), p.planCommand(), p.applyCommand(), p.importCommand(),
			p.rollbackCommand(), p.restartCommand(), p.pauseCommand(), p.resumeCommand(), p.promoteCommand(),
			p.abortCommand(), p.deleteCommand()},
		"look":  {p.statusCommand(), p.whyCommand(), p.historyCommand(), p.logsCommand()},
		"fleet": {p.listCommand(), p.topCommand(), p.preflightCommand(), p.rolloutCommand(), p.reportCommand()},
	} {
		for _, cmd := range group {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(offline.NewCommand(), p.versionCommand())
	for _, cmd := range commandsOf(root) {
		arguments := examples[strings.TrimPrefix(cmd.CommandPath(), root.CommandPath()+" ")]
		if !cmd.HasSubCommands() {
			cmd.Example = "  " + strings.TrimSpace(cmd.CommandPath()+" "+arguments)
		}
	}
	p.completions(root)
	return root
}

// about is a command whose one argument is the name of a Collector.
func (p *plugin) about(use, short, long string, run func(context.Context, *session, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Long: long,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return fmt.Errorf("name one Collector, such as: kubectl collector %s gateway; `kubectl collector list` shows which there are", use)
		},
		ValidArgsFunction: completion.ResourceNameCompletionFunc(p.factory, "collectors.kube8.dev"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.connect()
			if err != nil {
				return err
			}
			return run(cmd.Context(), s, args[0])
		},
	}
}

func (p *plugin) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the plugin", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.Out, p.version)
			return err
		},
	}
}

// session is a connection to a cluster, and the namespace to work in.
type session struct {
	client    client.Client
	rest      rest.Interface
	mapper    func() (meta.RESTMapper, error)
	serves    func(schema.GroupVersionKind) bool // tells whether the cluster has a kind
	pages     *pages                             // what pods answer
	namespace string
	chosen    labels.Selector // of the Collectors of a fleet; nil is for all
}

func (p *plugin) connect() (*session, error) {
	config, err := p.factory.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find a cluster, set --kubeconfig or $KUBECONFIG: %w", err)
	}
	namespace, _, err := p.factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("find the namespace, set --namespace: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	config.UserAgent = manager
	config.QPS = -1 // the API server's own fairness decides; a limit here would delay what a preflight deletes at its end
	config.WarningHandler = rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	raw, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(config))
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	pages, err := pagesOf(config)
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	return &session{
		client: client.WithFieldOwner(p.writes(c), manager), rest: raw, mapper: p.factory.ToRESTMapper, serves: kindsOf(c.RESTMapper()),
		pages: pages, namespace: namespace,
	}, nil
}

// read reads a Collector.
func (s *session) read(ctx context.Context, name string) (*v1alpha1.Collector, error) {
	collector := &v1alpha1.Collector{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, collector)
	if err != nil {
		return nil, s.failed("read", name, err)
	}
	return collector, nil
}

// failed says what the API server refused, and what to do.
func (s *session) failed(verb, name string, err error) error {
	what := fmt.Sprintf("Collector %s/%s", s.namespace, name)
	if name == "" {
		what = "Collectors"
	}
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && name == "":
		return errors.New("the cluster does not know Collectors; install the operator, or choose another cluster with --context")
	case apierrors.IsNotFound(err) && kindOf(err) == "namespaces":
		return fmt.Errorf("there is no namespace %s; `kubectl get namespaces` lists those that there are", s.namespace)
	case apierrors.IsNotFound(err):
		return &noCollectorError{s.namespace, name}
	case isByAdmission(err):
		return fmt.Errorf("the platform refuses to %s %s: %w", verb, what, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("your account may not %s %s; ask for a binding of the ClusterRole %s: %w", verb, what, roleTo(verb), err)
	}
	return fmt.Errorf("%s %s: %w", verb, what, err)
}

// roleTo returns the ClusterRole that allows a verb on Collectors, by the name that all installations of the operator have.
func roleTo(verb string) string {
	if verb == "read" || verb == "list" {
		return "kube8-operator-collector-viewer"
	}
	return "kube8-operator-collector-editor"
}

// kindOf returns the resource that the API server's answer is about.
func kindOf(err error) string {
	status := apierrors.APIStatus(nil)
	if errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Kind
	}
	return ""
}

// noCollectorError says that there is no Collector of a name.
type noCollectorError struct{ namespace, name string }

// Error says where to look.
func (e *noCollectorError) Error() string {
	return fmt.Sprintf("there is no Collector %s in namespace %s; `kubectl collector list -A` lists all that there are", e.name, e.namespace)
}

// admission is in what policies and webhooks say. A refusal for lack of rights has none of these words.
var admission = regexp.MustCompile(`ValidatingAdmissionPolicy|admission webhook|exceeded quota|failed quota`)

// isByAdmission tells whether the API server refused what was written, and not the user.
func isByAdmission(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && admission.MatchString(err.Error())
}

// ofCollector selects a Collector's pods.
func (s *session) ofCollector(name string) []client.ListOption {
	return []client.ListOption{client.InNamespace(s.namespace), client.MatchingLabels{v1alpha1.CollectorLabel: name}}
}

// pods lists a Collector's pods.
func (s *session) pods(ctx context.Context, name string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := s.client.List(ctx, &list, s.ofCollector(name)...); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return list.Items, nil
}
