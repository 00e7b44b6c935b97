package kubectl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/rest"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// asTable asks the API server for the columns of the CRD in place of whole Collectors, which have their configurations.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// pageSize is how many Collectors are read with one request, as kubectl does.
const pageSize = 500

// listing is what `list` shows.
type listing struct {
	all             bool
	labels, fields  string
	output, orderBy string
}

// addSelection adds the flags that say which Collectors.
func (l *listing) addSelection(flags *pflag.FlagSet) {
	flags.BoolVarP(&l.all, "all-namespaces", "A", false, "those of all namespaces")
	flags.StringVarP(&l.labels, "selector", "l", "", "those with such labels, such as team=payments")
	flags.StringVar(&l.fields, "field-selector", "", "those with such fields, such as spec.tenant.id=1042,spec.cluster=prod-eu-1")
}

// row is what is shown of a Collector: texts by the names of the CRD's columns, in lower case.
type row map[string]string

// columns are those that `list` shows, wide ones last.
var columns = []string{
	"namespace", "name", "ready", "status", "version", "tenant", "cluster", "update", "age", "collector", "pods", "revision",
	"flowing", "message",
}

// narrow is how many columns there are without -o wide.
const narrow = 9

// sortable returns the columns that can be sorted by.
func sortable() []string {
	return slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return name == "age" })
}

