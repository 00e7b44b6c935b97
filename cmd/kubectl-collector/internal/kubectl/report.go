package kubectl

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/redact"
)

const readme = `A support bundle of kubectl collector. It has the Collectors and what they became, with
events, and the log of the operator.

It has no configuration, no file, no data of a Secret or ConfigMap, no value of an
environment variable, no argument, no probe and no log of a collector. In their place it
says "(hidden)". It hides every text that is not known to be harmless.

unread.txt names what the account may not read.
`

// operatorLogLines is how many lines of each operator pod's log a bundle has.
const operatorLogLines = 5000

func (p *plugin) reportCommand() *cobra.Command {
	var all bool
	var output, operatorNamespace string
	cmd := &cobra.Command{
		Use: "report", Short: "Write a support bundle without configurations and Secrets", Args: cobra.NoArgs,
		Long: `Write a support bundle (tar.gz) about the Collectors of a namespace, or of all.

It has what helps to find a fault, and no configuration, no data of a Secret, no value
of an environment variable and no log of a collector. README.txt in it says more.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.connect()
			if err != nil {
				return err
			}
			if all {
				s.namespace = ""
			}
			clients, err := p.factory.KubernetesClientSet()
			if err != nil {
				return fmt.Errorf("set up a client: %w", err)
			}
			output = cmp.Or(output, "kubectl-collector-report-"+time.Now().UTC().Format("20060102-150405")+".tar.gz")
			return p.report(cmd.Context(), &bundle{session: s, clients: clients, operators: operatorNamespace, files: map[string]string{}}, output)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write, or - for standard output; default is a name with the time")
	cmd.Flags().StringVar(&operatorNamespace, "operator-namespace", "kube8-operator-system", "where the operator runs")
	return cmd
}

func (p *plugin) report(ctx context.Context, b *bundle, output string) error {
	if err := b.collect(ctx, p.version); err != nil {
		return err
	}
	if output == "-" {
		return b.write(p.Out)
	}
	file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if err := errors.Join(b.write(file), file.Close()); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	_, err = fmt.Fprintln(p.Out, output)
	return err
}

// bundle is what a report holds.
type bundle struct {
	*session
	clients   kubernetes.Interface
	operators string // the operator's namespace
	files     map[string]string
	unread    []string
}

// collect reads all that belongs into the bundle.
func (b *bundle) collect(ctx context.Context, version string) error {
	b.files["README.txt"], b.files["version.txt"] = readme, version+"\n"
	if server, err := b.clients.Discovery().ServerVersion(); err == nil {
		b.files["version.txt"] += "Kubernetes " + server.GitVersion + "\n"
	}
	ours, records := client.HasLabels{v1alpha1.CollectorLabel}, client.MatchingLabels{"owner": "helm"}
	for _, part := range []struct {
		list    client.ObjectList
		options []client.ListOption
	}{
		{list: &v1alpha1.CollectorList{}},
		{&corev1.PodList{}, []client.ListOption{ours}},
		{&appsv1.DeploymentList{}, []client.ListOption{ours}},
		{&appsv1.DaemonSetList{}, []client.ListOption{ours}},
		{&appsv1.StatefulSetList{}, []client.ListOption{ours}},
		{&batchv1.JobList{}, []client.ListOption{ours}},
		{&corev1.ServiceList{}, []client.ListOption{ours}},
		{&autoscalingv2.HorizontalPodAutoscalerList{}, []client.ListOption{ours}},
		{&policyv1.PodDisruptionBudgetList{}, []client.ListOption{ours}},
		{&networkingv1.NetworkPolicyList{}, []client.ListOption{ours}},
		{&corev1.EventList{}, nil},
		{metadataOf("Secret"), []client.ListOption{ours}},
		{metadataOf("Secret"), []client.ListOption{records}},
		{&appsv1.DeploymentList{}, []client.ListOption{client.InNamespace(b.operators), operatorLabels}},
		{&corev1.PodList{}, []client.ListOption{client.InNamespace(b.operators), operatorLabels}},
	} {
		if err := b.list(ctx, part.list, part.options); err != nil {
			return err
		}
	}
	if err := b.operatorLogs(ctx); err != nil {
		return err
	}
	if len(b.unread) > 0 {
		b.files["unread.txt"] = strings.Join(b.unread, "\n") + "\n"
	}
	return nil
}

// operatorLabels are those of the operator's Deployment and pods.
var operatorLabels = client.MatchingLabels{"app.kubernetes.io/name": "kube8-operator"}

// metadataOf lists only metadata: the API server does not send the data of Secrets at all.
func metadataOf(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind + "List"})
	return list
}

// list adds the objects of a list, each as a file. It notes what the account may not read.
func (b *bundle) list(ctx context.Context, list client.ObjectList, options []client.ListOption) error {
	kind, err := apiutil.GVKForObject(list, b.client.Scheme())
	if err != nil {
		return fmt.Errorf("read objects: %w", err)
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	err = b.client.List(ctx, list, append([]client.ListOption{client.InNamespace(b.namespace)}, options...)...)
	if apierrors.IsForbidden(err) {
		b.unread = append(b.unread, err.Error())
		return nil
	}
	if err != nil {
		return b.failed("read", "*", err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error { //nolint:wrapcheck // of add
		item.GetObjectKind().SetGroupVersionKind(kind)
		return b.add(item)
	})
}

// add adds an object, without what may be confidential.
func (b *bundle) add(item runtime.Object) error {
	object, ok := item.(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", item)
	}
	public, err := redact.JSON(object)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(public)
	if err != nil {
		return fmt.Errorf("write an object: %w", err)
	}
	kind := strings.ToLower(object.GetObjectKind().GroupVersionKind().Kind)
	b.files[fmt.Sprintf("%s/%s/%s.yaml", object.GetNamespace(), kind, object.GetName())] = string(text)
	return nil
}

// operatorLogs adds the end of the operator's log. The log never has a configuration.
func (b *bundle) operatorLogs(ctx context.Context) error {
	var pods corev1.PodList
	err := b.client.List(ctx, &pods, client.InNamespace(b.operators), operatorLabels)
	if apierrors.IsForbidden(err) {
		return nil // noted already
	}
	if err != nil {
		return fmt.Errorf("list the operator's pods: %w", err)
	}
	for i := range pods.Items {
		name := pods.Items[i].Name
		lines := int64(operatorLogLines)
		text, err := raw(ctx, b.clients.CoreV1().Pods(b.operators).GetLogs(name, &corev1.PodLogOptions{TailLines: &lines}))
		if err != nil {
			b.unread = append(b.unread, fmt.Sprintf("log of pod %s/%s: %v", b.operators, name, err))
			continue
		}
		b.files[b.operators+"/pod/"+name+".log"] = string(text)
	}
	return nil
}

// write writes the bundle as a compressed archive.
func (b *bundle) write(to io.Writer) error {
	compressed := gzip.NewWriter(to)
	archive := tar.NewWriter(compressed)
	now := time.Now()
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		header := &tar.Header{Name: "report/" + name, Mode: 0o600, Size: int64(len(b.files[name])), ModTime: now}
		if err := archive.WriteHeader(header); err != nil {
			return err //nolint:wrapcheck // the caller says what failed
		}
		if _, err := io.WriteString(archive, b.files[name]); err != nil {
			return err //nolint:wrapcheck // the caller says what failed
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}
