package kubectl

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	manifests "github.com/kube8/kube8-operator/internal/manifest"
)

// manifest is a Collector in a file, and where its configuration may be.
type manifest struct {
	file, from string
	force      bool
}

func (m *manifest) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&m.file, "filename", "f", "", "the file with the Collector, or - for standard input")
	flags.StringVar(&m.from, "from-file", "", "a file with its configuration, if that is not in the Collector")
	flags.BoolVar(&m.force, "force-conflicts", false, "take over fields that another client owns")
}

func (p *plugin) applyCommand() *cobra.Command {
	var m manifest
	var given consent
	var w waiting
	cmd := p.ofFile("apply", "Create a Collector of a file, or make it what the file says",
		`Create a Collector of a file, or make it what the file says, by a server-side apply. It is
checked first, as the operator and the API server check it. With --from-file its
configuration is in a file of its own.`,
		&m, func(ctx context.Context, s *session, before, wanted *unstructured.Unstructured, objects []*unstructured.Unstructured) error {
			if before != nil {
				if err := given.mayChange(before); err != nil {
					return err
				}
			}
			tried, what, err := s.becomes(ctx, before, wanted, m)
			if err != nil {
				return err
			}
			if before != nil { // a newer client may have set fields that this plugin does not know
				if merged, err := rendered(ctx, s, tried, nil); err == nil {
					objects = merged
				}
			}
			if err := foresee(ctx, s, p.ErrOut, before, tried, objects); err != nil {
				return err
			}
			if what != "unchanged" {
				if err := s.apply(ctx, wanted, m); err != nil {
					return err
				}
			}
			if err := p.done(wanted.GetName(), what); err != nil {
				return err
			}
			return p.until(ctx, s, wanted.GetName(), w)
		})
	given.addForce(cmd.Flags())
	w.addFlags(cmd.Flags(), untilReady, false)
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) planCommand() *cobra.Command {
	var m manifest
	return p.ofFile("plan", "Show what a file would change in the cluster's objects",
		`Show what a file would change: in the Collector, by a dry run on the API server with all
its policies, and in the objects that the operator makes of it. Nothing is changed.
A text that may be confidential is "(hidden)", and "(changed)" where it differs.

It also says what becomes of claims that are there, and ends with the
operator's words and the exit code 2 if the operator would refuse the change.`,
		&m, func(ctx context.Context, s *session, before, wanted *unstructured.Unstructured, _ []*unstructured.Unstructured) error {
			if err := s.apply(ctx, wanted, m, client.DryRunAll); err != nil {
				return err
			}
			objects, err := p.plan(ctx, s, before, wanted) // of what the API server has made of it
			if err != nil {
				return err
			}
			return foresee(ctx, s, p.Out, before, wanted, objects)
		})
}

// ofFile is a command about the Collector of a file. It gets the present Collector, or nil, and the one that is wanted, checked, with what
// the operator makes of that.
func (p *plugin) ofFile(
	use, short, long string, m *manifest,
	run func(ctx context.Context, s *session, before, wanted *unstructured.Unstructured, objects []*unstructured.Unstructured) error,
) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " -f FILE", Short: short, Long: long, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.connect()
			if err != nil {
				return err
			}
			all, err := p.wanted(*m, s.namespace)
			if err != nil {
				return err
			}
			before, objects := make([]*unstructured.Unstructured, len(all)), make([][]*unstructured.Unstructured, len(all))
			for i, wanted := range all { // none is changed if one of them is wrong
				if before[i], err = s.in(wanted).existing(cmd.Context(), wanted.GetName()); err != nil {
					return err
				}
				if err := p.addConfiguration(*m, before[i], wanted); err != nil {
					return err
				}
				if objects[i], err = rendered(cmd.Context(), s, wanted, p.warn); err != nil {
					return err
				}
			}
			for i, wanted := range all {
				if err := run(cmd.Context(), s.in(wanted), before[i], wanted, objects[i]); err != nil {
					return err
				}
			}
			return nil
		},
	}
	m.addFlags(cmd.Flags())
	return cmd
}

// in returns the session in the namespace of an object.
func (s *session) in(object *unstructured.Unstructured) *session {
	there := *s
	there.namespace = object.GetNamespace()
	return &there
}