func (p *plugin) listCommand() *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "Show the fleet, one line for each Collector, and a summary",
		Long: `Show the fleet: one line for each Collector of the namespace, or of all with -A, and a
summary. UPDATE says that a change of the platform, a base or another version of the
operator, waits for its turn, is left out, or rolls out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.list(cmd.Context(), l) },
	}
	l.addSelection(cmd.Flags())
	cmd.Flags().StringVarP(&l.output, "output", "o", "", "wide, name, json or yaml")
	cmd.Flags().StringVar(&l.orderBy, "sort-by", "name", "the column to sort by, in lower case")
	return cmd
}

func (p *plugin) list(ctx context.Context, l listing) error {
	if !slices.Contains([]string{"", "wide", "name", "json", "yaml"}, l.output) {
		return fmt.Errorf("--output: %q is none of wide, name, json and yaml", l.output)
	}
	if !slices.Contains(sortable(), l.orderBy) {
		return fmt.Errorf("--sort-by: %q is no column that can be sorted by; it is one of %s", l.orderBy, strings.Join(sortable(), ", "))
	}
	if l.output == "json" || l.output == "yaml" {
		return p.listWhole(l)
	}
	s, err := p.connect()
	if err != nil {
		return err
	}
	rows, err := p.rows(ctx, s, l)
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(compare(a[l.orderBy], b[l.orderBy]), cmp.Compare(a["namespace"], b["namespace"]), cmp.Compare(a["name"], b["name"]))
	})
	if l.output == "name" {
		for _, r := range rows {
			fmt.Fprintf(p.Out, "collector.kube8.dev/%s\n", r["name"])
		}
		return nil
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(p.ErrOut, "No Collectors found.")
		return err
	}
	var table strings.Builder
	if err := l.print(&table, rows); err != nil {
		return err
	}
	return p.paint(table.String(), stateColour)
}

// compare compares two cells, as numbers if both are.
func compare(a, b string) int {
	one, isOne := strconv.Atoi(a)
	other, isOther := strconv.Atoi(b)
	if isOne == nil && isOther == nil {
		return cmp.Compare(one, other)
	}
	return cmp.Compare(a, b)
}

// print prints a table and a summary.
func (l listing) print(to io.Writer, rows []row) error {
	shown := columns
	if l.output != "wide" {
		shown = columns[:narrow]
	}
	if !l.all {
		shown = shown[1:]
	}
	out := printers.GetNewTabWriter(to)
	fmt.Fprintln(out, strings.ToUpper(strings.Join(shown, "\t")))
	for _, r := range rows {
		cells := make([]string, len(shown))
		for i, name := range shown {
			cells[i] = cmp.Or(words(r[name]), "-")
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	if err := out.Flush(); err != nil {
		return err //nolint:wrapcheck // of standard output
	}
	_, err := fmt.Fprintf(to, "\n%s\n", summary(rows))
	return err
}

// summary counts Collectors by what they say of themselves, and those that are not up to date.
func summary(rows []row) string {
	ready, others, updates := 0, map[string]int{}, map[string]int{}
	for _, r := range rows {
		if r["ready"] == "True" {
			ready++
		} else {
			others[cmp.Or(r["status"], "Unknown")]++
		}
		updates[r["update"]]++
	}
	said := []string{fmt.Sprintf("%d of %d ready", ready, len(rows))}
	for _, reason := range slices.Sorted(maps.Keys(others)) {
		said = append(said, fmt.Sprintf("%d %s", others[reason], reason))
	}
	for _, update := range []struct{ reason, pattern string }{
		{v1alpha1.ReasonRollingOut, "a change of the platform is on its way to %d"},
		{v1alpha1.ReasonRefused, "a change of the platform is refused for %d"},
		{v1alpha1.ReasonBaseRefused, "a base is refused for %d"},
		{v1alpha1.ReasonWaiting, "%d wait for a change of the platform"},
		{v1alpha1.ReasonLeftOut, "%d are left out of a change of the platform"},
	} {
		if n := updates[update.reason]; n > 0 {
			said = append(said, fmt.Sprintf(update.pattern, n))
		}
	}
	return strings.Join(said, ", ")
}

// rows reads the columns of Collectors, in pages.
func (p *plugin) rows(ctx context.Context, s *session, l listing) (rows []row, err error) {
	path := "/apis/kube8.dev/v1alpha1/namespaces/" + s.namespace + "/collectors"
	if l.all {
		path = "/apis/kube8.dev/v1alpha1/collectors"
	}
	options := metav1.ListOptions{LabelSelector: l.labels, FieldSelector: l.fields, Limit: pageSize}
	for {
		table, err := readTable(ctx, s.rest, path, options)
		if err != nil {
			return nil, l.failed(s, err)
		}
		for i := range table.Rows {
			r := row{}
			var object metav1.PartialObjectMetadata
			if err := json.Unmarshal(table.Rows[i].Object.Raw, &object); err != nil {
				return nil, fmt.Errorf("read a row: %w", err)
			}
			for at, column := range table.ColumnDefinitions {
				if value := table.Rows[i].Cells[at]; value != nil {
					r[strings.ToLower(column.Name)] = fmt.Sprint(value)
				}
			}
			r["namespace"], r["age"] = object.Namespace, ago(object.CreationTimestamp.Time)
			if object.DeletionTimestamp != nil {
				r["ready"], r["status"] = "", "Terminating" // the conditions can be from before the deletion
			}
			rows = append(rows, r)
		}
		if options.Continue = table.Continue; options.Continue == "" {
			return rows, nil
		}
	}
}

func readTable(ctx context.Context, client rest.Interface, path string, options metav1.ListOptions) (*metav1.Table, error) {
	request := client.Get().AbsPath(path).SetHeader("Accept", asTable).Param("limit", strconv.FormatInt(options.Limit, 10))
	for name, value := range map[string]string{
		"labelSelector": options.LabelSelector, "fieldSelector": options.FieldSelector, "continue": options.Continue,
	} {
		if value != "" {
			request.Param(name, value)
		}
	}
	text, err := raw(ctx, request)
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(text, table); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(table.ColumnDefinitions) == 0 {
		return nil, errors.New("the API server did not answer with a table")
	}
	return table, nil
}

// raw sends a request, and returns the body of the answer. The error is the API server's, in its own words: DoRaw of the request would
// return an error that says only "unknown".
func raw(ctx context.Context, request *rest.Request) ([]byte, error) {
	answer := request.Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err //nolint:wrapcheck // the caller says what was read
	}
	return answer.Raw() //nolint:wrapcheck // as above
}

// selectable are the fields that Collectors can be selected by.
const selectable = "metadata.name, metadata.namespace, spec.tenant.id, spec.tenant.reference and spec.cluster"

// failed says what the API server refused of a list, and what to do.
func (l listing) failed(s *session, err error) error {
	if l.fields != "" && apierrors.IsBadRequest(err) {
		return fmt.Errorf("--field-selector %s: %w; Collectors are selected by the fields %s. To find them by their state: "+
			"kubectl collector list --sort-by status", l.fields, err, selectable)
	}
	return s.failed("list", "", err)
}

// listWhole prints Collectors with their configurations, as `kubectl get` does.
func (p *plugin) listWhole(l listing) error {
	namespace, _, err := p.factory.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("find the namespace, set --namespace: %w", err)
	}
	found, err := p.factory.NewBuilder().Unstructured().NamespaceParam(namespace).DefaultNamespace().AllNamespaces(l.all).
		LabelSelectorParam(l.labels).FieldSelectorParam(l.fields).RequestChunksOf(pageSize).
		ResourceTypeOrNameArgs(true, "collectors.kube8.dev").Do().Object()
	if err != nil {
		return fmt.Errorf("list Collectors: %w", err)
	}
	printer, err := genericclioptions.NewPrintFlags("").WithDefaultOutput(l.output).ToPrinter()
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return printer.PrintObj(found, p.Out) //nolint:wrapcheck // of standard output
}
