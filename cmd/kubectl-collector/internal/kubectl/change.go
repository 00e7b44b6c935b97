package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/offline"
	"github.com/kube8/kube8-operator/internal/operator"
)

// consent is what the user has agreed to beforehand.
type consent struct{ yes, force bool }

func (c *consent) addFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&c.yes, "yes", "y", false, "do not ask for a confirmation")
	c.addForce(flags)
}

func (c *consent) addForce(flags *pflag.FlagSet) {
	flags.BoolVar(&c.force, "force", false, "also change a Collector that a GitOps tool manages, although that tool will change it back")
}

// mayAsk returns an error if a confirmation is needed and no terminal is there to give it.
func (p *plugin) mayAsk(c consent) error {
	if c.yes || p.isDry() || term.IsTerminal(p.In) {
		return nil
	}
	return errors.New("standard input is not a terminal, so you cannot confirm the change; add --yes to change without a confirmation")
}

// ask asks a question that is answered by y or n, and returns the answer. No answer and Ctrl-C mean no.
func (p *plugin) ask(ctx context.Context, question string) bool {
	fmt.Fprintf(p.ErrOut, "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		var answer []byte
		for letter := make([]byte, 1); ; { // letter by letter: what follows the line is for the next question
			if n, err := p.In.Read(letter); n == 0 || err != nil || letter[0] == '\n' {
				answered <- strings.ToLower(strings.TrimSpace(string(answer)))
				return
			}
			answer = append(answer, letter[0])
		}
	}()
	select {
	case answer := <-answered:
		return answer == "y" || answer == "yes"
	case <-ctx.Done():
		fmt.Fprintln(p.ErrOut)
		return false
	}
}

// errDeclined says that the user has answered no.
var errDeclined = errors.New("nothing was changed")

// confirm asks whether to change a Collector, unless the answer is known.
func (p *plugin) confirm(ctx context.Context, c consent, collector *v1alpha1.Collector) error {
	return p.confirmTo(ctx, c, "Change", collector)
}

// confirmTo asks whether to do something to a Collector, unless the answer is known.
func (p *plugin) confirmTo(ctx context.Context, c consent, verb string, collector *v1alpha1.Collector) error {
	if c.yes || p.isDry() {
		return nil
	}
	if err := p.mayAsk(c); err != nil {
		return err
	}
	if !p.ask(ctx, fmt.Sprintf("%s Collector %s/%s?", verb, collector.Namespace, collector.Name)) {
		return errDeclined
	}
	return nil
}

// refusedError says why a Collector would be refused.
type refusedError struct{ error }

// check returns a refusedError if the API server or the operator would refuse a Collector. It sends the Collector to neither.
func check(ctx context.Context, s *session, collector *v1alpha1.Collector) error {
	bare := &v1alpha1.Collector{Spec: collector.Spec}
	bare.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Collector"))
	bare.Namespace, bare.Name = collector.Namespace, collector.Name
	text, err := json.Marshal(bare)
	if err != nil {
		return fmt.Errorf("write the Collector: %w", err)
	}
	_, err = render(ctx, s, text, nil)
	return err
}

// warn tells of a trap of a collector's vendor, which nothing refuses.
func (p *plugin) warn(warning string) { fmt.Fprintln(p.ErrOut, "Warning:", warning) }

// kindsOf returns what tells whether a cluster serves a kind. It asks once for each. An API that does not answer counts as one that is not
// there, as for an operator that starts.
func kindsOf(mapper meta.RESTMapper) func(schema.GroupVersionKind) bool {
	known := map[schema.GroupVersionKind]bool{}
	return func(kind schema.GroupVersionKind) bool {
		is, isKnown := known[kind]
		if !isKnown {
			mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
			is = err == nil && mapping.GroupVersionKind == kind // without this version, a mapper can answer with another one
			known[kind] = is
		}
		return is
	}
}

// render returns what the operator makes of a Collector in the cluster of a session, or in any cluster if that is nil. It gives warnings to
// warn, unless that is nil. The error is a refusedError if the operator makes nothing.
func render(ctx context.Context, s *session, collector []byte, warn func(string)) (objects []*unstructured.Unstructured, err error) {
	renderer, err := offline.New(operator.Options{}, nil)
	if err != nil {
		return nil, err
	}
	if s != nil && s.serves != nil {
		if err := renderer.Ask(s.serves); err != nil {
			return nil, err
		}
	}
	renderer.Warn = warn
	all, err := renderer.Render(ctx, bytes.NewReader(collector))
	if err != nil {
		return nil, refusedError{fmt.Errorf("refused, and not sent:\n%w", err)}
	}
	for _, one := range all {
		objects = append(objects, one.Objects...)
	}
	return objects, nil
}

// changedError says that another client has changed a Collector.
type changedError struct{ namespace, name string }

// Error says what to do.
func (e changedError) Error() string {
	return fmt.Sprintf("another client has changed Collector %s/%s meanwhile, so nothing was changed; look at it, and try again",
		e.namespace, e.name)
}

// markOf returns the annotation that tells the history who wrote a generation of a Collector's spec.
func (s *session) markOf(ctx context.Context, generation int64) (name, value string) {
	review := &authenticationv1.SelfSubjectReview{}
	_ = s.client.Create(ctx, review) // an account that may not ask stays unknown
	return v1alpha1.WrittenByAnnotation, fmt.Sprintf("%d %s", generation, review.Status.UserInfo.Username)
}

// send changes what a JSON merge patch says of a Collector, unless another client has changed its spec since it was read. A status
// that was written since is no obstacle.
func (s *session) send(ctx context.Context, read *v1alpha1.Collector, patch map[string]any) error {
	metadata, _ := patch["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		patch["metadata"] = metadata
	}
	_, changesSpec := patch["spec"]
	if changesSpec {
		name, value := s.markOf(ctx, read.Generation+1)
		metadata["annotations"] = map[string]any{name: value}
	}
	for {
		now, err := s.read(ctx, read.Name)
		if err != nil {
			return err
		}
		if now.UID != read.UID || now.Generation != read.Generation {
			return changedError{read.Namespace, read.Name}
		}
		metadata["resourceVersion"] = now.ResourceVersion
		body, err := json.Marshal(patch)
		if err != nil {
			return fmt.Errorf("write the change: %w", err)
		}
		err = s.client.Patch(ctx, now, client.RawPatch(types.MergePatchType, body))
		if apierrors.IsConflict(err) {
			continue // by a status, or the next reading will tell
		}
		if err != nil {
			return s.failed("change", read.Name, err)
		}
		if !changesSpec {
			return nil
		}
		return s.unmark(ctx, now, read.Generation)
	}
}

// unmark removes the mark of a generation that a write has not made, because the API server made the same spec of it.
func (s *session) unmark(ctx context.Context, written client.Object, before int64) error {
	if _, isMarked := written.GetAnnotations()[v1alpha1.WrittenByAnnotation]; !isMarked || written.GetGeneration() != before {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: null}}}`, v1alpha1.WrittenByAnnotation)
	if err := s.client.Patch(ctx, written, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return s.failed("change", written.GetName(), err)
	}
	return nil
}

// done says what was done to a Collector, as kubectl does.
func (p *plugin) done(name, what string) error { return p.did("collector.kube8.dev/"+name, what) }

// did says what was done to an object.
func (p *plugin) did(object, what string) error {
	said := map[cmdutil.DryRunStrategy]string{cmdutil.DryRunServer: " (server dry run)", cmdutil.DryRunClient: " (dry run)"}
	_, err := fmt.Fprintf(p.Out, "%s %s%s\n", object, what, said[p.dryRun])
	return err
}