// wanted returns the Collectors of a file, without what only the API server writes.
func (p *plugin) wanted(m manifest, namespace string) (all []*unstructured.Unstructured, err error) {
	if m.file == "" {
		return nil, errors.New("name the file of the Collector by -f, or - for standard input")
	}
	text, err := p.input(m.file)
	if err != nil {
		return nil, err
	}
	other, names := "", sets.New[client.ObjectKey]()
	for object, err := range manifests.Objects(text) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", m.file, err)
		}
		if object.GroupVersionKind() != v1alpha1.GroupVersion.WithKind("Collector") {
			other = object.GetKind()
			continue
		}
		if err := p.prepare(object, namespace); err != nil {
			return nil, err
		}
		names.Insert(client.ObjectKeyFromObject(object))
		all = append(all, object)
	}
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("%s has no Collector; it needs apiVersion kube8.dev/v1alpha1, kind Collector and a name", m.file)
	case other != "":
		return nil, fmt.Errorf("%s has more than Collectors: leave out the %s, or use `kubectl apply` for all of it", m.file, other)
	case len(names) < len(all):
		return nil, fmt.Errorf("%s has more than one object of the same name; keep one", m.file)
	case m.from != "" && len(all) > 1:
		return nil, fmt.Errorf("%s has more than one Collector, and --from-file is for one; give that a file of its own", m.file)
	}
	return all, nil
}

// prepare gives a Collector of a file its namespace, and takes out what only the API server writes.
func (p *plugin) prepare(wanted *unstructured.Unstructured, namespace string) error {
	if wanted.GetName() == "" {
		return errors.New("a Collector of the file has no name; set metadata.name")
	}
	if given := *p.flags.Namespace; given != "" && wanted.GetNamespace() != "" && given != wanted.GetNamespace() {
		return fmt.Errorf("the Collector is for namespace %s, and --namespace says %s", wanted.GetNamespace(), given)
	}
	wanted.SetNamespace(cmp.Or(wanted.GetNamespace(), namespace))
	delete(wanted.Object, "status")
	for _, field := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(wanted.Object, "metadata", field)
	}
	return nil
}

// addConfiguration puts the configuration of a file of its own into a Collector, in the field that the present one has.
func (p *plugin) addConfiguration(m manifest, before, wanted *unstructured.Unstructured) error {
	if m.from == "" {
		return nil
	}
	content, err := p.input(m.from)
	if err != nil {
		return err
	}
	var present v1alpha1.CollectorSpec
	if before != nil {
		spec, _, err := unstructured.NestedMap(before.Object, "spec")
		if err == nil {
			present, err = typed(spec)
		}
		if err != nil {
			return fmt.Errorf("read the spec: %w", err)
		}
	}
	field, value := "configuration", base64.StdEncoding.EncodeToString(content)
	if asText(present.Collector, content) {
		field, value = "configurationText", string(content)
	}
	if err := unstructured.SetNestedField(wanted.Object, value, "spec", "collector", field); err != nil {
		return fmt.Errorf("put %s into the Collector: %w", m.from, err)
	}
	return nil
}

// existing returns a Collector with all its fields, or nil if there is none.
func (s *session) existing(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	found, err := s.whole(ctx, name)
	if errors.As(err, new(*noCollectorError)) {
		return nil, nil
	}
	return found, err
}

// rendered returns what the operator makes of a Collector, as render does.
func rendered(
	ctx context.Context, s *session, collector *unstructured.Unstructured, warn func(string),
) ([]*unstructured.Unstructured, error) {
	bare := collector.DeepCopy()
	delete(bare.Object, "status")
	bare.SetManagedFields(nil)
	text, err := json.Marshal(bare)
	if err != nil {
		return nil, fmt.Errorf("write the Collector: %w", err)
	}
	return render(ctx, s, text, warn)
}

// plan prints what changes between two Collectors, and returns what the operator makes of the second one. before is nil if there is none
// yet.
func (p *plugin) plan(
	ctx context.Context, s *session, before, after *unstructured.Unstructured,
) (planned []*unstructured.Unstructured, err error) {
	name := after.GetNamespace() + "/" + after.GetName()
	var was map[string]any
	var objects []*unstructured.Unstructured
	if before != nil {
		was, _ = before.Object["spec"].(map[string]any)
		// This version may refuse the present Collector. All of the objects are new then.
		objects, _ = rendered(ctx, s, before, nil)
	}
	if planned, err = rendered(ctx, s, after, nil); err != nil {
		return nil, err
	}
	is, _ := after.Object["spec"].(map[string]any)
	specs, err := differenceOf(name+"/spec", name+"/spec (planned)", was, is)
	if err != nil {
		return nil, err
	}
	difference, err := differenceOfObjects(name+"/objects", objects, planned)
	if err != nil {
		return nil, err
	}
	return planned, p.paint(cmp.Or(specs, name+"/spec: unchanged\n")+cmp.Or(difference, name+"/objects: unchanged\n"), diffColour)
}
